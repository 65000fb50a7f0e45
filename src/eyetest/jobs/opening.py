"""What a user points at, opened: benchmarks, runs, models. And who is told what a job does meanwhile."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from eyetest.benchmarks import FORMATS, GOLD_STYLES, Benchmark, ReadOptions, is_benchmark, open_benchmark, parse_map
from eyetest.errors import InputError, heading, nearest, short
from eyetest.models.specs import named_models, parse_models, read_models
from eyetest.records import ModelEntry
from eyetest.runs import Run
from eyetest.store.urls import local_path

if TYPE_CHECKING:
    from eyetest.running import Estimate, Progress

Kind = TypeVar("Kind")
AnyPath = str | Path
Bench = Benchmark | AnyPath
"""A benchmark, or where one lies: a folder of ours, or any file that can be read."""
AnyRun = Run | AnyPath
Models = AnyPath | Sequence[str] | Mapping[str, Any]
"""Who is asked, or what is known of models: specs, names with their specs, or the path of a ``models.yaml``."""
_FILES = (".yaml", ".yml")
_SECONDS_BETWEEN_LOOKS = 2.0
_WIDTH = 100  # of a progress line, so that it covers the one before


class Observer:
    """What a job reports to while it runs; this one ignores everything."""

    def note(self, line: str) -> None:
        """What the user should know without being asked."""

    def busy(self, line: str) -> None:
        """That something takes a while."""

    def steps(self, title: str) -> AbstractContextManager[Callable[[str, float], None]]:
        """Something to hand what is being done and a share from 0 to 1."""
        return nullcontext(lambda what, share: None)

    def watch(self, progress: "Progress") -> AbstractContextManager[None]:
        """Models are being asked until the block ends."""
        return nullcontext()

    def planned(self, stage: str, estimate: "Estimate") -> None:
        """What is going to be asked."""


class NotebookObserver(Observer):
    """Reports notes as warnings, and progress as one line on standard error."""

    def note(self, line: str) -> None:
        """A warning."""
        warnings.warn(line, stacklevel=2)

    @contextmanager
    def watch(self, progress: "Progress") -> Iterator[None]:
        """One line that says how far it is, where it takes long."""
        from eyetest.running.progress import every, line  # noqa: PLC0415 (slow to load, and few jobs ask models)

        shown = False
        while progress.keys:
            self.note(progress.keys.pop())

        def look() -> None:
            nonlocal shown
            shown = True
            sys.stderr.write(f"\r{line(progress):<{_WIDTH}}")
            sys.stderr.flush()

        with every(_SECONDS_BETWEEN_LOOKS, look):
            yield
        if shown:
            sys.stderr.write(f"\r{line(progress, over=True):<{_WIDTH}}\n")


NOTEBOOK = NotebookObserver()
_observer: Observer = NOTEBOOK


def observer() -> Observer:
    """The observer of all jobs: that of notebooks, unless `observing` says otherwise."""
    return _observer


@contextmanager
def observing(by: Observer) -> Iterator[None]:
    """Let another observer hear of jobs, in all threads."""
    global _observer  # noqa: PLW0603 (a program has one user interface at a time)
    before, _observer = _observer, by
    try:
        yield
    finally:
        _observer = before


def read_options(
    format_name: str | None = None,
    fields: Sequence[str] = (),
    images: Path | None = None,
    gold_style: str | None = None,
    drop: Sequence[str] = (),
    *,
    gold_required: bool = False,
    pictures_required: bool = True,
) -> ReadOptions:
    """The user's words about a file, checked."""
    if format_name:
        FORMATS[format_name]
    if gold_style is not None and gold_style not in GOLD_STYLES:
        raise InputError(f'{heading("gold_style")}: no style "{gold_style}"; {nearest(gold_style, GOLD_STYLES)}')
    if images is not None and not images.is_dir():
        raise InputError(f"{heading('images')}: {images} is no folder")
    return ReadOptions(
        format=format_name,
        fields=parse_map(fields),
        images=images,
        gold_style=gold_style,
        drop=tuple(drop),
        gold_required=gold_required,
        pictures_required=pictures_required,
    )


def open(path: AnyPath, read: ReadOptions | None = None) -> Benchmark:  # noqa: A001 (what one types in a notebook)
    """Open a benchmark folder, or any file that eyetest can read as one.

    A file is read once and kept in the cache. Large benchmarks are read as you go: ``bench["17"]`` is the item of
    that id, ``bench[17]`` the one at that place, counted from 0, ``bench[:5]`` the first five; ``bench.frame`` is a
    Polars table of all.

    >>> bench = et.open("world/benchmark")
    >>> item = next(iter(bench))
    >>> bench[item.id] == bench[0] == bench[:5][0] == item
    True
    >>> bench.frame.columns[:5]
    ['id', 'question', 'options', 'gold', 'images']
    """
    return open_benchmark(path, read)


def open_bench(bench: Bench, read: ReadOptions | None = None) -> Benchmark:
    """The benchmark itself. Unless told otherwise, items whose answer is held back are welcome."""
    if isinstance(bench, Benchmark):
        return bench
    path = path_of(bench, "bench", "a benchmark, or the path of one")
    if is_benchmark(path):
        return open_benchmark(path, read)
    title = f"reading {path.name}"
    with observer().steps(title) as step:
        return open_benchmark(path, read or ReadOptions(gold_required=False), lambda share: step(title, share))


def open_run(run: AnyRun) -> Run:
    """Open the answers of a run, wherever they came from.

    >>> et.open_run("run").manifest.benchmark.items
    60
    """
    return run if isinstance(run, Run) else Run(path_of(run, "run", "a run, or the path of one"))


def path_of(said: object, name: str, expected: str = "a path") -> Path:
    """A path that a user gave, or one line that says what was given in its place."""
    if isinstance(said, str | os.PathLike):
        return local_path(said)
    raise InputError(f"{heading(name)}: found {kind_of(said)}, expected {expected}")


def kind_of(said: object) -> str:
    """What somebody gave, for an error: a value by itself, anything larger by its kind."""
    if said is None or isinstance(said, bool | int | float | bytes):
        return short(said)
    kind = type(said).__name__
    return f"{'an' if kind[0] in 'AEIOUaeiou' else 'a'} {kind}"


def open_runs(runs: AnyRun | Sequence[AnyRun]) -> list[Run]:
    """One run or several."""
    named: list[AnyRun] = several(runs)
    return [open_run(run) for run in named]


def model_entries(models: Models) -> dict[str, ModelEntry]:
    """The models that a user named, by the names under which their answers are kept."""
    if isinstance(models, Mapping):
        return named_models(dict(models), "models")
    if isinstance(models, Path) or (isinstance(models, str) and models.endswith(_FILES)):
        return read_models(local_path(models))
    words = [models] if isinstance(models, str) else list(models)
    if wrong := [word for word in words if not isinstance(word, str)]:
        raise InputError(f"{heading('models')}: found {short(wrong[0])}, expected specs, or names with their specs")
    return parse_models(words)


def several(said: Kind | Sequence[Kind]) -> list[Kind]:
    """One thing, or several of them, as a list. A word is one thing."""
    is_one = isinstance(said, str) or not isinstance(said, Sequence)
    return [cast("Kind", said)] if is_one else list(cast("Sequence[Kind]", said))
