"""The machine: versions, extras, programs that some commands need, the graphics card, the terminal.

Nothing large is imported: what is installed is known from its metadata.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from eyetest.errors import EyetestError
from eyetest.harden.screenshot.chromium import find_chromium
from eyetest.jobs.doctor.places import DoctorLine
from eyetest.ocr import choose_engine
from eyetest.reform.distractors.wordnet import wordnet_place
from eyetest.version import __version__
from eyetest.wording import listed

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
            told = f"lacks {listed([_with_version(name, there[name]) for name in lacking])}"
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


def _with_version(name: str, there: str) -> str:
    return f"{name} (there is {there})" if there else name


def _programs() -> Iterator[DoctorLine]:
    about = "programs"
    try:
        yield DoctorLine(about, "OCR", "ok", choose_engine().name)
    except EyetestError as error:
        yield DoctorLine(about, "OCR", "missing", "no engine reads what is written in pictures", str(error))
    for name, found, mend in (
        ("browser", find_chromium(), "only harden screenshot --renderer chromium needs it"),
        ("WordNet", wordnet_place(), "only reform's hard options need it: python -m nltk.downloader wordnet"),
        ("Java", shutil.which("java"), "only METEOR needs it"),
    ):
        if found:
            yield DoctorLine(about, name, "ok", str(found))
        else:
            yield DoctorLine(about, name, "missing", "not found", mend)
