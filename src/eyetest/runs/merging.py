"""Several runs become one: answers by request, plans by `Asked`, models by name, steps with their origin.

Nothing is decided silently: different answers of two runs are counted and refused, unless the user says which counts.
The target is a run once its ``run.json`` exists, which is written last; what a killed merge left before that is
removed by the next. An existing run is extended: its own answers come first.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from secrets import token_hex

import msgspec
import polars as pl

from eyetest.errors import InputError, as_said, param, short
from eyetest.records import ModelEntry, RunBenchmark, RunStep
from eyetest.runs.folder import SENTENCES, Run, RunWriter, is_run
from eyetest.runs.journal import content_id, next_part, part_names, refuse_lost, sealed
from eyetest.runs.merged_answers import AnswersOfRuns, PlansOfRuns, Preference, packed
from eyetest.runs.plan import PLAN
from eyetest.store import replacing_file, store_of
from eyetest.tabular.record_files import write_parquet
from eyetest.wording import counted, listed, typed

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
    said_by: dict[str, str] = {}
    differing: dict[str, str] = {}
    for run, models in runs:
        for name, entry in models.items():
            mine = entries.setdefault(name, entry)
            first = said_by.setdefault(name, run)
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
        is_compared = all(who) if field in _ASKED else all(map(_is_said, values))
        if field not in _REACHED and is_compared and values[0] != values[1]:
            return field
    return ""


def _completed(mine: ModelEntry, other: ModelEntry) -> ModelEntry:
    taken = _ASKED if not _model_named(mine.spec) else ()
    missing = {
        field: getattr(other, field)
        for field in mine.__struct_fields__
        if field in taken or (field not in _ASKED and not _is_said(getattr(mine, field)))
    }
    if taken:
        missing["spec"] = other.spec
    return msgspec.structs.replace(mine, **missing)


def _model_named(spec: str) -> str:
    """The model that a spec names, wherever it is reached; empty where only its answers are known."""
    return "" if spec.startswith(_REPLAY) else _ADDRESS.sub("", spec)


def _is_said(value: object) -> bool:
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
        told = []
        for claims in answers.differing_rows(_SHOWN):
            words = [f"{_said(row)} in {named(runs[run])}" for run, row in claims]
            told.append(f"{_asked(runs, str(claims[0][1]['request']))}: {listed(words)}")
        both.append(f"{counted(number, 'request')} answered differently ({'; '.join(told)})")
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


def _said(row: Mapping[str, object]) -> str:
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
            brought=dict(zip((as_said(str(run.path)) for run in self.runs[self.known :]), brought, strict=True)),
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
                known = self.answers.standing(packed(table.select("request").to_arrow().column(0)))
                labels.append(table.filter(pl.Series(~known.differs | (known.run == number))))
        if labels:
            with replacing_file(to / SENTENCES) as temporary:
                pl.concat(labels).unique("request", keep="first", maintain_order=True).write_parquet(temporary)

    def _steps(self, there: Sequence[RunStep]) -> Iterator[RunStep]:
        """The steps of each run with its origin, except those that the target has already."""
        for run in self.runs[self.known :]:
            for step in run.manifest.steps:
                told = msgspec.structs.replace(step, options={FROM: as_said(str(run.path))} | step.options)
                if step not in there and told not in there:
                    yield told

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
