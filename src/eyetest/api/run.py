"""A run: a benchmark is put to models, waiting until every answer is on disk, or answers come from elsewhere."""

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import polars as pl

from eyetest.jobs import import_answers as importing
from eyetest.jobs import merge as merging
from eyetest.jobs import models as who
from eyetest.jobs import run as job
from eyetest.jobs.export_answers import export_answers_as
from eyetest.jobs.opening import AnyPath, AnyRun, Bench, Models, Observer, model_entries, open_run, several
from eyetest.jobs.perturbation import perturbed, read_perturbation
from eyetest.records import Condition
from eyetest.running import Asking, Cluster, Limits, Progress
from eyetest.running.progress import every, line
from eyetest.running.session import INTERRUPTED
from eyetest.runs import Run
from eyetest.runs.answers import write_answers
from eyetest.runs.importing import AnswerFile, FieldMap
from eyetest.store.handwritten import convert
from eyetest.store.urls import local_path
from eyetest.wording import counted, listed

_AS_WRITTEN = Condition()
_SECONDS_BETWEEN_LOOKS = 2.0
_WIDTH = 100
"""Of a line, so that it covers the one before."""


def run(
    bench: Bench,
    models: Models,
    *,
    to: AnyPath,
    sights: str | Sequence[str] | None = None,
    methods: str | Sequence[str] | None = None,
    templates: int | None = None,
    conditions: Condition | Sequence[Condition] = _AS_WRITTEN,
    perturb: str | Sequence[str] | None = None,
    tests: int | None = None,
    one_at_a_time: bool = False,
    trials: int = 1,
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    limit: int | None = None,
    items: str | Sequence[str] = (),
    stop: str = "",
    until: str = "",
    retry_failed: bool = False,
    limits: Limits | None = None,
    on: str = "",
    workers: int | None = None,
) -> Run:
    """Put a benchmark to models and keep every answer in the folder ``to``; waits until all are there.

    Interrupt it whenever you like and call it again: nothing is lost, nothing is asked twice. ``sights`` says what is
    seen (``"image,blind"``), ``methods`` how answers are had (``"likelihood,generate"``), ``templates`` how many of
    the six instructions are used; each of the ``conditions`` (how else a question is put) is asked with all of them.
    ``perturb`` names what varies over ``tests`` tests of every item (``"instruction,order,marks"``), all together or
    ``one_at_a_time``. ``limit`` keeps to the first items, ``items`` to some; ``stop`` is a stopping rule in words;
    ``until="A>B"`` draws items by lot until one of two models leads for certain; ``limits`` bounds calls, tokens and
    money; with ``on="ray"`` (or ``"ray://HOST:PORT"``) so many ``workers`` on a cluster make the calls. It works the
    same in a script and in a notebook, where an event loop is running already.

    >>> run = et.run("world/benchmark", {"seer": "scripted:right=0.9,blind=0.3"}, sights="image,blind", to="asked")
    >>> run.responses().num_rows
    120
    >>> run = et.run("world/benchmark", {"seer": "scripted:right=0.9,blind=0.3"}, sights="image,blind", to="asked")
    >>> run.responses().num_rows  # everything was there already
    120
    """
    how = read_perturbation(perturb, tests, seed, one_at_a_time=one_at_a_time)
    axes = {"sight": sights, "method": methods, "template": job.first_templates(templates)}
    asking = Asking(
        conditions=perturbed(_conditions(several(conditions), axes), how, NOTEBOOK),
        trials=trials,
        sampling=job.sampling(temperature, max_tokens),
        seed=seed,
        limit=limit,
        items=tuple(several(items)),
        limits=limits or Limits(),
        retry_failed=retry_failed,
        stop=stop,
        until=until,
        cluster=Cluster.parse(on, workers),
    )
    session = job.prepare(bench, model_entries(models), asking)
    warn_of(job.carry_out(session, local_path(to), NOTEBOOK))
    if session.race is not None:
        NOTEBOOK.note(session.race.told)
    return Run(local_path(to))


class NotebookObserver(Observer):
    """Tells a notebook what a job does."""

    def note(self, line: str) -> None:
        """A warning."""
        warnings.warn(line, stacklevel=2)

    @contextmanager
    def watch(self, progress: Progress) -> Iterator[None]:
        """One line that says how far it is, where it takes long enough for somebody to wonder."""
        shown = False

        def look() -> None:
            nonlocal shown
            shown = True
            print(f"\r{line(progress):<{_WIDTH}}", end="", file=sys.stderr, flush=True)

        with every(_SECONDS_BETWEEN_LOOKS, look):
            yield
        if shown:
            print(f"\r{line(progress, over=True):<{_WIDTH}}", file=sys.stderr, flush=True)


NOTEBOOK = NotebookObserver()


def warn_of(progress: Progress) -> None:
    """Say what is missing. Whoever interrupted it wanted the cells that follow to wait as well."""
    if progress.stopped == INTERRUPTED:
        raise KeyboardInterrupt(f"{counted(progress.left, 'call')} left; the same call goes on from here")
    told = [f"{name} was given up: {why}" for name, why in progress.abandoned.items()]
    if progress.left and progress.stopped and not told:
        told.append(f"{progress.stopped}; {counted(progress.left, 'call')} left, the same call goes on from here")
    if failed := progress.outcomes["failed"]:
        told.append(f"{counted(failed, 'call')} failed; retry_failed=True asks them again")
    for words in told:
        warnings.warn(words, stacklevel=3)


def _conditions(conditions: Sequence[Condition], axes: Mapping[str, job.Said]) -> tuple[Condition, ...]:
    """Every condition with all that was named of some axes; where nothing was, the conditions as they are."""
    named = {axis: said for axis, said in axes.items() if said is not None}
    ways = [
        msgspec.to_builtins(condition) | {axis: getattr(point, axis) for axis in named}
        for condition in conditions
        for point in job.conditions(**named)
    ]
    return tuple(dict.fromkeys(convert(way, Condition, "conditions") for way in ways))


_FILE = "table.parquet"


def import_answers(
    answers: AnyPath | pl.DataFrame,
    bench: Bench | None = None,
    *,
    to: AnyPath,
    columns: Mapping[str, str] | None = None,
    constants: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> Run:
    """Bring answers in: another tool's file, or a Polars table with a row an answer.

    The columns are ``item``, ``model``, ``text``, and where they vary ``sight``, ``ask``, ``order``, ``trial`` … (see
    docs/answers.md); ``columns`` says which of yours is which, ``constants`` what is the same for all rows.

    >>> said = pl.DataFrame({"item": ["q00", "q01"], "said": ["A", "I think it is B."]})
    >>> mine = et.import_answers(
    ...     said, "world/benchmark", columns={"text": "said"}, constants={"model": "mine"}, to="brought"
    ... )
    >>> et.score(mine)["choice"].to_list()
    ['A', 'B']
    """
    named = {field: tuple(column.split("+")) for field, column in (columns or {}).items()}
    fields = FieldMap(columns=named, constants=dict(constants or {}))
    with TemporaryDirectory() as folder:
        file = local_path(folder) / _FILE
        if isinstance(answers, pl.DataFrame):
            answers.write_parquet(file)
        source = AnswerFile(path=file if isinstance(answers, pl.DataFrame) else local_path(answers), fields=fields)
        brought = importing.import_answers(source, local_path(to), bench, overwrite=overwrite, observer=NOTEBOOK)
    if brought.unknown:
        about = f"{counted(brought.unknown.total(), 'answer')} to items that the benchmark does not have"
        warnings.warn(f"{about} left out: {listed(brought.unknown)}", stacklevel=2)
    return Run(local_path(to))


def run_models(run: AnyRun, *, rename: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> dict[str, int]:
    """The models of a run with their calls, after some were renamed or taken out; what they said is kept.

    >>> et.run_models("run")
    {'seer': 240, 'squinter': 240, 'language': 240}
    """
    return who.models(run, rename or {}, several(remove))


def merge(runs: AnyRun | Sequence[AnyRun], *, to: AnyPath, prefer: str | None = None) -> Run:
    """Put runs of several people or sites together as one run, and give it; a run that is there is added to.

    What runs answered differently is refused, unless ``prefer`` says which counts: what the ``"first"`` run says that
    was named (or was there), or the ``"newest"`` answer. Scores are made anew.

    >>> part = et.run("world/benchmark", {"seer": "scripted:right=0.9,blind=0.3"}, items=["q00", "q01"], to="part")
    >>> rest = et.run("world/benchmark", {"seer": "scripted:right=0.9,blind=0.3"}, items=["q01", "q02"], to="rest")
    >>> et.merge([part, rest], to="both").responses().num_rows
    3
    """
    merging.merge(runs, to, prefer, NOTEBOOK)
    return Run(Path(to))


def export_answers(run: AnyRun, *, to: AnyPath, format: str | None = None, overwrite: bool = False) -> Path:  # noqa: A002
    """Write a run's answers as one table: .parquet, .jsonl or .csv, by the ending of its name; gives its place.

    It can be brought into another run with `et.import_answers`, or replayed as it is. With the format
    ``every-eval-ever`` it is a folder: per model an aggregate and a line for each answer.

    >>> pl.read_csv(et.export_answers("run", to="answers.csv")).height
    720
    """
    opened = open_run(run)
    if format is not None:
        export_answers_as(format, opened, local_path(to), overwrite=overwrite, observer=NOTEBOOK)
        return local_path(to)
    _, missing = write_answers(opened.path, local_path(to), overwrite=overwrite)
    if missing:
        warnings.warn(f"{counted(missing, 'planned call')} without an answer are not in the table", stacklevel=2)
    return local_path(to)
