"""Options for items outside recipes: `harden options` in a folder, and options that models write."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import refuse_to_replace
from eyetest.errors import InputError, counted, heading, param, typed
from eyetest.harden.options.growing import GrownOptions, grow_options
from eyetest.harden.options.record import FOUND, OptionSettings
from eyetest.models.specs import parse_models
from eyetest.prompts.sets import load_prompts
from eyetest.recipes.loading import refuse_others
from eyetest.recipes.panels import StoppedEarly
from eyetest.records import Item, Prompt, Response
from eyetest.records.recipe import BENCHMARK, RUN
from eyetest.reform.building import Reforming
from eyetest.reform.building import reform as build
from eyetest.reform.distractors.written import Case, OptionAuthors, write_distractors
from eyetest.reform.readers import read_annotations
from eyetest.reform.reformers import Kit
from eyetest.reform.reformers.answers import OPEN_ANSWERS, OpenAnswerSettings, open_questions
from eyetest.running.session import Questions, Watch
from eyetest.store import write_json

OPTIONS_RECORD = "options.json"  # who wrote which options


def write_options(
    benchmark: Benchmark,
    folder: Path,
    settings: OptionSettings,
    authors: OptionAuthors | None = None,
    *,
    tell: Callable[[str], None] = lambda line: None,
) -> GrownOptions:
    """Give items more options in a folder; ``tell`` reports work that takes a while."""
    refuse_others(folder, "writing options", {BENCHMARK, OPTIONS_RECORD, RUN}, BENCHMARK)
    if benchmark.path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{heading('to')}: {folder} holds the benchmark itself; name another folder")
    tell("choosing options")
    grown = grow_options(benchmark, folder / BENCHMARK, settings, authors=authors, overwrite=True)
    write_json(folder / OPTIONS_RECORD, grown.record)
    return grown


def option_notes(done: GrownOptions) -> Iterator[str]:
    """Notes for the user: authors of options, rejections, accuracy without images, items for people."""
    record = done.record
    if found := record.outcomes.get(FOUND):
        grown = sum(entry.outcome != "left alone" for entry in record.items)
        yield (
            f"grown {grown:,} of {len(record.items):,}; {found:,} keep their options because {FOUND}: "
            "they need a writer model or people"
        )
    if record.authors:
        yield "new options: " + ", ".join(f"{count:,} by {author}" for author, count in record.authors.items())
    if record.turned_down:
        yield "rejected: " + ", ".join(f"{why} {count:,}" for why, count in record.turned_down.items())
    yield from (f"{what}: {count:,}" for what, count in record.unread.items())
    if done.verdicts:
        yield f"{counted(len(done.verdicts), 'item')} for people: {typed('eyetest', 'review', done.benchmark.path)}"


SeatAuthors = Callable[[Path, Benchmark, Watch | None], OptionAuthors]
"""Makes models ready to be asked; a run keeps their answers. `StoppedEarly` if asking ends early."""


def authors_of(
    writer: str | None, checker: str | None, models: str | Path | None, prompts: str | None = None
) -> SeatAuthors | None:
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
    chosen = load_prompts(prompts)

    def seated(run: Path, benchmark: Benchmark, watch: Watch | None) -> OptionAuthors:
        questions = Questions(run, benchmark, {first: writing, second: checking})

        def ask(name: str, asked: Sequence[tuple[Item, Prompt]]) -> Iterable[Response | None]:
            replies, progress = questions.ask(name, lambda: asked, "distractors", watch, chosen.recorded)
            if progress.stopped or progress.abandoned:
                raise StoppedEarly(progress)
            return replies

        return OptionAuthors(ask, first, second, chosen)

    return seated


def write_open_options(plan: Reforming, authors: SeatAuthors, kit: Kit, watch: Watch | None = None) -> None:
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
    asked = msgspec.structs.replace(plan, to=folder / "questions", overwrite=True)
    benchmark = build(asked, drafting=open_questions).benchmark
    wanted = [Case(item, item.references[0], need=settings.options - 1) for item in benchmark]
    seated = authors(folder / RUN, benchmark, watch)
    done = write_distractors(wanted, seated)
    kit.written = done.by_item
    down = "; ".join(f"{reason}: {count:,}" for reason, count in done.turned_down.most_common())
    kept = f"{counted(sum(map(len, done.by_item.values())), 'distractor')} of {counted(len(benchmark), 'question')}"
    kit.note(f"{kept} by {seated.writer}, checked by {seated.checker}{f' (rejected: {down})' if down else ''}")
