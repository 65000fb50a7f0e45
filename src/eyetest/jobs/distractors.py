"""A model writes distractors for open questions and another one checks them, before a dataset is reformed."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from eyetest.benchmarks.folder import refuse_to_replace
from eyetest.errors import InputError, heading, param
from eyetest.jobs.opening import AnyPath, observer
from eyetest.models.specs import parse_models
from eyetest.recipes.sources import StoppedEarly
from eyetest.records import AskModel, Item, ModelEntry, Prompt, Response
from eyetest.reform.building import Reforming
from eyetest.reform.building import reform as build
from eyetest.reform.distractors.written import WantedOptions, WrittenDistractors, write_distractors
from eyetest.reform.readers import read_annotations
from eyetest.reform.reformers import Kit
from eyetest.reform.reformers.answers import OPEN_ANSWERS, OpenAnswerSettings, open_questions
from eyetest.running.session import Questions
from eyetest.wording import counted

_QUESTIONS, _RUN = "questions", "run"


class Authors(msgspec.Struct, frozen=True, kw_only=True):
    """Who writes distractors and who checks them: specs, or names in a file of models."""

    writer: str
    checker: str
    models: Path | None = None

    @property
    def entries(self) -> tuple[tuple[str, str], dict[str, ModelEntry]]:
        """The names of both, and how they are asked. Nobody checks what he wrote himself."""
        (writer, writing), (checker, checking) = (
            next(iter(parse_models([spec], self.models).items())) for spec in (self.writer, self.checker)
        )
        if writing.spec == checking.spec or writer == checker:
            raise InputError(f"{heading('checker')}: {self.checker} cannot check what it wrote itself; name another")
        return (writer, checker), {writer: writing, checker: checking}


def authors_of(writer: str | None, checker: str | None, models: AnyPath | None) -> Authors | None:
    """Who writes and who checks distractors, where somebody does; one without the other is a mistake."""
    if writer is None and checker is None:
        return None
    if writer is None or checker is None:
        raise InputError(f"{param('writer')} writes distractors and {param('checker')} checks them: name both")
    return Authors(writer=writer, checker=checker, models=Path(models) if models is not None else None)


def asking(questions: Questions) -> AskModel:
    """A way to ask that goes through a run's journal, and stops where it is told to."""

    def ask(name: str, prompts: Sequence[tuple[Item, Prompt]]) -> Iterable[Response | None]:
        said, progress = questions.ask(name, lambda: prompts, "distractors", observer().watch)
        if progress.stopped or progress.abandoned:
            raise StoppedEarly(progress)
        return said

    return ask


def have_written(plan: Reforming, authors: Authors, kit: Kit) -> None:
    """Put what models write into the kit. Answers lie in a run beside the benchmark, so nothing is asked twice."""
    reading, settings = _settings(plan)
    refuse_to_replace(plan.to, overwrite=plan.overwrite)
    (writer, checker), entries = authors.entries
    annotations = read_annotations(plan.dataset.reader, plan.annotations, reading)
    if next(open_questions(annotations, settings, kit), None) is None:
        observer().note("every question has distractors by rule: no model was asked")
        return
    folder = plan.to.with_name(f"{plan.to.name}-run")
    asked = msgspec.structs.replace(plan, to=folder / _QUESTIONS, overwrite=True)
    benchmark = build(asked, drafting=open_questions).benchmark
    ask = asking(Questions(folder / _RUN, benchmark, entries))
    wanted = [
        WantedOptions(item=item, gold=item.references[0], right=item.references[1:], count=settings.options - 1)
        for item in benchmark
    ]
    done = write_distractors(wanted, ask, (writer, checker))
    kit.written = done.by_item
    kit.note(_told(done, writer, checker, len(benchmark)))


def _settings(plan: Reforming) -> tuple[msgspec.Struct, OpenAnswerSettings]:
    reading, settings = plan.dataset.checked(plan.dataset.name)
    if plan.dataset.reformer != OPEN_ANSWERS or not isinstance(settings, OpenAnswerSettings):
        raise InputError(f"{heading('model')}: only {OPEN_ANSWERS} needs a model, not {plan.dataset.reformer}")
    if "model" not in settings.sources:
        raise InputError(
            f"{heading('model')}: the settings take no distractors of a model ({param('own', 'sources')})"
        )
    return reading, settings


def _told(done: WrittenDistractors, writer: str, checker: str, questions: int) -> str:
    down = "; ".join(f"{reason}: {count:,}" for reason, count in done.turned_down.most_common())
    kept = f"{counted(done.kept, 'distractor')} of {counted(questions, 'question')} by {writer}, checked by {checker}"
    return f"{kept} (turned down: {down})" if down else kept
