"""What `run` does with models, and its results: a run with its counts, a lead, a described benchmark."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from rich.console import Group, RenderableType

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import write_items
from eyetest.commands.base import observer
from eyetest.commands.lazy import cards, printed
from eyetest.commands.results import Lines, Result, Written, estimates
from eyetest.errors import InputError, counted, heading, param, typed
from eyetest.prompts.building import description_prompt
from eyetest.prompts.sets import Prompts
from eyetest.records import Item, ModelEntry, Prompt
from eyetest.records.recipe import BENCHMARK, RUN
from eyetest.redaction import redact
from eyetest.results import suspects
from eyetest.running import Estimate, Limits, Progress, Session
from eyetest.running.execution import Race
from eyetest.running.limits import INTERRUPTED, line, refuse_unpriced
from eyetest.running.session import Questions
from eyetest.runs import Run
from eyetest.runs.stored import NOT_THE_QUESTION, answers_frame, read_beside_writers, served_notes


def execute(session: Session, to: Path) -> "RunResult":
    """Ask everything that has no answer yet; however it ends, the same call continues."""

    def planned(estimate: Estimate) -> None:
        observer().planned("", estimate)
        given, samples = session.asking.sampling, session.asking.samples
        cold = [m.name for m in session.models if not given.get("temperature", m.settings.get("temperature"))]
        if samples > 1 and cold:
            observer().note(f"{samples} samples of {cold[0]} at temperature 0 are alike; see {param('temperature')}")

    progress = session.run(to, watch=observer().watch, planned=planned)
    for note in read_beside_writers(lambda: served_notes(to, session.entries)):
        observer().note(note)
    result = RaceResult(to, progress, session.race) if session.race else RunResult(to, progress)
    if progress.done:
        suspicious = read_beside_writers(lambda: suspects.suspicious_replies(result, session.benchmark))
        result.notes = [*result.notes, *suspicious]
    observer().ended(result.notes, interrupted=progress.stopped == INTERRUPTED)
    return result


def notes_on(progress: Progress, to: Path) -> list[str]:
    """What is missing after models were asked, and what to do next."""
    notes = [redact(f"{name} was given up: {why}") for name, why in progress.abandoned.items()]
    if progress.left and progress.stopped:
        why = "" if progress.abandoned else f"{progress.stopped}; "
        notes.append(f"{why}{counted(progress.left, 'call')} left; run the same again to continue")
    if lasting := sum(count for kind, count in progress.failures.items() if kind not in NOT_THE_QUESTION):
        again = f"{param('retry_failed', True)} asks them again, {typed('eyetest', 'show', to)} lists the reasons"
        notes.append(f"{counted(lasting, 'call')} failed; {again}")
    return notes


def exit_code_of(progress: Progress) -> int:
    """130 after an interrupt; 2 where a model was given up or every call failed."""
    if progress.stopped == INTERRUPTED:
        return 130
    failed = progress.outcomes["failed"]
    return 2 if progress.abandoned or (failed and failed == progress.done) else 0


class RunResult(Run, Result):
    """A run, and what the command that asked it came to."""

    def __init__(self, path: Path, progress: Progress) -> None:
        super().__init__(path)
        self.progress, self.notes, self.exit_code = progress, notes_on(progress, path), exit_code_of(progress)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """How many answers there are, by model, condition and outcome."""
        keys = ["model", "modality", "ask", "outcome"]
        counts = answers_frame(self.path).group_by(pl.col(keys).cast(pl.String)).agg(pl.len().alias("answers"))
        return counts.sort(keys).collect(engine="streaming")

    def as_json(self) -> Any:
        """The counts of the run and of this call."""
        counts = ("to_ask", "done", "left", "stored", "saved", "refused", "tokens_in", "tokens_out", "money")
        words = ("outcomes", "failures", "retries", "stopped", "abandoned")
        known = {name: getattr(self.progress, name) for name in (*counts, *words)}
        return {"run": str(self.path), **known, "rows": self.frame.to_dicts(), "notes": list(self.notes)}

    def __rich__(self) -> RenderableType:
        if not self.progress.to_ask:
            return Lines(f"nothing to ask: {counted(self.progress.stored, 'answer')} in {self.path} already")
        return Lines(f"{line(self.progress, over=True)} → {self.path}")


class RaceResult(RunResult):
    """Which of two models leads (empty for none), the bounds of the lead, both scores, and the run."""

    def __init__(self, path: Path, progress: Progress, race: Race) -> None:
        super().__init__(path, progress)
        self.leader, self.lead, self.verdict = race.leader, race.lead.bounds, race.finding
        observed, items = race.lead.observed, race.lead.items
        self.frame = pl.DataFrame(
            [
                {"model": name, "score": score, "score_low": low, "score_high": high, "n": observed, "of": items}
                for name, score, low, high in race.scores
            ]
        )

    def as_json(self) -> Any:
        """The lead, both scores, and the counts of the run."""
        lead = {"leader": self.leader or None, "lead_low": self.lead[0], "lead_high": self.lead[1]}
        run = RunResult(self.path, self.progress).as_json() | {"notes": list(self.notes)}
        return lead | {"verdict": self.verdict, "scores": printed.plain(self.frame).to_dicts(), "run": run}

    def __rich__(self) -> RenderableType:
        return Group(estimates(self.frame), "", Lines(self.verdict), super().__rich__())

    def __repr__(self) -> str:
        return "\n".join([self.verdict, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return cards.card(self.verdict, self.frame, self.notes)


def describe(
    benchmark: Benchmark,
    describer: Mapping[str, ModelEntry],
    to: Path,
    limits: Limits,
    prompts: Prompts,
    *,
    again: bool = False,
    retry_failed: bool = False,
) -> "DescribeResult":
    """Have a model describe the images of every item without showing it a question, and store the descriptions."""

    def wanted() -> Iterator[Item]:
        return (item for item in benchmark if item.images and (again or not item.description))

    if len(describer) != 1:
        raise InputError(f"{heading('describe')}: found {len(describer)} models, expected one")
    from eyetest.recipes.refining import refuse_foreign

    refuse_foreign(to)
    refuse_unpriced(limits, describer)
    if not any(item.images for item in benchmark):
        raise InputError(f"{benchmark.path}: no item has an image")
    if not (ids := [item.id for item in wanted()]):
        repair = f"{param('overwrite', True)} describes them again"
        raise InputError(f"{benchmark.path}: every item with an image has a description already; {repair}")
    (name,) = describer
    questions = Questions(to / RUN, benchmark, dict(describer), limits, retry_failed=retry_failed)

    def asked() -> Iterator[tuple[Item, Prompt]]:
        return ((item, description_prompt(item, prompts.of(item))) for item in wanted())

    replies, progress = questions.ask(name, asked, "describe", observer().watch, prompts.recorded)
    texts = {
        item: text
        for item, response in zip(ids, replies, strict=True)
        if response is not None and response.outcome in ("answered", "truncated")
        if (text := (response.text or "").strip())
    }
    notes, written = notes_on(progress, to / RUN), None
    if not progress.abandoned and not (progress.left and progress.stopped):
        how = f", prompts {prompts.roles}" if prompts.recorded else ""
        manifest = benchmark.manifest.derived("describe", f"described by {name}{how}")
        described = (
            msgspec.structs.replace(item, description=texts.get(item.id, item.description)) for item in benchmark
        )
        written = write_items(to / BENCHMARK, described, benchmark, manifest, overwrite=True)
        if missing := len(ids) - len(texts):
            failed = f"the call failed or was refused ({param('retry_failed', True)})"
            notes = [f"{counted(missing, 'item')} without a description: {failed}"]
    facts = {"describer": name, "described": len(texts), "missing": len(ids) - len(texts)}
    observer().ended(notes, interrupted=progress.stopped == INTERRUPTED)
    return DescribeResult(written, facts, notes, 0 if written else exit_code_of(progress) or 130)


class DescribeResult(Written):
    """A benchmark with a description of every image; ``benchmark`` is None while some are missing."""

    def __init__(
        self, benchmark: Benchmark | None, facts: Mapping[str, Any], notes: Sequence[str], exit_code: int
    ) -> None:
        path = str(benchmark.path) if benchmark else None
        line = f"{counted(facts['described'], 'description')} by {facts['describer']}"
        super().__init__(f"{line} → {path}" if path else line, {"benchmark": path, **facts}, notes)
        self.benchmark, self.exit_code = benchmark, exit_code
