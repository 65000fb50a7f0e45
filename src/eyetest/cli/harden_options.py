"""``eyetest harden options``: four options become ten."""

from functools import partial
from pathlib import Path
from typing import Annotated

from rich.text import Text

from eyetest.cli.options import BenchArgument, FileOptions, JsonOption, option
from eyetest.cli.tables import show_table
from eyetest.cli.terminal import advise, out, print_json, program, safe
from eyetest.harden.options import OptionSettings
from eyetest.jobs import harden_options as job
from eyetest.jobs.opening import open_bench
from eyetest.records import MAX_CHOICES
from eyetest.review import DECISIONS, QUEUE
from eyetest.wording import counted, typed

models_panel = partial(option, panel="Who writes options and who checks them (without: rules alone)")


def options(
    bench: BenchArgument,
    to: Annotated[
        Path | None, option("--to", "The folder of the result. (default: BENCH-10-options beside BENCH)", "DIR")
    ] = None,
    option_count: Annotated[
        int, option("--option-count", "How many options an item shall have.", min=2, max=MAX_CHOICES)
    ] = OptionSettings().options,
    open_questions: Annotated[
        bool,
        option(
            "--open-questions", "Give options to questions that have none, where their answer is a number or listed."
        ),
    ] = False,
    seed: Annotated[int, option("--seed", "Random seed: of what is offered, and where the gold stands.", min=0)] = 0,
    writer: Annotated[
        str | None, models_panel("--writer", "A model that proposes options (see eyetest run).", "SPEC")
    ] = None,
    checker: Annotated[
        str | None, models_panel("--checker", "Another model, which turns down bad ones.", "SPEC")
    ] = None,
    writer_rounds: Annotated[
        int, models_panel("--writer-rounds", "How often the writer is asked for what is still missing.", min=1, max=9)
    ] = OptionSettings().rounds,
    models: Annotated[Path | None, models_panel("--models", "A models.yaml to take both from.", "FILE")] = None,
    skip_probes: Annotated[
        bool, option("--skip-probes", "Do not measure what can be guessed before and after.")
    ] = False,
    as_json: JsonOption = False,
    *,
    file: FileOptions,
) -> None:
    """Give items more options (four become ten), so that guessing pays less.

    Golds and the options that are there stay. New ones are written by a model and checked by another, or made by
    rule: numbers in the gold's writing, answers of the same kind from other items, and for a drawn world what its
    scene does not show. None may say the same as another, and no gold may be known by its looks.

    DIR/benchmark is the result, DIR/options.json says what was written by whom and turned down why. A review of DIR
    asks people about the new options, in two rounds; then run the same command again.
    """
    folder = to or bench.with_name(f"{bench.stem}-{option_count}-options")
    done = job.harden_options(
        open_bench(bench, file.read(gold_required=False)),
        to=folder,
        option_count=option_count,
        open_questions=open_questions,
        seed=seed,
        writer=writer,
        checker=checker,
        writer_rounds=writer_rounds,
        models=models,
        probe=not skip_probes,
    )
    record = done.record
    if as_json:
        print_json({"outcomes": record.outcomes, "authors": record.authors, "turned_down": record.turned_down})
        return
    show_table(["what became of items"], ["items"], [(why, f"{n:,}") for why, n in record.outcomes.items()])
    if done.waiting:
        table = f"or as a table, {folder / job.REVIEW / QUEUE}, whose decisions go to {DECISIONS} beside it"
        people = f"{counted(len(done.waiting), 'item')} for people ({table}), then the same command again"
        advise(people, typed(program(), "review", folder))
    out.print(
        Text(f"{counted(len(done.benchmark), 'item')} → {safe(str(done.benchmark.path))}", "bold"), soft_wrap=True
    )
