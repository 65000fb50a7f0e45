"""A model writes options and another one checks them: for `harden options`, and for datasets with open answers."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import refuse_to_replace
from eyetest.errors import InputError, heading, param
from eyetest.harden.options import OptionAuthors
from eyetest.models.specs import parse_models
from eyetest.recipes.sources import StoppedEarly
from eyetest.records import Item, ModelEntry, Prompt, Response
from eyetest.reform.building import Reforming
from eyetest.reform.building import reform as build
from eyetest.reform.distractors.written import WantedOptions, write_distractors
from eyetest.reform.readers import read_annotations
from eyetest.reform.reformers import Kit
from eyetest.reform.reformers.answers import OPEN_ANSWERS, OpenAnswerSettings, open_questions
from eyetest.running.session import Questions, Watch
from eyetest.wording import counted

_QUESTIONS, _RUN = "questions", "run"


class Authors(NamedTuple):
    """The models that write and check options."""

    writer: str
    checker: str
    entries: dict[str, ModelEntry]

    def seated(self, run: Path, benchmark: Benchmark, watch: Watch | None = None) -> OptionAuthors:
        """The models, ready to be asked; a run keeps their answers. `StoppedEarly` if asking ends early."""
        questions = Questions(run, benchmark, self.entries)

        def ask(name: str, prompts: Sequence[tuple[Item, Prompt]]) -> Iterable[Response | None]:
            replies, progress = questions.ask(name, lambda: prompts, "distractors", watch)
            if progress.stopped or progress.abandoned:
                raise StoppedEarly(progress)
            return replies

        return OptionAuthors(ask, self.writer, self.checker)


def authors_of(writer: str | None, checker: str | None, models: str | Path | None) -> Authors | None:
    """The models that write and check options, by specs or names in a file of models; None without any."""
    if writer is None and checker is None:
        return None
    if writer is None or checker is None:
        raise InputError(f"{param('writer')} writes options and {param('checker')} checks them: name both")
    file = Path(models) if models is not None else None
    (first, writing), (second, checking) = (
        next(iter(parse_models([spec], file).items())) for spec in (writer, checker)
    )
    if writing.spec == checking.spec or first == second:
        raise InputError(f"{heading('checker')}: {checker} cannot check its own options; name another")
    return Authors(first, second, {first: writing, second: checking})


def write_open_options(plan: Reforming, authors: Authors, kit: Kit, watch: Watch | None = None) -> None:
    """Add options that models write to the kit; the run is kept beside the benchmark."""
    reading, settings = plan.dataset.checked(plan.dataset.name)
    if plan.dataset.reformer != OPEN_ANSWERS or not isinstance(settings, OpenAnswerSettings):
        raise InputError(f"{heading('writer')}: only {OPEN_ANSWERS} needs a model, not {plan.dataset.reformer}")
    if "model" not in settings.sources:
        excluded = param("set", "sources=…")
        raise InputError(f"{heading('writer')}: the settings exclude options of a model ({excluded})")
    refuse_to_replace(plan.to, overwrite=plan.overwrite)
    annotations = read_annotations(plan.dataset.reader, plan.annotations, reading)
    if next(open_questions(annotations, settings, kit), None) is None:
        kit.note("every question has distractors by rule: no model was asked")
        return
    folder = plan.to.with_name(f"{plan.to.name}-run")
    asked = msgspec.structs.replace(plan, to=folder / _QUESTIONS, overwrite=True)
    benchmark = build(asked, drafting=open_questions).benchmark
    wanted = [
        WantedOptions(item=item, gold=item.references[0], right=item.references[1:], count=settings.options - 1)
        for item in benchmark
    ]
    names = authors.writer, authors.checker
    done = write_distractors(wanted, authors.seated(folder / _RUN, benchmark, watch).ask, names)
    kit.written = done.by_item
    down = "; ".join(f"{reason}: {count:,}" for reason, count in done.turned_down.most_common())
    kept = f"{counted(done.kept, 'distractor')} of {counted(len(benchmark), 'question')}"
    kit.note(f"{kept} by {names[0]}, checked by {names[1]}{f' (rejected: {down})' if down else ''}")
