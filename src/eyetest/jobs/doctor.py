"""Check this machine, folders and model endpoints: one line each, with what to do about what does not work.

Nothing is changed, no key is shown, and nothing large is imported: what is installed is known from its metadata. A
server is only asked which models it has; with ``call`` each model answers a short question, one with an image, and
says how it gives likelihoods.
"""

import asyncio
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.benchmarks.images import ImageStore
from eyetest.errors import EyetestError, InputError, nearest, short
from eyetest.jobs.opening import AnyPath, Models, model_entries, path_of, several
from eyetest.jobs.views import card, lines_of, words_of
from eyetest.models import Call, CallError, Pictures, Surroundings, make_models
from eyetest.models.base import target_of
from eyetest.models.openai import OpenAIModel, key_variable, parse_target
from eyetest.ocr import choose_engine
from eyetest.records import Asked, GreyPicture, Item, Message, ModelEntry, Prompt, Request, Words
from eyetest.records.request import Part
from eyetest.redaction import plain_address, plain_variable, redact
from eyetest.reform.distractors.wordnet import wordnet_place
from eyetest.running.limits import wait_for
from eyetest.runs import Run, is_run
from eyetest.runs.journal import part_names, refuse_lost
from eyetest.store.urls import cache_root
from eyetest.version import __version__
from eyetest.wording import counted, listed

State = Literal["ok", "note", "missing", "wrong"]
"""``note``: worth knowing. ``missing``: not there, and not asked for. ``wrong``: asked for, and does not work."""


class DoctorLine(msgspec.Struct, frozen=True):
    """Something that was looked at, how it is, and what to do about it."""

    about: str
    """Under which heading it stands: this machine, extras, programs, folders, models."""
    name: str
    state: State
    told: str
    mend: str = ""


_LITTLE = 2**30  # bytes that are too few for pictures and answers
_MOST_FILES = 50_000  # so many files of a cache are looked at; a larger one is told as larger


def look_at_places(places: Sequence[Path]) -> Iterator[DoctorLine]:
    """The folder we are in, the cache, and those that are named."""
    about = "folders"
    yield _room(Path.cwd(), "here")
    yield _cache()
    if hub := os.environ.get("HF_HUB_CACHE") or os.environ.get("HF_HOME"):
        yield DoctorLine(about, "hub cache", "ok", hub)
    for place in places:
        if not place.exists():
            raise InputError(f"{place} does not exist")
        yield _content(place)
        yield _room(place, str(place))


def _content(place: Path) -> DoctorLine:
    try:
        if is_run(place):
            return _run(place)
        if is_benchmark(place):
            manifest = Benchmark(place).manifest
            told = f'benchmark "{manifest.name}", {counted(manifest.counts.items, "item")}'
            return DoctorLine("folders", str(place), "ok", told)
    except EyetestError as error:
        return DoctorLine("folders", str(place), "wrong", str(error), "bring it back from a copy")
    kind = "a folder, no run and no benchmark of ours" if place.is_dir() else "a file"
    return DoctorLine("folders", str(place), "note", kind, f"eyetest show {place} says whether it can be read")


def _run(place: Path) -> DoctorLine:
    run = Run(place)
    refuse_lost(place, run.manifest.parts)
    told = f"run of {listed(run.manifest.models)}, answers in {counted(len(part_names(place)), 'part')}"
    if run.writer:
        told, mend = f"{told}; process {run.writer} is writing to it", "wait for it, or stop it, before others write"
        return DoctorLine("folders", str(place), "note", told, mend)
    return DoctorLine("folders", str(place), "ok", f"{told}; nobody is writing to it")


def _room(place: Path, name: str) -> DoctorLine:
    folder = place if place.is_dir() else place.absolute().parent
    free = shutil.disk_usage(folder).free
    told = f"{_size(free)} free"
    if free < _LITTLE:
        return DoctorLine("folders", f"room, {name}", "wrong", told, "make room before anything is asked")
    if not os.access(folder, os.W_OK):
        return DoctorLine("folders", f"room, {name}", "note", f"{told}, and you may not write there")
    return DoctorLine("folders", f"room, {name}", "ok", told)


def _cache() -> DoctorLine:
    root = cache_root()
    if not root.is_dir():
        return DoctorLine("folders", "cache", "ok", f"{root}, which is empty")
    files = (Path(folder) / name for folder, _, names in os.walk(root) for name in names)
    sizes = [file.lstat().st_size for file in islice(files, _MOST_FILES)]
    more = "more than " if len(sizes) == _MOST_FILES else ""
    told = f"{root}, {more}{_size(sum(sizes))} in {counted(len(sizes), 'file')}"
    return DoctorLine("folders", "cache", "ok", f"{told}; safe to delete when nothing is going on")


def _size(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"


_PACKAGE = "eyetest"
_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(?:\[[^\]]*\])?(?P<bounds>[^;]*)(?:;.*extra == ['\"](?P<extra>[\w-]+)['\"])?"
)
_LEAST = re.compile(r">=\s*([\d.]+)")
_FEW_COLUMNS = 80
_CARD_SECONDS = 10
_CARD = ("nvidia-smi", "--query-gpu=name,memory.total,memory.used,driver_version", "--format=csv,noheader")


def look_at_machine() -> Iterator[DoctorLine]:
    """Everything that no file and no folder decides."""
    machine = "this machine"
    yield DoctorLine(machine, "eyetest", "ok", __version__)
    python = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count() or 1} cores"
    yield DoctorLine(machine, "Python", "ok", python)
    yield _card()
    yield _terminal()
    yield from _packages()
    yield from _programs()


def _card() -> DoctorLine:
    """What the driver says of graphics cards; torch would say the same, and takes seconds to load."""
    name, about = "GPU", "this machine"
    if shutil.which(_CARD[0]) is None:
        return DoctorLine(about, name, "missing", "none found; only checkpoints of your own need one")
    try:
        done = subprocess.run(  # noqa: S603 (words of our own)
            _CARD, capture_output=True, text=True, timeout=_CARD_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        told = f"nvidia-smi fails ({type(error).__name__})"
        return DoctorLine(
            about, name, "note", told, "look at what nvidia-smi says; the driver may be another version"
        )
    return DoctorLine(about, name, "ok", "; ".join(done.stdout.split("\n")).strip("; "))


def _terminal() -> DoctorLine:
    width, encoding = shutil.get_terminal_size().columns, (sys.stdout.encoding or "unknown").lower()
    told = f"{width} columns, {encoding}"
    if encoding.replace("-", "") != "utf8":
        return DoctorLine("this machine", "terminal", "note", told, "PYTHONUTF8=1 shows every sign as it is")
    mend = f"tables lose columns below {_FEW_COLUMNS}" if width < _FEW_COLUMNS else ""
    return DoctorLine("this machine", "terminal", "note" if mend else "ok", told, mend)


def _packages() -> Iterator[DoctorLine]:
    """What eyetest needs, and what each extra needs."""
    try:
        needed = requires(_PACKAGE) or []
    except PackageNotFoundError:
        yield DoctorLine("libraries", _PACKAGE, "note", "not installed, run from a checkout", "pip install -e .")
        return
    by_extra: dict[str, list[tuple[str, str]]] = {"": []}
    for line in needed:
        if match := _REQUIREMENT.match(line):
            by_extra.setdefault(match["extra"] or "", []).append((match["name"], match["bounds"]))
    for extra, packages in by_extra.items():
        there = {name: _installed(name) for name, _ in packages}
        lacking = [name for name, bounds in packages if not _is_enough(there[name], bounds)]
        about = "extras" if extra else "libraries"
        if lacking:
            mend = f"pip install '{_PACKAGE}[{extra}]'" if extra else f"pip install --upgrade {_PACKAGE}"
            names = [f"{name} (there is {there[name]})" if there[name] else name for name in lacking]
            told = f"lacks {listed(names)}"
            yield DoctorLine(about, extra or "needed", "missing" if extra else "wrong", told, mend)
        else:
            told = listed([f"{name} {there[name]}" for name in there], 4)
            yield DoctorLine(about, extra or "needed", "ok", told)


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _is_enough(there: str, bounds: str) -> bool:
    least = _LEAST.search(bounds)
    return bool(there) and (least is None or _numbers(there) >= _numbers(least[1]))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.match(r"[\d.]*", text)[0].split(".") if part)  # type: ignore[index]


def _programs() -> Iterator[DoctorLine]:
    about = "programs"
    try:
        yield DoctorLine(about, "OCR", "ok", choose_engine().name)
    except EyetestError as error:
        yield DoctorLine(about, "OCR", "missing", "no engine reads what is written in pictures", str(error))
    for name, found, mend in (
        ("WordNet", wordnet_place(), "only reform's hard options need it: python -m nltk.downloader wordnet"),
        ("Java", shutil.which("java"), "only METEOR needs it"),
    ):
        if found:
            yield DoctorLine(about, name, "ok", str(found))
        else:
            yield DoctorLine(about, name, "missing", "not found", mend)


_PATIENCE = Surroundings(
    Pictures(ImageStore(Path())), connect_seconds=5.0, first_byte_seconds=60.0, total_seconds=120.0
)
_SKEW_SECONDS = 5  # by so much a clock may be off that is told to the second, over a network
_FEW_TOKENS = 16
_SIDE = 64  # of a picture that every server takes, in pixels
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
        variable = key_variable(url, entry.key_env)
    except EyetestError as error:
        yield DoctorLine(_ABOUT, name, "wrong", str(error), "mend its entry")
        return
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


@dataclass(frozen=True, repr=False)
class Doctored:
    """What was found: a line each, and what to do about what does not work."""

    lines: list[DoctorLine]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """``about``, ``name``, ``state`` (ok, note, missing or wrong), ``told`` and ``mend``."""
        schema = dict.fromkeys(DoctorLine.__struct_fields__, pl.String)
        return pl.DataFrame([msgspec.structs.asdict(line) for line in self.lines], schema=schema)

    @property
    def ok(self) -> bool:
        """Whether all that was named works."""
        return all(line.state != "wrong" for line in self.lines)

    def __repr__(self) -> str:
        return "\n".join(lines_of(self.frame))

    def _repr_html_(self) -> str:
        return card("doctor", words_of(self.frame))


def doctor(places: AnyPath | Sequence[AnyPath] = (), *, models: Models | None = None, call: bool = False) -> Doctored:
    """Say what is installed, what is missing and how to get it, which endpoints answer, and where things lie.

    ``places`` are runs, benchmarks or folders to look at. Keys are told by the names of their variables and never
    shown. Only with ``call`` is each model asked two short questions and for likelihoods, which may cost a little.

    >>> et.doctor("run", models={"seer": "scripted:right=0.9"}).ok
    True
    """
    named: list[AnyPath] = several(places)
    folders = [path_of(place, "places") for place in named]
    lines = [*look_at_machine(), *look_at_places(folders)]
    if entries := model_entries(models) if models else {}:
        lines += look_at_models(entries, call=call)
    return Doctored(lines)
