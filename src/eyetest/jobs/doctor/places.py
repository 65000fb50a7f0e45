"""Folders: how much room there is, what lies there, who is writing to it; and where things are cached."""

import os
import shutil
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.errors import EyetestError, InputError
from eyetest.runs import Run, is_run
from eyetest.runs.parts import part_names, refuse_lost
from eyetest.store.urls import cache_root
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


_LITTLE = 2**30
"""Bytes that are too few for pictures and answers."""
_MOST_FILES = 50_000
"""So many files of a cache are looked at; a larger one is told as larger."""


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
