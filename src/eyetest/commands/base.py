"""What commands share: openers for what a user names, and observers of long work."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyetest.commands.options import AnyPath, AnyRun, Bench, Benches, Models, Pairs, Words
from eyetest.errors import InputError, RowError, counted, heading, nearest, param, short, typed
from eyetest.grammar import read_names, words_of

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark, ReadOptions
    from eyetest.benchmarks.tags import TagMaps
    from eyetest.curate.pooling import Pooling
    from eyetest.records import ModelEntry
    from eyetest.running import Estimate, Progress
    from eyetest.runs import Run

_FILES = (".yaml", ".yml")
_SECONDS_BETWEEN_LOOKS = 2.0
_WIDTH = 100  # of a progress line, so that it covers the one before


@contextmanager
def hinting_skip_bad() -> Iterator[None]:
    """Say in the message about a bad row how the others are used."""
    try:
        yield
    except RowError as error:
        raise RowError(f"{error}; {param('skip_bad', True)} leaves such rows out") from None


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

    def ended(self, notes: Sequence[str], *, interrupted: bool = False) -> None:
        """What a caller has to know of the end: warnings; an interrupt also stops the cells that follow."""
        if interrupted:
            raise KeyboardInterrupt("; ".join(notes))
        for line in notes:
            warnings.warn(line, stacklevel=4)


class NotebookObserver(Observer):
    """Reports notes as warnings, and progress as one line on standard error."""

    def note(self, line: str) -> None:
        """A warning."""
        warnings.warn(line, stacklevel=2)

    @contextmanager
    def watch(self, progress: "Progress") -> Iterator[None]:
        """One line that says how far it is, where it takes long."""
        from eyetest.running.limits import every, line

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
    """Report to another observer, in all threads."""
    global _observer  # noqa: PLW0603 (a program has one user interface at a time)
    before, _observer = _observer, by
    try:
        yield
    finally:
        _observer = before


def read_options(
    format_name: str | None = None,
    fields: Words = (),
    images: AnyPath | None = None,
    gold_style: str | None = None,
    *,
    drop: Words = (),
    gold_required: bool = False,
    images_required: bool = True,
) -> "ReadOptions":
    """What a user specifies about a file's format and columns, checked."""
    from eyetest.benchmarks import FORMATS, GOLD_STYLES, ReadOptions, parse_map
    from eyetest.tabular.table import named_columns

    if format_name:
        FORMATS[format_name]
    if gold_style is not None and gold_style not in GOLD_STYLES:
        raise InputError(f'{heading("gold_style")}: no style "{gold_style}"; {nearest(gold_style, GOLD_STYLES)}')
    mapped, dropped = parse_map(several(fields)), read_names(several(drop), "drop")
    for name in named_columns(mapped):
        if name in dropped:
            raise InputError(f"{heading('drop')}: {param('map')} uses the column {short(name)}; say one of the two")
    folder = None if images is None else path_of(images, "images")
    if folder is not None and not folder.is_dir():
        raise InputError(f"{heading('images')}: {images} is no folder")
    return ReadOptions(
        format=format_name,
        fields=mapped,
        images=folder,
        gold_style=gold_style,
        drop=tuple(dropped),
        gold_required=gold_required,
        images_required=images_required,
    )


def open(path: AnyPath, read: "ReadOptions | None" = None) -> "Benchmark":  # noqa: A001 (what one types in a notebook)
    """Open a benchmark folder, or any file that eyetest can read as one.

    A file is read once and kept in the cache. Large benchmarks are read as you go: ``bench["17"]`` is the item of
    that id, ``bench[17]`` the one at that place, counted from 0, ``bench[:5]`` the first five; ``bench.frame`` is a
    Polars table of all.

    Examples:
        >>> bench = et.open("world/benchmark")
        >>> item = next(iter(bench))
        >>> bench[item.id] == bench[0] == bench[:5][0] == item
        True
        >>> bench.frame.columns[:5]
        ['id', 'question', 'options', 'gold', 'images']

    """
    from eyetest.benchmarks import open_benchmark

    return open_benchmark(path, read)


def open_bench(bench: Benches, read: "ReadOptions | None" = None) -> "Benchmark":
    """Open a benchmark, or the one that a refinement made; by default items without an answer key are allowed.

    Several become a pool in the cache.
    """
    if len(given := several(bench)) == 1:
        return _open_bench(given[0], read)
    from eyetest.curate.pooling import open_pool

    pooling = pooling_of(given, read=read)
    with observer().steps(title := f"pooling {counted(len(given), 'benchmark')}") as step:
        return open_pool(pooling, lambda share: step(title, share), observer().note)


def _refuse_reading(read: "ReadOptions | None", place: object) -> None:
    """Refuse options about how a file is read where a benchmark folder is named, which is read in one way."""
    if read is None:
        return
    given: dict[str, object] = {"format": read.format, "map": read.fields, "images": read.images}
    given |= {"gold_style": read.gold_style, "drop": read.drop}
    for name, value in given.items():
        if value:
            why = f"{place} is a benchmark already and is read as it is"
            raise InputError(f"{heading(name, True)}: {why}; leave the option out")


def place_of(bench: Benches, opened: "Benchmark") -> Path:
    """The path by which a user can open the benchmark again: as named, or that of a pool."""
    given = several(bench)
    return Path(given[0]) if len(given) == 1 and isinstance(given[0], str | Path) else opened.path


def pooling_of(
    benches: Sequence[Bench], tags: Pairs = (), *, drop: bool = False, read: "ReadOptions | None" = None
) -> "Pooling":
    """The sources of a pool with their names (NAME=PATH) and licences, and the tags that are made of others."""
    from eyetest.benchmarks.folder import FACTS
    from eyetest.curate.pooling import Pooling, Source, named_sources
    from eyetest.reports.dataset_card import read_facts

    opened = []
    for bench in benches:
        name, equals, path = str(bench).partition("=")
        is_named = equals and isinstance(bench, str | Path) and not Path(bench).exists()
        benchmark = _open_bench(path if is_named else bench, read)
        licence = read_facts(benchmark.path / FACTS).licence
        opened.append(Source(name if is_named else "", benchmark, licence))
    if not opened:
        raise InputError("no benchmark is named")
    sources = named_sources(opened)
    return Pooling(sources, tag_maps(tags, [source.name for source in sources]), drop)


def tag_maps(given: Pairs, sources: Sequence[str] = ()) -> "TagMaps | None":
    """The tags that are made of others, for all items or for those of one of these sources."""
    from eyetest.benchmarks.tags import TagMaps

    words = several(given)
    return TagMaps(words, sources) if words else None


def _open_bench(bench: Bench, read: "ReadOptions | None") -> "Benchmark":
    from eyetest.benchmarks import Benchmark, ReadOptions, is_benchmark, open_benchmark
    from eyetest.runs import BENCHMARK, is_run

    if isinstance(bench, Benchmark):
        _refuse_reading(read, bench.path)
        return bench
    path = path_of(bench, "bench", "a benchmark, or the path of one")
    if is_benchmark(path / BENCHMARK) and not is_benchmark(path) and not is_run(path):
        path /= BENCHMARK
    if is_benchmark(path):
        _refuse_reading(read, path)
        return open_benchmark(path, read)
    with observer().steps(f"reading {path.name}"):
        return open_benchmark(path, read or ReadOptions(gold_required=False))


def open_run(run: AnyRun) -> "Run":
    """Open the answers of a run, wherever they came from.

    >>> et.open_run("run").manifest.benchmark.items
    60
    """
    from eyetest.runs import Run

    return run if isinstance(run, Run) else Run(path_of(run, "run", "a run, or the path of one"))


def path_of(given: object, name: str, expected: str = "a path") -> Path:
    """The path that a user gave as a parameter; anything else is refused in one line."""
    if isinstance(given, str | os.PathLike):
        from eyetest.store.urls import local_path

        return local_path(given)
    kind = type(given).__name__
    is_value = given is None or isinstance(given, bool | int | float | bytes)
    found = short(given) if is_value else f"{'an' if kind[0] in 'AEIOUaeiou' else 'a'} {kind}"
    raise InputError(f"{heading(name)}: found {found}, expected {expected}")


def new_path(given: object, name: str) -> Path:
    """The path of what a command writes; the hub, which takes benchmarks alone, and pipes and devices are refused."""
    from eyetest.store.files import refuse_special
    from eyetest.store.urls import is_of_hub

    if isinstance(given, str | os.PathLike) and is_of_hub(given):
        push = typed("eyetest", "export", "BENCH", "--to", "hf://datasets/OWNER/NAME")
        raise InputError(f"{heading(name)}: only benchmarks are written to the hub: {push}")
    path = path_of(given, name)
    refuse_special(path)
    return path


def open_runs(runs: "AnyRun | Sequence[AnyRun]") -> "list[Run]":
    """One run or several."""
    return [open_run(run) for run in several(runs)]


def model_entries(models: "Models | None", chosen: Words = ()) -> "dict[str, ModelEntry]":
    """Read the models that a user named, by the names under which their answers are stored.

    ``chosen`` keeps to some names of ``models``, and may add specs (``openai:MODEL@URL``, ``NAME=SPEC``).
    """
    from eyetest.models.specs import named_models, parse_models, read_models
    from eyetest.store.urls import local_path

    if (chosen or not models) and isinstance(models, str | Path | None):
        return parse_models(several(chosen), local_path(models) if models else None)
    if chosen:
        entries = model_entries(models)
        for name in (names := read_names(several(chosen), "model", entries)):
            if name not in entries:
                raise InputError(f"{heading('model')}: no model {short(name)}; {nearest(name, entries)}")
        return {name: entries[name] for name in names}
    if isinstance(models, Mapping):
        return named_models(dict(models), "models")
    if isinstance(models, Path) or (isinstance(models, str) and models.endswith(_FILES)):
        return read_models(local_path(models))
    words = several(models)
    if wrong := [word for word in words if not isinstance(word, str)]:
        raise InputError(f"{heading('models')}: found {short(wrong[0])}, expected specs, or names with their specs")
    return parse_models(words)


def several(given: Any) -> list[Any]:
    """One thing, or several of them, as a list. A word is one thing; a mapping is pairs in words."""
    return words_of(given)
