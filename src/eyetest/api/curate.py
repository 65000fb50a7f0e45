"""A part of a benchmark, what it says of the whole, and pictures in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from eyetest.api.run import NOTEBOOK, warn_of
from eyetest.api.views import MeasureTable, benchmark_card, card, words_of
from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, heading
from eyetest.jobs import describe as describing
from eyetest.jobs import subset as job
from eyetest.jobs.opening import AnyPath, AnyRun, Bench, Models, Observer, model_entries, open_bench, several
from eyetest.measures import Settings
from eyetest.measures.printed import plain
from eyetest.records.recipe import BENCHMARK
from eyetest.store.urls import local_path
from eyetest.wording import counted


@dataclass(frozen=True, repr=False)
class Part:
    """A part of a benchmark; of one that recorded answers chose, how well it serves models that had no say."""

    path: Path
    benchmark: Benchmark
    validation: pl.DataFrame | None
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        there = f"{counted(len(self.benchmark), 'item')} in {self.path}"
        return "\n".join([there, *(f"note: {line}" for line in self.notes)])

    def _repr_html_(self) -> str:
        columns = [] if self.validation is None else words_of(self.validation)
        return benchmark_card(self.benchmark) + card("how it was chosen", columns, self.notes)


class _Listener(Observer):
    """Keeps what a job has to say, to be handed on with its result."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, line: str) -> None:
        self.notes.append(line)


def subset(
    bench: Bench,
    *,
    to: AnyPath,
    only: str | Sequence[str] = (),
    unseen_by: AnyPath | None = None,
    dataset_tag: str = "source",
    answers: AnyRun | Sequence[AnyRun] = (),
    share: float = 0.1,
    sight: str = "image",
    seed: int = 0,
    option_count: int | None = None,
    overwrite: bool = False,
) -> Part:
    """Take a part of a benchmark: the tasks you care about, what no compared model was trained on, or a small part.

    ``only`` keeps values of tags (``"core=math,logic"``), ``unseen_by`` is a models.yaml that says what models were
    trained on, by ``dataset_tag``; with ``answers`` of nine models or more, ``share`` of the items is drawn that
    tells them apart, and `et.estimate` says what a model would score on the whole. ``option_count`` options of each
    item are kept.

    >>> part = et.subset("world/benchmark", only="core=math", to="mathematics")
    >>> {item.tags["core"] for item in part.benchmark}
    {'math'}
    """
    known = None if unseen_by is None else local_path(unseen_by)
    wanted = job.Selection(several(only), known, dataset_tag, several(answers), share, sight, seed, option_count)
    folder, heard = local_path(to), _Listener()
    _, validation = job.subset(open_bench(bench), folder, wanted, overwrite=overwrite, observer=heard)
    return Part(folder, Benchmark(folder / BENCHMARK), validation, tuple(heard.notes))


def estimate(part: Part | AnyPath, runs: AnyRun | Sequence[AnyRun], *, sight: str = "image") -> MeasureTable:
    """Estimate scores on the whole benchmark from answers to a part that `et.subset` drew with ``answers`` (p-IRT).

    Intervals are as wide as models of the panel were missed by when they were left out.

    >>> panel = {f"m{n}": f"scripted:right={0.3 + n / 20},seed={n}" for n in range(10)}
    >>> recorded = et.run("world/benchmark", panel, to="panel")
    >>> part = et.subset("world/benchmark", answers=recorded, share=0.5, to="half")
    >>> new = et.run(part.benchmark, {"new": "scripted:right=0.6,seed=99"}, to="new")
    >>> et.estimate(part, new).frame.columns[:4]
    ['model', 'full_score', 'full_score_low', 'full_score_high']
    """
    folder = part.path if isinstance(part, Part) else local_path(part)
    measured = job.estimate(folder, several(runs), sight)
    return MeasureTable("estimate", plain(measured.table), measured.notes, Settings())


def describe(
    bench: Bench,
    model: Models,
    *,
    to: AnyPath,
    again: bool = False,
    retry_failed: bool = False,
    concurrency: int = 64,
) -> Benchmark:
    """Have a model describe every picture once; the sight ``caption`` then asks about the words instead.

    The describer sees the pictures, not the question, so that it cannot answer it. Call it again to go on; with
    ``again`` also items that have a description already.

    >>> described = et.describe("world/benchmark", "scripted:right=1", to="described")
    >>> all(item.description for item in described)
    True
    """
    entries = model_entries(model)
    if len(entries) != 1:
        raise InputError(f"{heading('model')}: found {len(entries)}, expected one describer")
    benchmark, folder = open_bench(bench), local_path(to)
    texts, asked, progress = describing.ask(
        benchmark.path,
        benchmark,
        entries,
        folder,
        again=again,
        retry_failed=retry_failed,
        concurrency=concurrency,
        observer=NOTEBOOK,
    )
    warn_of(progress)
    if missing := asked - len(texts):
        NOTEBOOK.note(f"{counted(missing, 'item')} without a description: the call failed or was refused")
    return Benchmark(describing.write_described(benchmark, next(iter(entries)), texts, folder))
