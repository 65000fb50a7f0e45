"""Several runs become one: answers by request, plans by `Asked`, models by name, steps with their origin.

Different answers of two runs are refused, unless the first is to count. The new folder appears when it is complete.
Texts are read a run at a time.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, copy_without_images, is_benchmark
from eyetest.errors import InputError, as_named, counted, listed, param, short
from eyetest.records import Asked, ModelEntry, RunBenchmark, RunStep, columns
from eyetest.results.scores import ItemRepair, read_repairs, write_repairs
from eyetest.runs import BENCHMARK, Run, RunWriter
from eyetest.runs.journal import refuse_lost
from eyetest.runs.stored import PLAN, counting_responses, one_line_if_damaged, scan_plan, write_part
from eyetest.store import replacing_folder
from eyetest.store.urls import known_path

FAILED, ANSWERED = 1, 2  # the rank of an answer, 0 without one; a better one replaces the others
_CONTENT = ("outcome", "text", "candidates", "given")  # what makes two answers different; their duration does not
_KEY = list(columns(Asked))
_ASKED = ("sampling", "detail", "prefill")  # settings that decide the answers
_ADDRESS = re.compile("@https?://.*", re.IGNORECASE | re.DOTALL)
_REPLAY = "replay:"  # imported answers have only their file as a spec
STEP = "merge"
FROM = "from"  # the step option that names the run it was done to


def _chosen(claims: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Of claims with one key the first of the best, and whether answers differ."""
    rank = pl.col("rank")
    best = claims.filter(rank == rank.max().over(key))
    differs = (pl.col("content").n_unique().over(key) > 1) & (rank == ANSWERED)
    return best.with_columns(pl.col("differs") | differs).unique(key, keep="first", maintain_order=True)


def _answers(runs: Sequence[Run]) -> pl.DataFrame:
    """The answer that counts for each request, without its text: rank, content and run."""
    rank = pl.when(pl.col("outcome") == "failed").then(FAILED).otherwise(ANSWERED).cast(pl.Int8).alias("rank")
    claims = []
    for number, run in enumerate(runs):
        about = (rank, pl.struct(_CONTENT).hash().alias("content"), pl.lit(number, pl.Int16).alias("run"))
        with one_line_if_damaged(run.path):
            responses = counting_responses(run.path, ("request", *_CONTENT))
            claims.append(responses.select("request", *about, differs=pl.lit(value=False)).collect())
    return _chosen(pl.concat(claims), ["request"])


def _plans(runs: Sequence[Run], answers: pl.DataFrame) -> pl.DataFrame:
    """The rows of all plans that count, and whether answers differ."""
    frames = []
    for number, run in enumerate(runs):
        with one_line_if_damaged(run.path):
            frames.append(scan_plan(run.path).collect().with_columns(plan=pl.lit(number, pl.Int16)))
    known = pl.concat(frames).join(answers, on="request", how="left", maintain_order="left")
    known = known.with_columns(
        pl.col("rank", "content", "run").fill_null(0), pl.col("differs").fill_null(value=False)
    )
    # The first run that answered comes first, not the first that planned
    whose = pl.when(pl.col("rank") == ANSWERED).then("run").otherwise(0)
    return _chosen(known.sort(whose, maintain_order=True), _KEY).sort("plan", maintain_order=True)


def united_entries(runs: Sequence[Run]) -> tuple[dict[str, ModelEntry], dict[str, str]]:
    """All models, as the first run has each; by name, what differs. Addresses may differ."""
    entries: dict[str, ModelEntry] = {}
    differing: dict[str, str] = {}
    for run in runs:
        for name, entry in run.manifest.models.items():
            mine = entries.setdefault(name, entry)
            if mine.spec.startswith(_REPLAY):
                entries[name] = entry
            elif not entry.spec.startswith(_REPLAY):
                pairs = {"spec": [_ADDRESS.sub("", some.spec) for some in (mine, entry)]}
                pairs |= {field: [getattr(some, field) for some in (mine, entry)] for field in _ASKED}
                different = [field for field, (ours, theirs) in pairs.items() if ours != theirs]
                differing |= {name: f"{different[0]} differs in {run.path}"} if different else {}
    return entries, differing


class MergedRuns(msgspec.Struct, kw_only=True):
    """The result of a merge."""

    models: int = 0
    planned: int = 0
    brought: dict[str, int] = {}  # by run: the answers that it contributed
    decided: int = 0  # questions with different answers, of which the first counts


def merge_into(
    runs: Sequence[Run],
    target: Path,
    tell: Callable[[str], None] = lambda line: None,
    *,
    prefer_first: bool = False,
) -> MergedRuns:
    """Merge runs about one benchmark into a new folder."""
    runs = [*{run.path.resolve(): run for run in runs}.values()]
    if len(runs) < 2:
        raise InputError(f"nothing to merge: only {runs[0].path} was named; name another run")
    about, repairs = _same_benchmark(runs, tell), _same_repairs(runs)
    if target.exists():
        raise InputError(f"{target} is already there; name it among the runs, and write a new one")
    for run in runs:
        _refuse_incomplete(run)
        if run.writer:
            tell(f"{run.path} is being written by process {run.writer}; later answers are not merged")
        if torn := run.health.torn:
            tell(f"{run.path}: {counted(torn, 'line')} of its journal cut off or damaged, and left out")
    decides = f"{param('prefer_first', True)} takes what the first run says"
    entries, differing = united_entries(runs)
    for name, why in differing.items():
        if not prefer_first:
            raise InputError(f"model {short(name)}: {why}; {decides}")
        tell(f"model {short(name)}: {why}; what the first run says was taken")
    answers = _answers(runs)
    rows = _plans(runs, answers)
    differ = rows.filter("differs")
    if len(differ) and not prefer_first:
        first = differ.row(0, named=True)
        what = f"the first about item {short(first['item'])} by {short(first['model'])} ({first['modality']})"
        raise InputError(f"the runs answer {counted(len(differ), 'question')} differently, {what}; {decides}")
    counts = Counter(answers["run"].to_list())
    brought = {as_named(str(run.path)): counts[number] for number, run in enumerate(runs)}
    merged = MergedRuns(models=len(entries), planned=len(rows), brought=brought, decided=len(differ))
    with replacing_folder(target, overwrite=False) as folder, RunWriter(folder) as writer:
        _write_answers(runs, answers, folder)
        with writer.planning() as plan:
            plan.add_table(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
        kept = (Benchmark(run.path / BENCHMARK) for run in runs if is_benchmark(run.path / BENCHMARK))
        if (items := next(kept, None)) is not None:
            copy_without_images(items, folder / BENCHMARK)
        write_repairs(folder, repairs)
        writer.record(_step(runs, merged), entries, about, list(_steps(runs)))
    return merged


def _refuse_incomplete(run: Run) -> None:
    """Refuse a run that has lost answers, or the plan that says what they answer."""
    refuse_lost(run.path, run.manifest.parts)
    if not (run.path / PLAN).exists() and any(step.planned for step in run.manifest.steps):
        models = listed([short(name) for name in run.manifest.models])
        raise InputError(f"{run.path} has lost its {PLAN}: which items {models} answered is not known")


def _write_answers(runs: Sequence[Run], answers: pl.DataFrame, to: Path) -> None:
    """Write the answers that count, those of a run as one part."""
    for number, run in enumerate(runs):
        mine = answers.filter(pl.col("run") == number).select("request").lazy()
        with one_line_if_damaged(run.path):
            rows = counting_responses(run.path).join(mine, on="request", how="semi", maintain_order="left").collect()
        if len(rows):
            write_part(to, rows)


def _step(runs: Sequence[Run], merged: MergedRuns) -> RunStep:
    """What the merge records of itself."""
    last = [run.manifest.steps[-1] for run in runs if run.manifest.steps]
    return RunStep(
        what=STEP,
        options={"runs": ", ".join(merged.brought)} | ({"decided": str(merged.decided)} if merged.decided else {}),
        planned=merged.planned,
        requests=sum(merged.brought.values()),
        saved=sum(step.saved for step in last),
        not_applicable=dict(sum((Counter(step.not_applicable) for step in last), Counter())),
    )


def _steps(runs: Sequence[Run]) -> Iterator[RunStep]:
    """The steps of each run with its origin."""
    for run in runs:
        for step in run.manifest.steps:
            yield msgspec.structs.replace(step, options={FROM: as_named(str(run.path))} | step.options)


def _same_benchmark(runs: Sequence[Run], tell: Callable[[str], None]) -> RunBenchmark | None:
    """The benchmark of all runs, at a path where it can be opened, if there is one."""
    known = [(run, about) for run in runs if (about := run.manifest.benchmark) and about.fingerprint]
    if not known:
        return next((run.manifest.benchmark for run in runs if run.manifest.benchmark), None)
    about = known[0][1]
    if others := [pair for pair in known if pair[1].fingerprint != about.fingerprint]:
        pairs = (known[0], others[0])
        names = [f"{run.path} ({short(asked.name, 40)}, {asked.items:,} items)" for run, asked in pairs]
        why = f"{names[0]} and {names[1]} are about different benchmarks, or versions of one"
        raise InputError(f"{why}; they cannot become one run, but measure and report take several")
    for run in runs:
        if all(run is not one for one, _ in known):
            unknown = f"{run.path} does not say what benchmark it is about"
            tell(f"{unknown}; taken to be about {short(about.name)}")
    return next((asked for _, asked in known if asked.path and known_path(asked.path).exists()), about)


def _same_repairs(runs: Sequence[Run]) -> list[ItemRepair]:
    """Repairs of the items by people, in any of the runs."""
    repairs: dict[str, ItemRepair] = {}
    for run in runs:
        for name, repair in read_repairs(run.path).items():
            mine = repairs.setdefault(name, repair)
            if mine.item != repair.item:
                raise InputError(f"{run.path}: item {short(name)} was repaired differently in another of the runs")
            if mine.requests is not None and repair.requests is not None:
                requests = tuple(sorted({*mine.requests, *repair.requests}))
                repairs[name] = msgspec.structs.replace(mine, requests=requests)
    return list(repairs.values())
