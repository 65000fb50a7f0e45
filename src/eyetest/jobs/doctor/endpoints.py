"""The models of a file: keys named and there, endpoints reached, and what each can do.

Looking costs nothing: a server is asked which models it has. Only with ``call`` a model is asked a short question,
another with a picture, and how it gives likelihoods.
"""

import asyncio
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

from eyetest.benchmarks.images import ImageStore
from eyetest.errors import EyetestError, nearest, short
from eyetest.jobs.doctor.places import DoctorLine
from eyetest.models import Call, CallError, Pictures, Surroundings, make_models
from eyetest.models.base import target_of
from eyetest.models.openai import OpenAIModel, parse_target, usual_variable
from eyetest.records import Asked, GreyPicture, Item, Message, ModelEntry, Prompt, Request, Words
from eyetest.records.request import Part
from eyetest.redaction import plain_address, plain_variable, redact
from eyetest.running.session import wait_for

_PATIENCE = Surroundings(
    Pictures(ImageStore(Path())), connect_seconds=5.0, first_byte_seconds=60.0, total_seconds=120.0
)
_SKEW_SECONDS = 5
"""By so much a clock may be off that is told to the second, over a network."""
_FEW_TOKENS = 16
_SIDE = 64
"""Of a picture that every server takes, in pixels."""
_QUESTION = Words("How many are one and one? Answer in a word.")
_LIMITS = ("max_tokens", "max_completion_tokens")
_ABOUT = "models"


def look_at_models(entries: Mapping[str, ModelEntry], *, call: bool) -> list[DoctorLine]:
    """What is found of each model, endpoints side by side."""
    found: dict[str, list[DoctorLine]] = {name: [] for name in entries}
    endpoints: list[OpenAIModel] = []
    for name, entry in entries.items():
        if entry.spec.startswith("openai:"):
            found[name] += _key(name, entry)
        if any(line.state == "wrong" for line in found[name]):
            continue
        try:
            if entry.spec.startswith("replay:"):  # all of its answers would be read
                found[name].append(_replayed(name, entry))
                continue
            (model,) = make_models({name: entry}, _PATIENCE)
        except (EyetestError, OSError) as error:
            found[name].append(DoctorLine(_ABOUT, name, "wrong", redact(str(error)), "mend its entry"))
            continue
        if isinstance(model, OpenAIModel):
            endpoints.append(model)
        else:
            found[name].append(DoctorLine(_ABOUT, name, "ok", f"{entry.written_down().spec}, runs here"))

    async def look() -> None:
        every = await asyncio.gather(*(_endpoint(model, call=call) for model in endpoints))
        for model, lines in zip(endpoints, every, strict=True):
            found[model.name] += lines

    if endpoints:
        wait_for(look())
    return [line for lines in found.values() for line in lines]


def _key(name: str, entry: ModelEntry) -> Iterator[DoctorLine]:
    """Whether the variable is set that holds the key; nothing of what it holds is told, not even how long it is."""
    try:
        _, url = parse_target(target_of(entry.spec))
    except EyetestError as error:
        yield DoctorLine(_ABOUT, name, "wrong", str(error), "mend its entry")
        return
    variable = entry.key_env or usual_variable(url)
    told = plain_variable(variable) or "the variable that key_env names"
    if os.environ.get(variable, "").strip():
        yield DoctorLine(_ABOUT, name, "ok", f"key: {told} is set")
    elif entry.key_env:
        yield DoctorLine(_ABOUT, name, "wrong", f"key: {told} is not set", f"export {told}=…")
    else:
        yield DoctorLine(_ABOUT, name, "note", f"key: {told} is not set, which a server of your own does not need")


def _replayed(name: str, entry: ModelEntry) -> DoctorLine:
    source = target_of(entry.spec).partition("#")[0]
    if Path(source).exists():
        return DoctorLine(_ABOUT, name, "ok", f"replays {source}")
    return DoctorLine(_ABOUT, name, "wrong", f"{source} is not there", "name the run or file of its answers")


async def _endpoint(model: OpenAIModel, *, call: bool) -> list[DoctorLine]:
    wanted, url = parse_target(target_of(model.entry.spec))
    where = plain_address(url)
    lines = []
    await model.open()
    try:
        try:
            lines.append(_listing(model.name, where, wanted, await model.listed()))
        except CallError as error:
            if error.kind not in ("not-found", "garbage", "bad-request"):
                return [_failure(model.name, str(error), error)]
            lines.append(DoctorLine(_ABOUT, model.name, "note", f"{where} answers, and does not list its models"))
        lines += _clock(model.name, model.server_date)
        if call:
            lines.append(await _asked(model, "answers a question", _QUESTION))
            lines.append(await _asked(model, "takes pictures", GreyPicture(_SIDE, _SIDE), _QUESTION))
    finally:
        await model.close()
    if call:
        lines.append(await _likelihoods(model))
    return lines


def _listing(name: str, where: str, wanted: str, there: list[str]) -> DoctorLine:
    if wanted in there:
        return DoctorLine(_ABOUT, name, "ok", f"{where} has {short(wanted)}")
    known = nearest(wanted, there, 5) if there else "it lists none"
    return DoctorLine(_ABOUT, name, "wrong", f"{where} does not list {short(wanted)}", redact(known))


def _clock(name: str, date: str) -> Iterator[DoctorLine]:
    """Signatures and expiry of keys go by the clock."""
    try:
        said = parsedate_to_datetime(date)
    except ValueError:
        return
    off = round((datetime.now(UTC) - said.astimezone(UTC)).total_seconds())
    if abs(off) > _SKEW_SECONDS:
        told = f"clock: {abs(off):,} s {'ahead of' if off > 0 else 'behind'} the server's"
        yield DoctorLine(_ABOUT, name, "note", told, "set this machine's clock, or the server's")
    else:
        yield DoctorLine(_ABOUT, name, "ok", "clock: as the server's")


async def _asked(model: OpenAIModel, what: str, *parts: Part) -> DoctorLine:
    limit = next((word for word in _LIMITS if word in model.settings), _LIMITS[0])
    settings = {"temperature": 0, **model.settings, limit: _FEW_TOKENS}
    request = Request(model=model.name, prompt=Prompt((Message("user", parts),)), settings=settings)
    asked = Asked(item="doctor", model=model.name)
    item = Item(id="doctor", question=_QUESTION.text, references=("two",))
    try:
        response = await model.answer(Call(asked, item, request, request.id))
    except CallError as error:
        return _failure(model.name, f"{what}: no: {error}", error)
    return DoctorLine(_ABOUT, model.name, "ok", f"{what}: yes, in {response.tokens_out or 0} tokens")


async def _likelihoods(model: OpenAIModel) -> DoctorLine:
    await model.probe()
    if model.way:
        left = "".join(f"; not {method}: {why}" for method, why in model.refusals.items())
        return DoctorLine(_ABOUT, model.name, "ok", f"likelihoods: {model.way}{left}")
    why = next(iter(model.refusals.values()), "the server did not say")
    return DoctorLine(_ABOUT, model.name, "note", f"likelihoods: none: {why}", "--method generate asks it in words")


def _failure(name: str, told: str, error: CallError) -> DoctorLine:
    mends = {
        "auth": "the key is refused: set the right one in the variable that key_env names",
        "unreachable": "start the server, or mend the address",
        "quota": "the account has nothing left",
    }
    return DoctorLine(_ABOUT, name, "wrong", redact(told), mends.get(error.kind, ""))
