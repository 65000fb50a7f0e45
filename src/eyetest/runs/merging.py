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
from typing import Literal, get_args

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from eyetest.errors import InputError, as_named, param, short
from eyetest.records import Asked, ModelEntry, RunBenchmark, RunStep, columns
from eyetest.records.request import failure_notice
from eyetest.runs.folder import SENTENCES, Run, RunWriter, is_run
from eyetest.runs.journal import SCHEMA, PartName, content_id, next_part, part_names, refuse_lost, sealed
from eyetest.runs.stored import PLAN, chosen_tables, plan_tables, read_part, refuse_if_all_is_damaged, tell_damage
from eyetest.store import replacing_file, store_of
from eyetest.tabular.record_files import indices, write_parquet
from eyetest.wording import counted, listed, typed

Preference = Literal["first", "newest"]  # ``first``: of the run named first, or there before; ``newest``: the last
PREFERENCES: tuple[Preference, ...] = get_args(Preference)
NOTHING, FAILED, ANSWERED = 0, 1, 2  # the quality of a row; a better one replaces the others
_CONTENT = ("outcome", "text", "candidates", "given")  # what makes two answers different; their duration does not
_READ = ("request", *_CONTENT, "time")
_ROWS_A_PART = 20_000
_BYTES_A_PART = 64 * 2**20
_KEY = ["key", "key_2"]  # 128 bits of a request's or an `Asked`'s hash
_STANDING = {"rank": pl.Int8, "content": pl.UInt64, "latest": pl.Float64, "run": pl.Int16, "differs": pl.Boolean}


def key_of(*names: str) -> list[pl.Expr]:
    """The hash of some columns, in two halves."""
    column = pl.col(*names) if len(names) == 1 else pl.struct(names)
    return [column.hash(seed).alias(half) for seed, half in enumerate(_KEY, 1)]


def choose(claims: pl.DataFrame, prefer: Preference | None) -> pl.DataFrame:
    """Of rows with one key, in the order of runs, the one that counts: the first, or newest, of the best."""
    best, worst = pl.col("rank").max().over(_KEY).alias("best"), pl.col("rank").min().over(_KEY).alias("worst")
    rows = claims.with_columns(best, worst).filter(pl.col("rank") == pl.col("best"))
    content, is_answered = pl.col("content"), pl.col("best").first() == ANSWERED
    chosen = rows.group_by(_KEY, maintain_order=True).agg(
        pl.col("row").first(),
        ((content.min() != content.max()) & is_answered).alias("differs"),
        pl.col("time").max().alias("latest"),
        (is_answered & (pl.col("worst").first() == FAILED)).alias("gave_way"),
    )
    if prefer == "newest" and chosen["differs"].any():
        newest = rows.sort("time", descending=True, maintain_order=True).unique(
            _KEY, keep="first", maintain_order=True
        )
        chosen = chosen.join(newest.select(*_KEY, newest="row"), on=_KEY, maintain_order="left")
        chosen = chosen.with_columns(pl.when("differs").then("newest").otherwise("row").alias("row"))
    return chosen


class AnswersOfRuns:
    """The answers of several runs, and which of them count."""

    def __init__(self, folders: Sequence[Path], prefer: Preference | None) -> None:
        self._folders, self._parts = folders, list[tuple[int, PartName]]()
        self.torn, self.notices = [0] * len(folders), 0
        self._starts, frames = [0], [_claims(SCHEMA.empty_table().select(_READ), 0, 0)]
        for run, folder in enumerate(folders):
            refuse_if_all_is_damaged(folder)
            for name in part_names(folder):
                part = read_part(folder, name, _READ)
                tell_damage(part)
                self.torn[run] += part.torn
                if part.table is not None and len(part.table):
                    frames.append(_claims(part.table, run, self._starts[-1]))
                    self.notices += int(frames[-1]["notice"].sum())
                    self._parts.append((run, name))
                    self._starts.append(self._starts[-1] + len(part.table))
        everything = pl.concat(frames).drop("notice")
        # A run's last answer to a request counts, as everywhere; then runs are compared
        self._claims = everything.unique([*_KEY, "run"], keep="last", maintain_order=True)
        chosen = choose(self._claims, prefer)
        self.differing, self.gave_way = int(chosen["differs"].sum()), int(chosen["gave_way"].sum())
        self.shared = len(self._claims) - len(
            chosen
        )  # answers that another run's replaces: all but one of each request
        self._differing = chosen.filter("differs").select(_KEY)
        about = self._claims.select("row", "rank", "content", "run")
        self._chosen = chosen.select(*_KEY, "row", "latest", "differs").join(about, on="row", maintain_order="left")

    def standing(self, requests: pl.DataFrame) -> pl.DataFrame:
        """A frame with keys of requests, and the rank, content, time and run of the answer that counts for each."""
        known = requests.join(self._chosen.select(*_KEY, *_STANDING), on=_KEY, how="left", maintain_order="left")
        return known.with_columns(pl.col(name).fill_null(pl.lit(0).cast(kind)) for name, kind in _STANDING.items())

    def brought(self, known: int) -> list[int]:
        """How many of the counting answers each run beyond the first ``known`` contributes."""
        counts = np.bincount(self._chosen["run"].to_numpy(), minlength=len(self._folders))
        return [*map(int, counts[known:])]

    def tables(self, known: int) -> Iterator[pa.Table]:
        """Those answers, in tables of the size of a part."""
        rows = self._chosen["row"].sort().to_numpy()
        waiting: list[pa.Table] = []
        for number, (run, _) in enumerate(self._parts):
            first, last = np.searchsorted(rows, self._starts[number : number + 2])
            if run < known or first == last:
                continue
            taken = self._take(number, rows[first:last])
            for start in range(0, len(taken), _ROWS_A_PART):
                waiting.append(taken.slice(start, _ROWS_A_PART))
                if sum(map(len, waiting)) >= _ROWS_A_PART or sum(t.nbytes for t in waiting) >= _BYTES_A_PART:
                    yield pa.concat_tables(waiting)
                    waiting = []
        if waiting:
            yield pa.concat_tables(waiting)

    def differing_rows(self, most: int) -> Iterator[list[tuple[int, dict[str, object]]]]:
        """The first requests with different answers: each run's answer."""
        for claims in self._differing.head(most).iter_slices(1):
            rows = self._claims.join(claims, on=_KEY, how="semi", maintain_order="left")["row"].to_numpy()
            parts = np.searchsorted(self._starts, rows, side="right") - 1
            yield [
                (self._parts[part][0], self._take(part, rows[at : at + 1]).to_pylist()[0])
                for at, part in enumerate(parts.tolist())
            ]

    def _take(self, number: int, rows: NDArray[np.int64]) -> pa.Table:
        run, name = self._parts[number]
        table = read_part(self._folders[run], name).table
        assert table is not None, "it was read before"
        return _as_failures(table.take(indices(rows - self._starts[number])).replace_schema_metadata())


def _claims(table: pa.Table, run: int, start: int) -> pl.DataFrame:
    """The answers of a part without their texts: key, quality, content, time and place."""
    frame = pl.DataFrame(pl.from_arrow(table))
    notice = pl.Series("notice", [bool(kind) for kind in _notices(frame)], pl.Boolean)
    failed = (pl.col("outcome") == "failed") | notice
    return frame.select(
        *key_of("request"),
        pl.when(failed).then(FAILED).otherwise(ANSWERED).cast(pl.Int8).alias("rank"),
        pl.struct(_CONTENT).hash().alias("content"),
        pl.col("time").fill_null(0.0),
        pl.lit(run, pl.Int16).alias("run"),
        pl.int_range(start, start + pl.len(), dtype=pl.Int64).alias("row"),
        notice,
    )


def _notices(frame: pl.DataFrame) -> list[str]:
    """Why each call failed whose stored answer is only a notice."""
    answers = frame.select("outcome", "text").iter_rows()
    return [failure_notice(text or "") if outcome == "answered" else "" for outcome, text in answers]


def _as_failures(table: pa.Table) -> pa.Table:
    """The answers, with notices as failed calls."""
    frame = pl.DataFrame(pl.from_arrow(table))
    kinds = pl.Series(_notices(frame), dtype=pl.String)
    if not any(kinds):
        return table
    failed: dict[str, pl.Expr | pl.Series] = {"outcome": pl.lit("failed"), "error": kinds, "detail": pl.col("text")}
    failed |= {"text": pl.lit(None, pl.String), "given": pl.lit(None, pl.Float64)}
    changed = (pl.when(kinds != "").then(new).otherwise(name).alias(name) for name, new in failed.items())
    return frame.with_columns(changed).to_arrow(compat_level=pl.CompatLevel.oldest()).cast(table.schema)


class PlansOfRuns:
    """The rows of several plans, and which of them count."""

    def __init__(self, folders: Sequence[Path], answers: AnswersOfRuns, prefer: Preference | None) -> None:
        self._folders, self._ends = folders, [0]
        frames = [pl.DataFrame(schema=dict.fromkeys((*_KEY, "asked", "asked_2"), pl.UInt64))]
        for folder in folders:
            for table in plan_tables(folder):
                frame = pl.DataFrame(pl.from_arrow(table))
                asked = (
                    key.alias(name) for key, name in zip(key_of(*columns(Asked)), ("asked", "asked_2"), strict=True)
                )
                frames.append(frame.select(*key_of("request"), *asked))
            self._ends.append(sum(map(len, frames)))
        rows = answers.standing(pl.concat(frames)).with_row_index("row").drop(_KEY)
        # The first run that answered it comes first, not the first that planned it
        whose = pl.when(pl.col("rank") == ANSWERED).then("run").otherwise(0)
        ordered = rows.rename({"asked": "key", "asked_2": "key_2", "latest": "time"}).sort(whose, maintain_order=True)
        chosen = choose(ordered, prefer)
        self._is_chosen = self._mask(chosen["row"])
        self._differing = chosen.filter("differs")["row"].sort()
        self.rows, self.differing = len(chosen), len(self._differing)

    def _mask(self, rows: pl.Series) -> NDArray[np.bool_]:
        mask = np.zeros(self._ends[-1], bool)
        mask[rows.to_numpy()] = True
        return mask

    def tables(self, known: int) -> Iterator[pa.Table]:
        """The counting rows of runs beyond the first ``known``."""
        for run in range(known, len(self._folders)):
            yield from self._taken(run, self._is_chosen)

    def brought(self, known: int) -> int:
        """The number of those rows."""
        return int(self._is_chosen[self._ends[known] :].sum())

    def differing_rows(self, most: int) -> Iterator[dict[str, object]]:
        """The first rows that runs planned under different requests with different answers."""
        wanted = self._mask(self._differing.head(most))
        for run in range(len(self._folders)):
            for table in self._taken(run, wanted):
                yield from table.to_pylist()

    def _taken(self, run: int, wanted: NDArray[np.bool_]) -> Iterator[pa.Table]:
        mine = wanted[self._ends[run] : self._ends[run + 1]]
        return chosen_tables(self._folders[run], mine) if mine.any() else iter(())


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


def models_differ(differing: Mapping[str, str], last: Run) -> str:
    """An error: a name stands for two models, or for two settings of one."""
    name, why = next(iter(differing.items()))
    others = f" (and {len(differing) - 1:,} more models)" if len(differing) > 1 else ""
    rename = typed("eyetest", "merge", last.path, "--rename", f"{name}=NEW")
    found = f"model {short(name)} is not the same in all runs{others}: {why}"
    return f"{found}; if they are two, rename one: {rename}; if they are one, {_decides()}"


def answers_differ(runs: Sequence[Run], answers: AnswersOfRuns, plans: PlansOfRuns) -> str:
    """An error: the same request was answered differently."""
    both = []
    if number := answers.differing:
        examples = []
        for claims in answers.differing_rows(_SHOWN):
            words = [f"{_reply_words(row)} in {named(runs[run])}" for run, row in claims]
            examples.append(f"{_asked(runs, str(claims[0][1]['request']))}: {listed(words)}")
        both.append(f"{counted(number, 'request')} answered differently ({'; '.join(examples)})")
    if number := plans.differing:
        rows = "; ".join(_who(row) for row in plans.differing_rows(_SHOWN))
        both.append(f"{counted(number, 'question')} put with other settings and answered differently ({rows})")
    return f"the runs differ: {' and '.join(both)}; {_decides()}"


def named(run: Run) -> str:
    """A run in a message that names several."""
    text = str(run.path)
    return text if len(text) <= _LONGEST_PATH else f"…{text[1 - _LONGEST_PATH :]}"


def _decides() -> str:
    return f"{param('prefer', 'first')} or {param('prefer', 'newest')} decides"


def _asked(runs: Sequence[Run], request: str) -> str:
    """The `Asked` of a request; a judge's requests are in no plan."""
    for run in runs:
        if (run.path / PLAN).exists():
            rows = pl.scan_parquet(run.path / PLAN, glob=False).filter(pl.col("request") == request).head(1)
            if len(row := rows.collect()):
                return _who(row.to_dicts()[0])
    return f"request {request[:8]}"


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
        self.entries, differing = united_entries([(named(run), run.manifest.models) for run in newest])
        if differing and not prefer:
            raise InputError(models_differ(differing, runs[-1]))
        for name, why in differing.items():
            tell(f"model {short(name)}: {why}; what the {prefer} run says was taken")
        self.answers = AnswersOfRuns(paths, prefer)
        for run, torn in zip(runs, self.answers.torn, strict=True):
            if torn:
                tell(f"{run.path}: {counted(torn, 'line')} of its journal cut off or damaged, and left out")
        if self.answers.notices:
            tell(f"{counted(self.answers.notices, 'text')} only say that a call failed, and count as failed")
        self.plans = PlansOfRuns(paths, self.answers, prefer)
        if (self.answers.differing or self.plans.differing) and not prefer:
            raise InputError(answers_differ(runs, self.answers, self.plans))

    def write(self, writer: RunWriter, about: RunBenchmark | None, complete: Callable[[], None]) -> MergedRuns:
        """Write answers, then the plan, then ``run.json``: the state meanwhile is incomplete, never wrong."""
        to, answers, plans = writer.path, self.answers, self.plans
        steps = list(self._steps(writer.manifest.steps))
        brought = answers.brought(self.known)
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
                    for batch in table.to_batches():
                        plan.add_batch(batch)
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
                known = self.answers.standing(table.select(key_of("request")))
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
