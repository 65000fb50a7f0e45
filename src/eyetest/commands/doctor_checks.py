"""Checks of this machine, of folders and of model endpoints: one line each, with what to do about a problem.

Nothing is changed and no key is shown. A server is asked for its models; only with ``call`` are questions sent.
"""

import asyncio
import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

import msgspec
from rich.filesize import decimal

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.benchmarks.images import ImageStore
from eyetest.errors import EyetestError, InputError, counted, listed, nearest, short
from eyetest.models import Call, CallError, Images, Surroundings, make_models
from eyetest.models.base import target_of
from eyetest.models.openai.connection import key_variable, parse_target
from eyetest.models.openai.model import OpenAIModel
from eyetest.ocr import choose_engine
from eyetest.records import Asked, GrayImage, Item, Message, ModelEntry, Prompt, Request, Words
from eyetest.records.item import Part
from eyetest.redaction import plain_address, plain_variable, redact
from eyetest.reform.distractors.wordnet import wordnet_place
from eyetest.running.limits import wait_for
from eyetest.runs import Run, is_run
from eyetest.runs.journal import part_names, refuse_lost
from eyetest.store.urls import cache_root
from eyetest.version import __version__

State = Literal["ok", "note", "missing", "wrong"]
"""``note``: worth knowing. ``missing``: optional and not installed. ``wrong``: named and does not work."""


class DoctorLine(msgspec.Struct, frozen=True):
    """One check, its outcome, and what to do about it."""

    about: str
    """Its heading: this machine, libraries, extras, programs, folders, models."""
    name: str
    state: State
    found: str
    fix: str = ""


Check = tuple[State, str, str]
"""The outcome of a check, what was found, and what to do about it."""
_LITTLE = 2**30  # bytes that are too few for images and answers
_PACKAGE = "eyetest"
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)[^;]*(?:;.*extra == ['\"](?P<extra>[\w-]+)['\"])?")
_PATIENCE = Surroundings(
    Images(ImageStore(Path())), connect_seconds=5.0, first_byte_seconds=60.0, total_seconds=120.0
)
_FEW_TOKENS = 16
_SIDE = 64  # of an image that every server takes, in pixels
_QUESTION = Words("How many are one and one? Answer in a word.")
_LIMITS = ("max_tokens", "max_completion_tokens")
_UNLISTED = ("not-found", "garbage", "bad-request")  # errors of a server that does not list its models
_FIXES = {
    "auth": "the key is refused: set the right one in the variable that key_env names",
    "unreachable": "start the server, or correct the address",
    "quota": "the account has no credit left",
}


def look_at_places(places: Sequence[Path]) -> Iterator[DoctorLine]:
    """The folder we are in, the cache, and those that are named."""
    about = "folders"
    yield DoctorLine(about, "space, here", *_space(Path.cwd()))
    yield DoctorLine(about, "cache", "ok", f"{cache_root()}; safe to delete while no command runs")
    for place in places:
        if not place.exists():
            raise InputError(f"{place} does not exist")
        yield DoctorLine(about, str(place), *_content(place))
        yield DoctorLine(about, f"space, {place}", *_space(place))


def _content(place: Path) -> Check:
    try:
        if is_run(place):
            run = Run(place)
            refuse_lost(place, run.manifest.parts)
            found = f"run of {listed(run.manifest.models)}, answers in {counted(len(part_names(place)), 'part')}"
            if run.writer:
                fix = "wait for it, or stop it, before others write"
                return "note", f"{found}; process {run.writer} is writing to it", fix
            return "ok", f"{found}; no process is writing to it", ""
        if is_benchmark(place):
            manifest = Benchmark(place).manifest
            return "ok", f'benchmark "{manifest.name}", {counted(manifest.counts.items, "item")}', ""
    except EyetestError as error:
        return "wrong", str(error), "restore it from a copy"
    kind = "a folder, no run and no benchmark of ours" if place.is_dir() else "a file"
    return "note", kind, f"eyetest show {place} tries to read it"


def _space(place: Path) -> Check:
    folder = place if place.is_dir() else place.absolute().parent
    free = shutil.disk_usage(folder).free
    if free < _LITTLE:
        return "wrong", f"{decimal(free)} free", "free some space first"
    if os.access(folder, os.W_OK):
        return "ok", f"{decimal(free)} free", ""
    return "note", f"{decimal(free)} free, and you may not write there", ""


def look_at_machine() -> Iterator[DoctorLine]:
    """Everything that no file and no folder decides."""
    machine, programs = "this machine", "programs"
    yield DoctorLine(machine, "eyetest", "ok", __version__)
    python = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count() or 1} cores"
    yield DoctorLine(machine, "Python", "ok", python)
    yield from _packages()
    try:
        yield DoctorLine(programs, "OCR", "ok", choose_engine().name)
    except EyetestError as error:
        yield DoctorLine(programs, "OCR", "missing", "no OCR engine found", str(error))
    for name, found, fix in (
        ("WordNet", wordnet_place(), "only reform's hard options need it: python -m nltk.downloader wordnet"),
        ("Java", shutil.which("java"), "only METEOR needs it"),
    ):
        yield DoctorLine(programs, name, *(("ok", str(found), "") if found else ("missing", "not found", fix)))


def _packages() -> Iterator[DoctorLine]:
    """What eyetest needs, and what each extra needs."""
    try:
        needed = requires(_PACKAGE) or []
    except PackageNotFoundError:
        yield DoctorLine("libraries", _PACKAGE, "note", "not installed, run from a checkout", "pip install -e .")
        return
    by_extra: dict[str, list[str]] = {"": []}
    for line in needed:
        if match := _REQUIREMENT.match(line):
            by_extra.setdefault(match["extra"] or "", []).append(match["name"])
    for extra, packages in by_extra.items():
        there = {name: _installed(name) for name in packages}
        lacking = [name for name in packages if not there[name]]
        state: State = "ok" if not lacking else "missing" if extra else "wrong"
        found, fix = listed([f"{name} {there[name]}" for name in there], 4), ""
        if lacking:
            found = f"lacks {listed(lacking)}"
            fix = f"pip install '{_PACKAGE}[{extra}]'" if extra else f"pip install --upgrade {_PACKAGE}"
        yield DoctorLine("extras" if extra else "libraries", extra or "needed", state, found, fix)


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def look_at_models(entries: Mapping[str, ModelEntry], *, call: bool) -> list[DoctorLine]:
    """What is found of each model, endpoints side by side."""
    found: list[list[Check]] = []

    async def look() -> None:
        found.extend(await asyncio.gather(*(_model(name, entry, call=call) for name, entry in entries.items())))

    wait_for(look())
    named = zip(entries, found, strict=True)
    return [DoctorLine("models", name, *check) for name, checks in named for check in checks]


async def _model(name: str, entry: ModelEntry, *, call: bool) -> list[Check]:
    checks: list[Check] = []
    try:
        if entry.spec.startswith("replay:"):  # all of its answers would be read
            source = target_of(entry.spec).partition("#")[0]
            if Path(source).exists():
                return [("ok", f"replays {source}", "")]
            return [("wrong", f"{source} is not there", "name the run or file of its answers")]
        if entry.spec.startswith("openai:"):
            checks.append(_key(entry))
        if checks and checks[0][0] == "wrong":
            return checks
        (model,) = make_models({name: entry}, _PATIENCE)
    except (EyetestError, OSError) as error:
        return [*checks, ("wrong", redact(str(error)), "correct its entry")]
    if isinstance(model, OpenAIModel):
        return checks + await _endpoint(model, call=call)
    return [("ok", f"{entry.written_down().spec}, runs here", "")]


def _key(entry: ModelEntry) -> Check:
    """Whether the variable is set that holds the key; its value is not reported, not even its length."""
    _, url = parse_target(target_of(entry.spec))
    variable = key_variable(url, entry.key_env)
    found = plain_variable(variable) or "the variable that key_env names"
    if os.environ.get(variable, "").strip():
        return "ok", f"key: {found} is set", ""
    if entry.key_env:
        return "wrong", f"key: {found} is not set", f"export {found}=…"
    return "note", f"key: {found} is not set, which a server of your own does not need", ""


async def _endpoint(model: OpenAIModel, *, call: bool) -> list[Check]:
    wanted, url = parse_target(target_of(model.entry.spec))
    where, checks = plain_address(url), list[Check]()
    await model.open()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(model.close)
        try:
            there = await model.listed()
        except CallError as error:
            if error.kind not in _UNLISTED:
                return [_failure(str(error), error)]
            checks.append(("note", f"{where} answers, and does not list its models", ""))
        else:
            known = redact(nearest(wanted, there, 5)) if there else "it lists none"
            lacks: Check = ("wrong", f"{where} does not list {short(wanted)}", known)
            checks.append(("ok", f"{where} has {short(wanted)}", "") if wanted in there else lacks)
        if call:
            checks.append(await _asked(model, "answers a question", _QUESTION))
            checks.append(await _asked(model, "takes images", GrayImage(_SIDE, _SIDE), _QUESTION))
    if call:
        await model.probe()
        left = "".join(f"; not {method}: {why}" for method, why in model.refusals.items())
        why = next(iter(model.refusals.values()), "the server did not say")
        none: Check = ("note", f"likelihoods: none: {why}", "--condition generate asks it in words")
        checks.append(("ok", f"likelihoods: {model.way}{left}", "") if model.way else none)
    return checks


async def _asked(model: OpenAIModel, what: str, *parts: Part) -> Check:
    limit = next((word for word in _LIMITS if word in model.settings), _LIMITS[0])
    settings = {"temperature": 0, **model.settings, limit: _FEW_TOKENS}
    request = Request(model=model.name, prompt=Prompt((Message("user", parts),)), settings=settings)
    asked = Asked(item="doctor", model=model.name)
    item = Item(id="doctor", question=_QUESTION.text, references=("two",))
    try:
        response = await model.answer(Call(asked, item, request, request.id))
    except CallError as error:
        return _failure(f"{what}: no: {error}", error)
    return "ok", f"{what}: yes, in {response.tokens_out or 0} tokens", ""


def _failure(found: str, error: CallError) -> Check:
    return "wrong", redact(found), _FIXES.get(error.kind, "")
