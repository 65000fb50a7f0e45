"""Run folders become one. The target is a run when its ``run.json`` is there, which is written last.

What a killed merge left where no run is yet is swept by the next. Into a run that is there answers are added: what it
holds stands first.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from secrets import token_hex

import msgspec
import polars as pl

from eyetest.errors import InputError, as_said, short
from eyetest.records import RunBenchmark, RunStep
from eyetest.runs.folder import SENTENCES, Run, RunWriter, is_run
from eyetest.runs.merging.answers import AnswersOfRuns, packed
from eyetest.runs.merging.choosing import Preference
from eyetest.runs.merging.differences import answers_differ, models_differ, named
from eyetest.runs.merging.entries import united_entries
from eyetest.runs.merging.plans import PlansOfRuns
from eyetest.runs.parts import content_id, next_part, part_names, refuse_lost, sealed
from eyetest.runs.plan import PLAN
from eyetest.store import replacing_file, store_of
from eyetest.tabular.record_files import write_parquet
from eyetest.wording import counted

STEP = "merge"
FROM = "from"
"""The option of a step that says which run it was done to."""
_WRITER = "merged"


class MergedRuns(msgspec.Struct, kw_only=True):
    """What came of a merge."""

    models: int = 0
    planned: int = 0
    """Calls that are planned in the merged run."""
    brought: dict[str, int] = {}
    """By run: the answers that it brought."""
    there: int = 0
    """Answers that another run's stand for."""
    gave_way: int = 0
    """Failures that gave way to an answer."""
    decided: int = 0
    """Questions that were answered differently, of which the preferred answer was taken."""
    new: bool = False
    """Whether anything changed."""


def merge_runs(
    runs: Sequence[Run],
    to: Path,
    about: RunBenchmark | None,
    prefer: Preference | None,
    tell: Callable[[str], None],
    complete: Callable[[], None],
) -> MergedRuns:
    """Put runs about one benchmark together in one folder.

    ``tell`` hears what was decided. ``complete`` adds what else belongs to the folder, before it counts as a run.
    """
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
                raise InputError(f"{to} was written by somebody else meanwhile; merge again")
            _sweep(to)
        return merging.write(writer, about, complete)


class _Merging:
    """One merge: what was found, then what is written."""

    def __init__(
        self, runs: Sequence[Run], known: int, prefer: Preference | None, tell: Callable[[str], None]
    ) -> None:
        self.runs, self.known = runs, known
        paths = [run.path for run in runs]
        for run in runs:
            refuse_lost(run.path, run.manifest.parts)
        self._plan_ids = _plan_ids(runs)
        newest = sorted(runs, key=_last_time, reverse=True) if prefer == "newest" else runs
        self.entries, differing = united_entries([(named(run), run.manifest.models) for run in newest])
        if differing and not prefer:
            raise InputError(models_differ(differing, runs[-1]))
        for name, why in differing.items():
            tell(f"model {short(name)}: {why}; what the {prefer} run says was taken")
        self.answers = AnswersOfRuns(paths, prefer)
        for run, torn in zip(runs, self.answers.torn, strict=True):
            if torn:
                tell(f"{run.path}: {counted(torn, 'line')} of its journal cut off or damaged, and left out")
        self.plans = PlansOfRuns(paths, self.answers, prefer)
        if (self.answers.differing or self.plans.differing) and not prefer:
            raise InputError(answers_differ(runs, self.answers, self.plans))

    def write(self, writer: RunWriter, about: RunBenchmark | None, complete: Callable[[], None]) -> MergedRuns:
        """Answers first, then the plan, then ``run.json``: what is there meanwhile is less, never wrong."""
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
        """What judges said of sentences, as far as it is about the answers that count."""
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
        """What was done to each run, and to which; what the target has of it already does not come again."""
        for run in self.runs[self.known :]:
            for step in run.manifest.steps:
                told = msgspec.structs.replace(step, options={FROM: as_said(str(run.path))} | step.options)
                if step not in there and told not in there:
                    yield told

    def _step(self, merged: MergedRuns) -> RunStep:
        last = [run.manifest.steps[-1] for run in self.runs if run.manifest.steps]
        reasons: Counter[str] = Counter()
        for step in last:
            reasons.update(step.not_applicable)
        options = {"runs": ", ".join(merged.brought)}
        if merged.decided:
            options["decided"] = str(merged.decided)
        return RunStep(
            what=STEP,
            options=options,
            planned=self.plans.brought(self.known),
            requests=sum(merged.brought.values()),
            saved=sum(step.saved for step in last),
            not_applicable=dict(reasons),
        )


def _sweep(to: Path) -> None:
    """Remove what a killed merge left."""
    for name in part_names(to):
        if name.writer.startswith(_WRITER):
            store_of(to).remove(sealed(to, name))
    store_of(to).remove(to / PLAN)


def _plan_ids(runs: Sequence[Run]) -> list[str]:
    return [content_id(path) if (path := run.path / PLAN).exists() else "" for run in runs]


def _last_time(run: Run) -> str:
    return run.manifest.steps[-1].time if run.manifest.steps else ""
