"""Several runs become one: answers by request, plans by `Asked`, models by name, steps with their origin.

Different answers of two runs are refused, unless the first is to count. ``run.json`` is written last: what a killed
merge left is removed by the next. Texts are read a shard at a time.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from secrets import token_hex

import msgspec
import polars as pl

from eyetest.errors import InputError, as_named, counted, listed, param, short, typed
from eyetest.records import Asked, ModelEntry, RunBenchmark, RunStep, columns
from eyetest.records.tables import failure_notice
from eyetest.runs.folder import Run, RunWriter, is_run
from eyetest.runs.journal import SCHEMA, part_names, refuse_lost, sealed
from eyetest.runs.stored import PLAN, one_line_if_damaged, part_frame, plan_frame, responses_frame, write_part
from eyetest.store import store_of

FAILED, ANSWERED = 1, 2  # the rank of an answer, 0 without one; a better one replaces the others
_CONTENT = ("outcome", "text", "candidates", "given")  # what makes two answers different; their duration does not
_KEY = ["key", "key_2"]  # 128 bits of an `Asked`'s hash
_ASKED = ("sampling", "detail", "prefill")  # settings that decide the answers
_ADDRESS = re.compile("@https?://.*", re.IGNORECASE | re.DOTALL)
_REPLAY = "replay:"  # imported answers have only their file as a spec
STEP = "merge"
FROM = "from"  # the step option that names the run it was done to
_WRITER = "merged"


def _notices(answers: pl.Series) -> pl.Series:
    """Why each call failed whose stored answer is only a notice; empty for other answers."""
    rows = answers.struct.unnest().iter_rows()
    kinds = [failure_notice(text or "") if outcome == "answered" else "" for outcome, text in rows]
    return pl.Series(kinds, dtype=pl.String)


_NOTICE = pl.struct("outcome", "text").map_batches(_notices, pl.String, is_elementwise=True)
_AS_FAILED = {
    "outcome": pl.lit("failed"),
    "error": pl.col("notice"),
    "detail": pl.col("text"),
    "text": pl.lit(None, pl.String),
    "given": pl.lit(None, pl.Float64),
}


def _chosen(claims: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Of claims with one key the first of the best, and whether answers differ."""
    rank = pl.col("rank")
    best = claims.filter(rank == rank.max().over(key))
    differs = (pl.col("content").n_unique().over(key) > 1) & (rank == ANSWERED)
    return best.with_columns(pl.col("differs") | differs).unique(key, keep="first", maintain_order=True)


def _answers(runs: Sequence[Run], tell: Callable[[str], None]) -> pl.DataFrame:
    """The answer that counts for each request, without its text: rank, content and run."""
    failed = (pl.col("outcome") == "failed") | pl.col("is_notice")
    rank = pl.when(failed).then(FAILED).otherwise(ANSWERED).cast(pl.Int8).alias("rank")
    claims = []
    for number, run in enumerate(runs):
        about = (rank, pl.struct(_CONTENT).hash().alias("content"), pl.lit(number, pl.Int16).alias("run"))
        with one_line_if_damaged(run.path):
            responses = responses_frame(run.path).with_columns(is_notice=_NOTICE != "")
            claims.append(responses.select("request", "is_notice", *about, differs=pl.lit(value=False)).collect())
    every = pl.concat(claims)
    if notices := int(every["is_notice"].sum()):
        tell(f"{counted(notices, 'text')} only say that a call failed, and count as failed")
    return _chosen(every.drop("is_notice"), ["request"])


def _plan(run: Run) -> pl.LazyFrame:
    return plan_frame(run.path).with_columns(pl.col(pl.Categorical).cast(pl.String))


def _plans(runs: Sequence[Run], answers: pl.DataFrame) -> pl.DataFrame:
    """The rows of all plans that count: the number of the plan and of the row, and whether answers differ."""
    key = [pl.struct(columns(Asked)).hash(seed).alias(half) for seed, half in enumerate(_KEY, 1)]
    frames = []
    for number, run in enumerate(runs):
        row = (pl.lit(number, pl.Int16).alias("plan"), pl.int_range(pl.len()).alias("row"))
        with one_line_if_damaged(run.path):
            frames.append(_plan(run).select("request", *key, *row).collect())
    known = pl.concat(frames).join(answers, on="request", how="left", maintain_order="left")
    known = known.with_columns(
        pl.col("rank", "content", "run").fill_null(0), pl.col("differs").fill_null(value=False)
    )
    # The first run that answered comes first, not the first that planned
    whose = pl.when(pl.col("rank") == ANSWERED).then("run").otherwise(0)
    return _chosen(known.sort(whose, maintain_order=True), _KEY)


def united_entries(runs: Sequence[Run]) -> tuple[dict[str, ModelEntry], dict[str, tuple[str, Path]]]:
    """All models, as the first run has each; by name, what differs and in which run. Addresses may differ."""
    entries: dict[str, ModelEntry] = {}
    differing: dict[str, tuple[str, Path]] = {}
    for run in runs:
        for name, entry in run.manifest.models.items():
            mine = entries.setdefault(name, entry)
            if mine.spec.startswith(_REPLAY):
                entries[name] = entry
            elif not entry.spec.startswith(_REPLAY):
                pairs = {"spec": [_ADDRESS.sub("", some.spec) for some in (mine, entry)]}
                pairs |= {field: [getattr(some, field) for some in (mine, entry)] for field in _ASKED}
                different = [field for field, (ours, theirs) in pairs.items() if ours != theirs]
                differing |= {name: (f"{different[0]} differs in {run.path}", run.path)} if different else {}
    return entries, differing


class MergedRuns(msgspec.Struct, kw_only=True):
    """The result of a merge."""

    models: int = 0
    planned: int = 0
    brought: dict[str, int] = {}  # by run: the answers that it contributed
    decided: int = 0  # questions with different answers, of which the first counts
    new: bool = False


def merge_runs(
    runs: Sequence[Run],
    about: RunBenchmark | None,
    to: Path,
    tell: Callable[[str], None],
    complete: Callable[[], None],
    *,
    prefer_first: bool,
) -> MergedRuns:
    """Merge runs about one benchmark; ``complete`` adds the folder's other contents before it is a run."""
    with ExitStack() as stack:
        writer = RunWriter(to)
        known = int(is_run(to))
        if known:
            stack.enter_context(writer)
        merging = _Merging([*([Run(to)] if known else ()), *runs], known, tell, prefer_first=prefer_first)
        if not known:
            stack.enter_context(writer)
            if is_run(to):
                raise InputError(f"{to} was written by another process meanwhile; merge again")
            for name in part_names(to):  # what a killed merge left
                if name.writer.startswith(_WRITER):
                    store_of(to).remove(sealed(to, name))
            store_of(to).remove(to / PLAN)
        return merging.write(writer, about, complete)


class _Merging:
    """A merge: what was found, then what is written."""

    def __init__(self, runs: Sequence[Run], known: int, tell: Callable[[str], None], *, prefer_first: bool) -> None:
        self.runs, self.known = runs, known
        for run in runs:
            refuse_lost(run.path, run.manifest.parts)
            if not (run.path / PLAN).exists() and any(step.planned for step in run.manifest.steps):
                models = listed([short(name) for name in run.manifest.models])
                raise InputError(f"{run.path} has lost its {PLAN}: which items {models} answered is not known")
            if torn := run.health.torn:
                tell(f"{run.path}: {counted(torn, 'line')} of its journal cut off or damaged, and left out")
        self.entries, differing = united_entries(runs)
        decides = f"{param('prefer_first', True)} takes what the first run says"
        for name, (why, where) in differing.items():
            if not prefer_first:
                rename = typed("eyetest", "merge", where, "--rename", f"{name}=NEW")
                raise InputError(f"model {short(name)}: {why}; if they are two, {rename}; else {decides}")
            tell(f"model {short(name)}: {why}; what the first run says was taken")
        self._answers = _answers(runs, tell)
        self._rows = _plans(runs, self._answers)
        differ = self._rows.filter("differs").sort("plan", "row")
        self.decided = len(differ)
        if self.decided and not prefer_first:
            first = next(self._planned(differ.head(1), 0)).row(0, named=True)
            what = f"the first about item {short(first['item'])} by {short(first['model'])} ({first['modality']})"
            raise InputError(f"the runs answer {counted(self.decided, 'question')} differently, {what}; {decides}")

    def write(self, writer: RunWriter, about: RunBenchmark | None, complete: Callable[[], None]) -> MergedRuns:
        """Write answers, then the plan, then ``run.json``: the state meanwhile is incomplete, never wrong."""
        steps = list(self._steps(writer.manifest.steps))
        others = list(enumerate(self.runs))[self.known :]
        counts = Counter(self._answers["run"].to_list())
        planned = int((self._rows["plan"] >= self.known).sum())
        brought = {as_named(str(run.path)): counts[number] for number, run in others}
        merged = MergedRuns(
            models=len(self.entries),
            planned=len(self._rows),
            brought=brought,
            decided=self.decided,
            new=bool(sum(brought.values()) or planned or steps) or self.entries != writer.manifest.models,
        )
        if merged.new:
            self._write_answers(writer.path)
            with writer.planning() as plan:
                for rows in self._planned(self._rows, self.known):
                    plan.add_table(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
            complete()
            last = [run.manifest.steps[-1] for run in self.runs if run.manifest.steps]
            step = RunStep(
                what=STEP,
                options={"runs": ", ".join(brought)} | ({"decided": str(self.decided)} if self.decided else {}),
                planned=planned,
                requests=sum(brought.values()),
                saved=sum(step.saved for step in last),
                not_applicable=dict(sum((Counter(step.not_applicable) for step in last), Counter())),
            )
            writer.restate(step, self.entries, about, steps)
        return merged

    def _planned(self, rows: pl.DataFrame, known: int) -> Iterator[pl.DataFrame]:
        """Some rows of the plans of runs beyond the first ``known``."""
        for number, run in list(enumerate(self.runs))[known:]:
            mine = rows.filter(pl.col("plan") == number).select("row").lazy()
            numbered = _plan(run).with_columns(pl.int_range(pl.len()).alias("row"))
            found = numbered.join(mine, on="row", how="semi", maintain_order="left").drop("row").collect()
            if len(found):
                yield found

    def _write_answers(self, to: Path) -> None:
        """Write the answers that count, part by part; of a run's own repeated answers the last stays the last."""
        writer, written = f"{_WRITER}{token_hex(4)}", list[Path]()
        try:
            for number, run in list(enumerate(self.runs))[self.known :]:
                mine = self._answers.filter(pl.col("run") == number).select("request").lazy()
                for name in part_names(run.path):
                    if (frame := part_frame(run.path, name)) is None:
                        continue
                    with one_line_if_damaged(run.path):
                        rows = frame.join(mine, on="request", how="semi", maintain_order="left").collect()
                    rows = rows.with_columns(notice=_NOTICE)
                    rows = rows.with_columns(
                        pl.when(pl.col("notice") == "").then(name).otherwise(new).alias(name)
                        for name, new in _AS_FAILED.items()
                    ).select(SCHEMA.names)
                    if len(rows):
                        written.append(write_part(to, rows, writer))
        except BaseException:
            for path in written:
                store_of(path).remove(path)
            raise

    def _steps(self, there: Sequence[RunStep]) -> Iterator[RunStep]:
        """The steps of each run with its origin, except those that the target has already."""
        for run in self.runs[self.known :]:
            for step in run.manifest.steps:
                named_step = msgspec.structs.replace(step, options={FROM: as_named(str(run.path))} | step.options)
                if step not in there and named_step not in there:
                    yield named_step
