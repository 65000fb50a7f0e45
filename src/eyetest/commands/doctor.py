"""The command ``doctor``: check this machine and model endpoints."""

import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from rich.table import Table
from rich.text import Text

from eyetest.commands.base import model_entries
from eyetest.commands.lazy import pl
from eyetest.commands.options import SHORT_M, Models, Words
from eyetest.commands.results import Found, safe
from eyetest.errors import EyetestError, counted, listed, nearest, short
from eyetest.version import __version__

if TYPE_CHECKING:
    from eyetest.models.openai import OpenAIModel
    from eyetest.records import ModelEntry

State = Literal["ok", "note", "missing", "wrong"]
"""``note``: worth knowing. ``missing``: optional and not installed. ``wrong``: required and does not work."""
_COLOURS = {"ok": "green", "note": "yellow", "missing": "dim", "wrong": "bold red"}
_LITTLE = 2**30  # bytes that are too few for images and answers
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)[^;]*(?:;.*extra == ['\"](?P<extra>[\w-]+)['\"])?")
_UNLISTED = ("not-found", "garbage", "bad-request")  # errors of a server that does not list its models
_FIXES = {
    "auth": "the key is refused: set the right one in the variable that key_env names",
    "unreachable": "start the server, or correct the address",
    "quota": "the account has no credit left",
}


class Check(NamedTuple):
    """One check, its outcome, and what to do about it."""

    name: str
    state: State
    found: str
    fix: str = ""


def doctor(*, model: Annotated[Words, SHORT_M] = (), models: Models | None = None, faults: bool = False) -> Found:
    """Check what is installed, and which model endpoints answer.

    Each problem comes with what to do about it. Keys are checked by the names of their variables and never shown; a
    server is asked only which models it has. Exits with 1 if something that is needed does not work.

    Args:
        model: A model to check: openai:MODEL@URL, NAME=SPEC, or a name of the models file; repeatable.
        models: A models.yaml; all of its models without --model.
        faults: Ask a faulty endpoint on this machine in each of its modes, and check what is made of its replies.

    Examples:
        $ eyetest doctor --models models.yaml
        $ eyetest doctor -m openai:qwen@http://127.0.0.1:8000/v1

        >>> et.doctor(models={"seer": "scripted:right=0.9"}).exit_code
        0

    """
    checks = [*_machine()]
    if model or models:
        checks += _endpoints(model_entries(models, model))
    if faults:
        checks += _faults()
    ok = all(check.state != "wrong" for check in checks)
    data = {"ok": ok, "checks": [check._asdict() for check in checks]}
    frame = pl.DataFrame(checks, schema=list(Check._fields), orient="row")
    return Found("doctor", frame, text=_shown(checks), data=data, exit_code=int(not ok))


def _shown(checks: list[Check]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, state, found, fix in checks:
        words = f"{found}\n→ {fix}" if fix else found
        table.add_row(Text(state, _COLOURS[state]), Text(safe(name)), Text(safe(words)))
    return table


def _machine() -> Iterator[Check]:
    from eyetest.ocr import choose_engine
    from eyetest.reform.distractors.wordnet import wordnet_place
    from eyetest.store.urls import cache_root

    yield Check("eyetest", "ok", f"{__version__}, Python {platform.python_version()} on {platform.system()}")
    yield from _packages()
    try:
        yield Check("OCR", "ok", choose_engine().name)
    except EyetestError as error:
        yield Check("OCR", "missing", "no OCR engine found", str(error))
    for name, place, fix in (
        ("WordNet", wordnet_place(), "only reform's hard options need it: apt install wordnet-base, or WNSEARCHDIR"),
        ("Java", shutil.which("java"), "only METEOR needs it"),
    ):
        yield Check(name, "ok", str(place)) if place else Check(name, "missing", "not found", fix)
    yield Check("cache", "ok", f"{cache_root()}; safe to delete while no command runs")
    free = shutil.disk_usage(Path.cwd()).free
    yield Check("space", "wrong" if free < _LITTLE else "ok", f"{free / 2**30:,.1f} GB free in this folder")


def _packages() -> Iterator[Check]:
    """What eyetest needs, and what each extra needs."""
    try:
        needed = requires("eyetest") or []
    except PackageNotFoundError:
        yield Check("libraries", "note", "eyetest is run from a checkout", "pip install -e .")
        return
    by_extra: dict[str, list[str]] = {"": []}
    for match in filter(None, map(_REQUIREMENT.match, needed)):
        by_extra.setdefault(match["extra"] or "", []).append(match["name"])
    for extra, packages in by_extra.items():
        if lacking := [name for name in packages if not _is_installed(name)]:
            fix = f"pip install 'eyetest[{extra}]'" if extra else "pip install --upgrade eyetest"
            yield Check(extra or "libraries", "missing" if extra else "wrong", f"lacks {listed(lacking)}", fix)
        else:
            yield Check(extra or "libraries", "ok", listed(packages))


def _is_installed(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def _endpoints(entries: "Mapping[str, ModelEntry]") -> list[Check]:
    """What is found of each model, endpoints side by side."""
    import asyncio

    from eyetest.running.limits import wait_for

    found: list[list[Check]] = []

    async def look() -> None:
        found.extend(await asyncio.gather(*(_model(name, entry) for name, entry in entries.items())))

    wait_for(look())
    return [check for checks in found for check in checks]


async def _model(name: str, entry: "ModelEntry") -> list[Check]:
    """A checkpoint or recorded answers are looked for; a server is asked for its models."""
    from eyetest.benchmarks.images import ImageStore
    from eyetest.models import Images, Surroundings, make_models
    from eyetest.models.openai import OpenAIModel
    from eyetest.redaction import redact

    try:
        keys = [_key(name, entry)] if entry.spec.startswith("openai:") else []
        if any(check.state == "wrong" for check in keys):
            return keys
        patience = Surroundings(Images(ImageStore(Path())), connect_seconds=5.0, total_seconds=60.0)
        (model,) = make_models({name: entry}, patience)
    except (EyetestError, OSError) as error:
        return [Check(name, "wrong", redact(str(error)), "correct its entry")]
    if isinstance(model, OpenAIModel):
        return [*keys, await _listed(name, model)]
    return [Check(name, "ok", f"{entry.written_down().spec}, runs here")]


def _key(name: str, entry: "ModelEntry") -> Check:
    """Whether the variable is set that holds the key; its value is not reported, not even its length."""
    from eyetest.models.base import target_of
    from eyetest.models.openai.connection import key_variable, parse_target
    from eyetest.redaction import plain_variable

    variable = key_variable(parse_target(target_of(entry.spec))[1], entry.key_env)
    found = plain_variable(variable) or "the variable that key_env names"
    if os.environ.get(variable, "").strip():
        return Check(name, "ok", f"key: {found} is set")
    if entry.key_env:
        return Check(name, "wrong", f"key: {found} is not set", f"export {found}=…")
    return Check(name, "note", f"key: {found} is not set, which a server of your own does not need")


def _faults() -> Iterator[Check]:
    """What is made of the replies of the faulty endpoint, a line for each mode that ends otherwise than expected."""
    from eyetest.commands.faults import try_all_modes

    trials = try_all_modes()
    problems = [trial for trial in trials if trial.problem]
    right = len(trials) - len(problems)
    state: State = "wrong" if problems else "ok"
    yield Check("faults", state, f"{right} of {counted(len(trials), 'mode')} of a faulty endpoint end as expected")
    for trial in problems:
        fix = "run it again on an idle machine; if it stays, report it"
        yield Check(trial.mode.mode, "wrong", f"{trial.mode.about}: {trial.problem}", fix)


async def _listed(name: str, model: "OpenAIModel") -> Check:
    from eyetest.models import CallError
    from eyetest.models.base import target_of
    from eyetest.models.openai.connection import parse_target
    from eyetest.redaction import plain_address, redact

    wanted, url = parse_target(target_of(model.entry.spec))
    where = plain_address(url)
    await model.open()
    try:
        there = await model.listed()
    except CallError as error:
        if error.kind in _UNLISTED:
            return Check(name, "note", f"{where} answers, and does not list its models")
        return Check(name, "wrong", redact(str(error)), _FIXES.get(error.kind, ""))
    finally:
        await model.close()
    if wanted in there:
        return Check(name, "ok", f"{where} has {short(wanted)}")
    known = redact(nearest(wanted, there, 5)) if there else "it lists none"
    return Check(name, "wrong", f"{where} does not list {short(wanted)}", known)
