"""Several runs become one: answers by request, plans by `Asked`, models by name, steps with their origin.

Different answers of two runs are refused, unless the user states which counts. ``run.json`` is written last: what a
killed merge left is removed by the next. Runs are read twice, a shard at a time, so that no texts are in memory.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal, get_args

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa

from eyetest.errors import InputError, as_named, counted, listed, param, short, typed
from eyetest.records import Asked, ModelEntry, RunBenchmark, RunStep, columns
from eyetest.records.tables import failure_notice
from eyetest.runs.folder import SENTENCES, Run, RunWriter, is_run
from eyetest.runs.journal import SCHEMA, content_id, next_part, part_names, refuse_lost, sealed
from eyetest.runs.stored import (
    PLAN,
    chosen_tables,
    one_line_if_damaged,
    part_frame,
    plan_frame,
    refuse_if_all_is_damaged,
)
from eyetest.store import replacing_file, store_of
from eyetest.tabular.record_files import write_parquet

Preference = Literal["first", "newest"]  # ``first``: of the run named first, or there before; ``newest``: the last
PREFERENCES: tuple[Preference, ...] = get_args(Preference)
FAILED, ANSWERED = 1, 2  # the rank of a claim, 0 without an answer; a better one replaces the others
_CONTENT = ("outcome", "text", "candidates", "given")  # what makes two answers different; their duration does not
_KEY = ["key", "key_2"]  # 128 bits of a request's or an `Asked`'s hash
_STANDING = {"rank": pl.Int8, "content": pl.UInt64, "time": pl.Float64, "run": pl.Int16, "differs": pl.Boolean}
_CLAIMS = dict.fromkeys(_KEY, pl.UInt64) | {name: _STANDING[name] for name in ("rank", "content", "time", "run")}
_CLAIMS |= {"part": pl.Int32, "row": pl.Int64}


def _key_of(*names: str) -> list[pl.Expr]:
    """The hash of some columns, in two halves."""
    column = pl.col(*names) if len(names) == 1 else pl.struct(names)
    return [column.hash(seed).alias(half) for seed, half in enumerate(_KEY, 1)]


def _choose(claims: pl.DataFrame, prefer: Preference | None) -> pl.DataFrame:
    """Of claims with one key, in the order of runs, the one that counts: the first, or newest, of the best."""
    rank, content = pl.col("rank"), pl.col("content")
    best = claims.with_columns(
        gave_way=(rank.max().over(_KEY) == ANSWERED) & (rank.min().over(_KEY) == FAILED), best=rank.max().over(_KEY)
    ).filter(rank == pl.col("best"))
    differs = (content.min().over(_KEY) != content.max().over(_KEY)) & (rank == ANSWERED)
    best = best.with_columns(differs=differs, latest=pl.col("time").max().over(_KEY))
    if prefer == "newest":
        best = best.sort(pl.when("differs").then(-pl.col("time")).otherwise(0), maintain_order=True)
    return best.unique(_KEY, keep="first", maintain_order=True)


class AnswersOfRuns:
    """The answers of several runs, and which of them count."""

    def __init__(self, folders: Sequence[Path], prefer: Preference | None) -> None:
        for folder in folders:
            refuse_if_all_is_damaged(folder)
        self._parts = [(run, folder, name) for run, folder in enumerate(folders) for name in part_names(folder)]
        self.notices = 0
        claims = pl.concat([pl.DataFrame(schema=_CLAIMS), *map(self._claims_of, range(len(self._parts)))])
        # A run's last answer to a request counts, as everywhere; then runs are compared
        self._claims = claims.unique([*_KEY, "run"], keep="last", maintain_order=True)
        self._chosen = _choose(self._claims, prefer)
        self.differing, self.gave_way = (int(self._chosen[name].sum()) for name in ("differs", "gave_way"))
        self.shared = len(self._claims) - len(self._chosen)  # answers that another run's replaces

    def _claims_of(self, part: int) -> pl.DataFrame:
        """The answers of a part without their texts: key, rank, content, time and origin."""
        frame = self._read(part, ["request", *_CONTENT, "time"])
        is_notice = _notices(frame) != ""
        self.notices += int(is_notice.sum())
        failed = (pl.col("outcome") == "failed") | is_notice
        return frame.select(
            *_key_of("request"),
            pl.when(failed).then(FAILED).otherwise(ANSWERED).alias("rank"),
            pl.struct(_CONTENT).hash().alias("content"),
            pl.col("time").fill_null(0.0),
            pl.lit(self._parts[part][0]).alias("run"),
            pl.lit(part).alias("part"),
            pl.int_range(pl.len()).alias("row"),
        ).cast(_CLAIMS)  # type: ignore[arg-type]

    def _read(self, part: int, names: Sequence[str]) -> pl.DataFrame:
        _, folder, name = self._parts[part]
        frame = part_frame(folder, name)
        with one_line_if_damaged(folder):
            frame = pl.LazyFrame(pl.from_arrow(SCHEMA.empty_table())) if frame is None else frame
            return frame.select(names).collect()

    def standing(self, requests: pl.DataFrame) -> pl.DataFrame:
        """A frame with keys of requests, and the rank, content, time and run of the answer that counts for each."""
        chosen = self._chosen.select(*_KEY, "rank", "content", "run", "differs", time="latest")
        known = requests.join(chosen, on=_KEY, how="left", maintain_order="left")
        return known.with_columns(pl.col(name).fill_null(pl.lit(0).cast(kind)) for name, kind in _STANDING.items())

    def brought(self, run: int) -> int:
        """How many of the counting answers a run contributes."""
        return int((self._chosen["run"] == run).sum())

    def tables(self, known: int) -> Iterator[pa.Table]:
        """The counting answers of runs beyond the first ``known``, part by part, notices as failed calls."""
        mine = self._chosen.filter(pl.col("run") >= known).sort("part", "row")
        for (part,), rows in mine.group_by("part", maintain_order=True):
            frame = self._read(int(str(part)), SCHEMA.names)[rows["row"]]
            kinds = _notices(frame)
            failed: dict[str, Any] = {"outcome": pl.lit("failed"), "error": kinds, "detail": pl.col("text")}
            failed |= {"text": pl.lit(None, pl.String), "given": pl.lit(None, pl.Float64)}
            changed = (pl.when(kinds != "").then(new).otherwise(name).alias(name) for name, new in failed.items())
            yield frame.with_columns(changed).to_arrow(compat_level=pl.CompatLevel.oldest()).cast(SCHEMA)

    def differing_rows(self, most: int) -> Iterator[list[dict[str, Any]]]:
        """The first requests with different answers: each run's answer, and the number of the run."""
        for key in self._chosen.filter("differs").head(most).select(_KEY).iter_slices(1):
            claims = self._claims.join(key, on=_KEY, how="semi", maintain_order="left")
            rows = claims.select("part", "row", "run").iter_rows()
            yield [self._read(part, SCHEMA.names).row(row, named=True) | {"run": run} for part, row, run in rows]


def _notices(frame: pl.DataFrame) -> pl.Series:
    """Why each call failed whose stored answer is only a notice; empty for other answers."""
    rows = frame.select("outcome", "text").iter_rows()
    kinds = [failure_notice(text or "") if outcome == "answered" else "" for outcome, text in rows]
    return pl.Series(kinds, dtype=pl.String)


class PlansOfRuns:
    """The rows of several plans, and which of them count."""

    def __init__(self, folders: Sequence[Path], answers: AnswersOfRuns, prefer: Preference | None) -> None:
        self._folders = folders
        frames = []
        for number, folder in enumerate(folders):
            asked = [
                key.alias(f"asked_{key_name}") for key, key_name in zip(_key_of(*columns(Asked)), _KEY, strict=True)
            ]
            origin = pl.lit(number, pl.Int16).alias("plan")
            with one_line_if_damaged(folder):
                plan = plan_frame(folder).with_columns(pl.col(pl.Categorical).cast(pl.String))
                numbered = plan.select(*_key_of("request"), *asked, origin, pl.int_range(pl.len()).alias("row"))
                frames.append(numbered.collect(engine="streaming"))
        self._sizes = [len(frame) for frame in frames]
        rows = answers.standing(pl.concat(frames)).drop(_KEY).rename({f"asked_{name}": name for name in _KEY})
        # The first run that answered it comes first, not the first that planned it
        whose = pl.when(pl.col("rank") == ANSWERED).then("run").otherwise(0)
        self._chosen = _choose(rows.drop("differs").sort(whose, maintain_order=True), prefer)
        self._differing = self._chosen.filter("differs").sort("plan", "row")
        self.rows, self.differing = len(self._chosen), len(self._differing)

    def tables(self, known: int) -> Iterator[pa.Table]:
        """The counting rows of runs beyond the first ``known``."""
        return self._taken(self._chosen.filter(pl.col("plan") >= known))

    def brought(self, known: int) -> int:
        """The number of those rows."""
        return int((self._chosen["plan"] >= known).sum())

    def differing_rows(self, most: int) -> Iterator[dict[str, object]]:
        """The first rows that runs planned under different requests with different answers."""
        for table in self._taken(self._differing.head(most)):
            yield from table.to_pylist()

    def _taken(self, rows: pl.DataFrame) -> Iterator[pa.Table]:
        for number, folder in enumerate(self._folders):
            wanted = np.zeros(self._sizes[number], bool)
            wanted[rows.filter(pl.col("plan") == number)["row"].to_numpy()] = True
            if wanted.any():
                yield from chosen_tables(folder, wanted)


_WAITS = ("attempts", "backoff", "timeout", "first_byte", "connect", "patience")
_REACHED = ("spec", "key_env", "price", "concurrency", *_WAITS)
"""What may differ from site to site; of a spec, its address."""
_ASKED = ("sampling", "detail", "prefill", "logprobs")  # these decide the answers, so that an unset one counts too
_ADDRESS = re.compile("@https?://.*", re.IGNORECASE | re.DOTALL)
_REPLAY = "replay:"  # imported answers have only their file as a spec
Named = Sequence[tuple[str, Mapping[str, ModelEntry]]]


def united_entries(runs: Named) -> tuple[dict[str, ModelEntry], dict[str, str]]:
    """All models, as the first run has each, completed by the others; and, by name, how runs differ about it."""
    entries: dict[str, ModelEntry] = {}
    first_in: dict[str, str] = {}
    differing: dict[str, str] = {}
    for run, models in runs:
        for name, entry in models.items():
            mine = entries.setdefault(name, entry)
            first = first_in.setdefault(name, run)
            if (field := _difference(mine, entry)) and name not in differing:
                ours, theirs = short(getattr(mine, field), 80), short(getattr(entry, field), 80)
                differing[name] = f"{field} is {ours} in {first} and {theirs} in {run}"
            entries[name] = _completed(mine, entry)
    return entries, differing


def _difference(mine: ModelEntry, other: ModelEntry) -> str:
    """The first field in which two models differ, if any."""
    who = [_model_named(entry.spec) for entry in (mine, other)]
    if all(who) and who[0] != who[1]:
        return "spec"
    for field in mine.__struct_fields__:
        values = getattr(mine, field), getattr(other, field)
        is_compared = all(who) if field in _ASKED else all(map(_is_set, values))
        if field not in _REACHED and is_compared and values[0] != values[1]:
            return field
    return ""


def _completed(mine: ModelEntry, other: ModelEntry) -> ModelEntry:
    taken = _ASKED if not _model_named(mine.spec) else ()
    missing = {
        field: getattr(other, field)
        for field in mine.__struct_fields__
        if field in taken or (field not in _ASKED and not _is_set(getattr(mine, field)))
    }
    if taken:
        missing["spec"] = other.spec
    return msgspec.structs.replace(mine, **missing)


def _model_named(spec: str) -> str:
    """The model that a spec names, wherever it is reached; empty where only its answers are known."""
    return "" if spec.startswith(_REPLAY) else _ADDRESS.sub("", spec)


def _is_set(value: object) -> bool:
    return value not in (None, ())


_SHOWN = 2
_LONGEST_TEXT = 30
_LONGEST_PATH = 40


def _models_differ(differing: Mapping[str, str], last: Run) -> str:
    """An error: a name stands for two models, or for two settings of one."""
    name, why = next(iter(differing.items()))
    others = f" (and {len(differing) - 1:,} more models)" if len(differing) > 1 else ""
    rename = typed("eyetest", "merge", last.path, "--rename", f"{name}=NEW")
    found = f"model {short(name)} is not the same in all runs{others}: {why}"
    return f"{found}; if they are two, rename one: {rename}; if they are one, {_decides()}"


def _answers_differ(runs: Sequence[Run], answers: AnswersOfRuns, plans: PlansOfRuns) -> str:
    """An error: the same request was answered differently."""
    both = []
    if answers.differing:
        examples = []
        for claims in answers.differing_rows(_SHOWN):
            replies = [f"{_reply_words(row)} in {_named(runs[row['run']])}" for row in claims]
            examples.append(f"{_asked(runs, claims[0]['request'])}: {listed(replies)}")
        both.append(f"{counted(answers.differing, 'request')} answered differently ({'; '.join(examples)})")
    if plans.differing:
        rows, number = "; ".join(map(_who, plans.differing_rows(_SHOWN))), counted(plans.differing, "question")
        both.append(f"{number} put with other settings and answered differently ({rows})")
    return f"the runs differ: {' and '.join(both)}; {_decides()}"


def _named(run: Run) -> str:
    """A run in a message that names several."""
    text = str(run.path)
    return text if len(text) <= _LONGEST_PATH else f"…{text[1 - _LONGEST_PATH :]}"


def _decides() -> str:
    return f"{param('prefer', 'first')} or {param('prefer', 'newest')} decides"


def _asked(runs: Sequence[Run], request: str) -> str:
    """The `Asked` of a request; a judge's requests are in no plan."""
    plans = (plan_frame(run.path).filter(pl.col("request") == request).head(1).collect().to_dicts() for run in runs)
    return next((_who(row) for rows in plans for row in rows), f"request {request[:8]}")


def _reply_words(row: Mapping[str, object]) -> str:
    if row["text"]:
        return short(row["text"], _LONGEST_TEXT)
    return "other likelihoods" if row["candidates"] else str(row["outcome"])


def _who(row: Mapping[str, object]) -> str:
    return f"{short(row['item'], _LONGEST_TEXT)} by {short(row['model'], _LONGEST_TEXT)} ({row['modality']})"


STEP = "merge"
FROM = "from"  # the step option that names the run it was done to
_WRITER = "merged"


class MergedRuns(msgspec.Struct, kw_only=True):
    """The result of a merge."""

    models: int = 0
    planned: int = 0
    brought: dict[str, int] = {}  # by run: the answers that it contributed
    there: int = 0  # answers replaced by another run's
    gave_way: int = 0  # failures replaced by an answer
    decided: int = 0  # requests with different answers, decided by the preference
    new: bool = False


def merge_runs(
    runs: Sequence[Run],
    to: Path,
    about: RunBenchmark | None,
    prefer: Preference | None,
    tell: Callable[[str], None],
    complete: Callable[[], None],
) -> MergedRuns:
    """Merge runs about one benchmark; ``complete`` adds the folder's other contents before it is a run."""
    with ExitStack() as stack:
        writer = RunWriter(to)
        known = int(is_run(to))
        if known:
            stack.enter_context(writer)
        every = [*([Run(to)] if known else ()), *runs]
        merging = _Merging(every, known, prefer, tell)
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

    def __init__(
        self, runs: Sequence[Run], known: int, prefer: Preference | None, tell: Callable[[str], None]
    ) -> None:
        self.runs, self.known = runs, known
        paths = [run.path for run in runs]
        for run in runs:
            refuse_lost(run.path, run.manifest.parts)
            if not (run.path / PLAN).exists() and any(step.planned for step in run.manifest.steps):
                models = listed([short(name) for name in run.manifest.models])
                raise InputError(f"{run.path} has lost its {PLAN}: which items {models} answered is not known")
        self._plan_ids = _plan_ids(runs)
        newest = list(runs)
        if prefer == "newest":
            newest.sort(key=lambda run: run.manifest.steps[-1].time if run.manifest.steps else "", reverse=True)
        self.entries, differing = united_entries([(_named(run), run.manifest.models) for run in newest])
        if differing and not prefer:
            raise InputError(_models_differ(differing, runs[-1]))
        for name, why in differing.items():
            tell(f"model {short(name)}: {why}; what the {prefer} run says was taken")
        self.answers = AnswersOfRuns(paths, prefer)
        for run in runs:
            if torn := run.health.torn:
                tell(f"{run.path}: {counted(torn, 'line')} of its journal cut off or damaged, and left out")
        if self.answers.notices:
            tell(f"{counted(self.answers.notices, 'text')} only say that a call failed, and count as failed")
        self.plans = PlansOfRuns(paths, self.answers, prefer)
        if (self.answers.differing or self.plans.differing) and not prefer:
            raise InputError(_answers_differ(runs, self.answers, self.plans))

    def write(self, writer: RunWriter, about: RunBenchmark | None, complete: Callable[[], None]) -> MergedRuns:
        """Write answers, then the plan, then ``run.json``: the state meanwhile is incomplete, never wrong."""
        to, answers, plans = writer.path, self.answers, self.plans
        steps = list(self._steps(writer.manifest.steps))
        brought = [answers.brought(run) for run in range(self.known, len(self.runs))]
        merged = MergedRuns(
            models=len(self.entries),
            planned=plans.rows,
            brought=dict(zip((as_named(str(run.path)) for run in self.runs[self.known :]), brought, strict=True)),
            there=answers.shared,
            gave_way=answers.gave_way,
            decided=answers.differing + plans.differing,
            new=bool(sum(brought) or plans.brought(self.known) or steps) or self.entries != writer.manifest.models,
        )
        if merged.new:
            self._write_answers(to)
            with writer.planning() as plan:
                for table in plans.tables(self.known):
                    plan.add_table(table)
            if _plan_ids(self.runs[self.known :]) != self._plan_ids[self.known :]:
                raise InputError("a run was planned anew while it was read; merge again")
            self._label(to)
            complete()
            writer.restate(self._step(merged), self.entries, about, steps)
        return merged

    def _write_answers(self, to: Path) -> None:
        writer, written = f"{_WRITER}{token_hex(4)}", list[Path]()
        try:
            for table in self.answers.tables(self.known):
                written.append(sealed(to, next_part(to, writer)))
                with replacing_file(written[-1]) as temporary:
                    write_parquet(table, temporary)
        except BaseException:
            for path in written:
                store_of(path).remove(path)
            raise

    def _label(self, to: Path) -> None:
        """Keep judges' labels of sentences for the answers that count."""
        labels = []
        for number, run in enumerate(self.runs):
            if (run.path / SENTENCES).exists():
                table = pl.read_parquet(run.path / SENTENCES)
                known = self.answers.standing(table.select(_key_of("request")))
                labels.append(table.filter(~known["differs"] | (known["run"] == number)))
        if labels:
            with replacing_file(to / SENTENCES) as temporary:
                pl.concat(labels).unique("request", keep="first", maintain_order=True).write_parquet(temporary)

    def _steps(self, there: Sequence[RunStep]) -> Iterator[RunStep]:
        """The steps of each run with its origin, except those that the target has already."""
        for run in self.runs[self.known :]:
            for step in run.manifest.steps:
                named_step = msgspec.structs.replace(step, options={FROM: as_named(str(run.path))} | step.options)
                if step not in there and named_step not in there:
                    yield named_step

    def _step(self, merged: MergedRuns) -> RunStep:
        last = [run.manifest.steps[-1] for run in self.runs if run.manifest.steps]
        decided = {"decided": str(merged.decided)} if merged.decided else {}
        return RunStep(
            what=STEP,
            options={"runs": ", ".join(merged.brought)} | decided,
            planned=self.plans.brought(self.known),
            requests=sum(merged.brought.values()),
            saved=sum(step.saved for step in last),
            not_applicable=dict(sum((Counter(step.not_applicable) for step in last), Counter())),
        )


def _plan_ids(runs: Sequence[Run]) -> list[str]:
    return [content_id(path) if (path := run.path / PLAN).exists() else "" for run in runs]
