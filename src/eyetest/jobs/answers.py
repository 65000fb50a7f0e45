"""Answers of other tools imported and exported, runs merged, models of a run renamed or removed."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, ReadOptions, copy_without_pictures, is_benchmark
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.jobs.opening import AnyPath, AnyRun, Bench, observer, open_bench, open_run, open_runs, path_of, several
from eyetest.records import RunBenchmark
from eyetest.results.every_eval_ever import EVERY_EVAL_EVER, ExportedAnswers, export_every_eval_ever
from eyetest.results.scores import Mend, read_mends, write_mends
from eyetest.runs import BENCHMARK, Run, is_run
from eyetest.runs.answers import write_answers
from eyetest.runs.importing import AnswerFile, Brought, FieldMap, answer_files
from eyetest.runs.importing import import_answers as bring
from eyetest.runs.merged_answers import PREFERENCES
from eyetest.runs.merging import MergedRuns, merge_runs
from eyetest.runs.models import change_models, models_of
from eyetest.store.urls import known_path, local_path
from eyetest.tabular.inspect_log import is_inspect_log, read_inspect_log
from eyetest.wording import counted, listed

_ROWS = ("item", "model")


def bring_answers(
    source: AnswerFile,
    to: Path,
    bench: Bench | None = None,
    *,
    model: str | None = None,
    overwrite: bool = False,
) -> Brought:
    """Bring the answers of a file, or of each file of a folder, in; ``model`` answered all of them.

    The items of a benchmark are checked and kept beside them. A log of inspect-ai brings its own.
    """
    if source.matrix and source.matrix not in _ROWS:
        known = nearest(source.matrix, _ROWS)
        raise InputError(f'{heading("matrix")}: rows are items or models, not "{source.matrix}"; {known}')
    if source.header and not source.matrix:
        rows = f"{param('matrix', 'item')} or {param('matrix', 'model')}"
        raise InputError(f"{param('header')} is about a matrix: add {rows}")
    source = msgspec.structs.replace(source, fields=_answered_by(model, source.fields))
    benchmark = None if bench is None else open_bench(bench)
    brought = Brought()
    for number, file in enumerate(files := answer_files(source)):
        about = benchmark or _own_benchmark(file.path, to)
        try:
            brought.add(_bring(file, to, about, overwrite=overwrite))
        except InputError as error:
            before = f"; {number:,} of {len(files):,} files came in before it, and may come again" if number else ""
            raise InputError(f"{error}{before}") from None
    return brought


def _bring(file: AnswerFile, to: Path, benchmark: Benchmark | None, *, overwrite: bool) -> Brought:
    kept = benchmark is not None and benchmark.path == to / BENCHMARK
    brought = bring(
        file,
        to,
        benchmark=RunBenchmark.of(benchmark.manifest, benchmark.path) if benchmark and not kept else None,
        known={item.id: tuple(choice.text for choice in item.choices) for item in benchmark} if benchmark else None,
        overwrite=overwrite,
        tell=observer().note,
    )
    if benchmark and not kept:
        copy_without_pictures(benchmark, to / BENCHMARK)
    return brought


def _own_benchmark(path: Path, to: Path) -> Benchmark | None:
    """The questions that a log of inspect-ai holds; those that the run was asked already, where these are the same.

    Samples are often called 1, 2, 3 …, so that a log of another task would pass for answers to this one.
    """
    if not is_inspect_log(path):
        return None
    if not is_benchmark(to / BENCHMARK):
        read = ReadOptions(format="inspect", gold_required=False, pictures_required=False)
        return open_bench(path, read)
    kept = Benchmark(to / BENCHMARK)
    asked = {item.id: item.question.split() for item in kept}
    for _, sample in read_inspect_log(path):
        if asked.get(str(sample.id), known := sample.question.split()) != known:
            raise InputError(
                f"{path}: sample {short(str(sample.id), 40)} asks something else than the item of that id in {to}; "
                f"choose another run, or say {param('bench')} if the questions only look different"
            )
    return kept


def _answered_by(model: str | None, mapping: FieldMap) -> FieldMap:
    if model is None:
        return mapping
    if not model.strip():
        raise InputError(f"{heading('model')}: the name is empty")
    if "model" in mapping.columns or "model" in mapping.constants:
        both = f"{param('columns')} or {param('constants')}"
        raise InputError(f"{heading('model')}: {both} says who answered as well; say one of them")
    name = model.encode("utf-8", "replace").decode()
    return msgspec.structs.replace(mapping, constants=mapping.constants | {"model": name})


__all__ = ["EVERY_EVAL_EVER", "export_answers_as"]


def export_answers_as(format_name: str, run: Run, to: Path, *, overwrite: bool = False) -> ExportedAnswers:
    """Write the answers of a run and what they are worth as another tool keeps them."""
    if format_name != EVERY_EVAL_EVER:
        raise InputError(f'{heading("format")}: no format "{format_name}"; {nearest(format_name, [EVERY_EVAL_EVER])}')
    exported = export_every_eval_ever(run, to, overwrite=overwrite, tell=observer().busy)
    if exported.unscored:
        observer().note(
            f"{counted(exported.unscored, 'answer')} without a score (failed calls, items without a gold) left out"
        )
    if exported.nameless:
        observer().note(
            f"{listed(exported.nameless)}: no developer in the name, which {EVERY_EVAL_EVER} files models by; "
            f"rename them as developer/model"
        )
    return exported


def merge_into(runs: AnyRun | Sequence[AnyRun], to: AnyPath, prefer: str | None = None) -> MergedRuns:
    """Put runs together in a folder, which may be a run already: what it holds stands first.

    Scores are not among what is put together; they are made anew when they are next asked for.
    """
    known = next((word for word in PREFERENCES if word == prefer), None)
    if prefer is not None and known is None:
        raise InputError(f"{heading('prefer')}: no such thing as {short(prefer)}; {nearest(prefer, PREFERENCES)}")
    target = path_of(to, "to")
    places = {run.path.resolve(): run for run in open_runs(runs)}
    places.pop(target.resolve(), None)
    if not places:
        raise InputError("nothing to merge: name runs that are to be put together")
    every = [*([Run(target)] if is_run(target) else ()), *places.values()]
    if len(every) < 2:
        raise InputError(f"nothing to merge: only {every[0].path} was named; name another run, or one that is there")
    about = _same_benchmark(every)
    mends = _same_mends(every)
    for run in every:
        if run.writer and run.path != target:
            observer().note(f"{run.path} is being written by process {run.writer}; what comes later is not in it")

    def complete() -> None:
        kept = next((run.path / BENCHMARK for run in every if is_benchmark(run.path / BENCHMARK)), None)
        if kept is not None:
            copy_without_pictures(Benchmark(kept), target / BENCHMARK)
        if mends:
            write_mends(target, mends)

    return merge_runs(list(places.values()), target, about, known, observer().note, complete)


def _same_benchmark(runs: Sequence[Run]) -> RunBenchmark | None:
    """The benchmark that all runs are about, at a place where it is found from here, if there is one."""
    known = [(run, about) for run in runs if (about := run.manifest.benchmark) and about.fingerprint]
    if not known:
        return next((run.manifest.benchmark for run in runs if run.manifest.benchmark), None)
    first, about = known[0]
    for run, other in known[1:]:
        if other.fingerprint != about.fingerprint:
            raise InputError(_other_benchmark((first, about), (run, other)))
    for run in runs:
        if all(run is not one for one, _ in known):
            observer().note(
                f"{run.path} does not say what benchmark it is about; taken to be about {short(about.name)}"
            )
    return next((one for _, one in known if one.path and is_benchmark(known_path(one.path))), about)


def _other_benchmark(a: tuple[Run, RunBenchmark], b: tuple[Run, RunBenchmark]) -> str:
    for older, newer in ((a, b), (b, a)):
        if older[1].fingerprint in _revisions(newer[0]):
            why = f"{_told(*older)} asked an older revision of the benchmark that {_told(*newer)} asked"
            return f"{why}; they cannot become one run, but measure and report take several"
    return (
        f"{_told(*a)} and {_told(*b)} are about different benchmarks, or versions of one, and cannot become one run"
    )


def _told(run: Run, about: RunBenchmark) -> str:
    return f"{run.path} ({short(about.name, 40)}, {about.items:,} items)"


def _revisions(run: Run) -> set[str]:
    """What the benchmark of a run was before."""
    kept = run.path / BENCHMARK
    return {one.fingerprint for one in Benchmark(kept).manifest.revisions} if is_benchmark(kept) else set()


def _same_mends(runs: Sequence[Run]) -> list[Mend]:
    """What people mended of the items, in whichever run."""
    mends: dict[str, Mend] = {}
    for run in runs:
        for name, mend in read_mends(run.path).items():
            mine = mends.setdefault(name, mend)
            if mine.item != mend.item:
                raise InputError(f"{run.path}: item {short(name)} was mended otherwise in another of the runs")
            if mine.requests is not None and mend.requests is not None:
                requests = tuple(sorted({*mine.requests, *mend.requests}))
                mends[name] = msgspec.structs.replace(mine, requests=requests)
    return list(mends.values())


def models_after(
    run: AnyRun, rename: Sequence[str] | Mapping[str, str] = (), remove: Sequence[str] = ()
) -> dict[str, int]:
    """The models of a run and how many calls were planned for each, after the changes, if any.

    ``rename`` holds old names with new ones, or words OLD=NEW, in which OLD is a model that the run has.
    """
    opened = open_run(run)
    known = models_of(opened)
    renamed = dict(rename) if isinstance(rename, Mapping) else dict(_pair(word, known) for word in rename)
    if renamed or remove:
        change_models(opened.path, renamed, list(remove))
        opened = open_run(opened.path)
    return models_of(opened)


def _pair(word: str, known: dict[str, int]) -> tuple[str, str]:
    cuts = [at for at, character in enumerate(word) if character == "="]
    if not cuts:
        raise InputError(f"{heading('rename')}: found {short(word)}, expected OLD=NEW")
    cut = next((at for at in cuts if word[:at] in known), cuts[0])
    return word[:cut], word[cut + 1 :]


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
        brought = bring_answers(source, local_path(to), bench, overwrite=overwrite)
    if brought.unknown:
        about = f"{counted(brought.unknown.total(), 'answer')} to items that the benchmark does not have"
        warnings.warn(f"{about} left out: {listed(brought.unknown)}", stacklevel=2)
    return Run(local_path(to))


def run_models(run: AnyRun, *, rename: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> dict[str, int]:
    """The models of a run with their calls, after some were renamed or taken out; what they said is kept.

    >>> et.run_models("run")
    {'seer': 240, 'squinter': 240, 'language': 240}
    """
    return models_after(run, rename or {}, several(remove))


def merge(runs: AnyRun | Sequence[AnyRun], *, to: AnyPath, prefer: str | None = None) -> Run:
    """Put runs of several people or sites together as one run, and give it; a run that is there is added to.

    What runs answered differently is refused, unless ``prefer`` says which counts: what the ``"first"`` run says that
    was named (or was there), or the ``"newest"`` answer. Scores are made anew.

    >>> part = et.run("world/benchmark", {"seer": "scripted:right=0.9,blind=0.3"}, items=["q00", "q01"], to="part")
    >>> rest = et.run("world/benchmark", {"seer": "scripted:right=0.9,blind=0.3"}, items=["q01", "q02"], to="rest")
    >>> et.merge([part, rest], to="both").responses().num_rows
    3
    """
    merge_into(runs, to, prefer)
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
        export_answers_as(format, opened, local_path(to), overwrite=overwrite)
        return local_path(to)
    _, missing = write_answers(opened.path, local_path(to), overwrite=overwrite)
    if missing:
        warnings.warn(f"{counted(missing, 'planned call')} without an answer are not in the table", stacklevel=2)
    return local_path(to)
