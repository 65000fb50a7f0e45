"""Options that several commands share, and how a command writes its own in a line.

A parameter of a command whose type is a dataclass here is a group: its annotated fields become options.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from eyetest.benchmarks import ReadOptions
from eyetest.jobs.opening import read_options
from eyetest.pages.item_counts import HOST, PORT
from eyetest.records.tables import Sight

_READING = "How the file is read"
_PUT = "How the question is put"


def option(flags: str, about: str, metavar: str | None = None, panel: str | None = None, **more: Any) -> Any:
    """An option by its flags; without any it is called as its parameter."""
    return typer.Option(*flags.split(), metavar=metavar, help=about, rich_help_panel=panel, **more)


def argument(metavar: str, about: str, **more: Any) -> Any:
    """An argument."""
    return typer.Argument(metavar=metavar, help=about, **more)


reading, put = partial(option, panel=_READING), partial(option, panel=_PUT)
taken = partial(option, panel="Which items are taken")
Words = list[str] | None

BenchArgument = Annotated[Path, argument("BENCH", "A benchmark folder, or any file that eyetest can import.")]
RunArgument = Annotated[Path, argument("RUN", "A run folder.")]
RunsArgument = Annotated[list[Path], argument("RUN...", "Run folders, of one benchmark or several.")]
FirstOption = Annotated[int | None, option("--limit -n", "Only the first N items.", min=1)]
OverwriteOption = Annotated[bool, option("--overwrite", "Replace what eyetest wrote there before.")]
LinksOption = Annotated[
    str | None,
    option(
        "--links",
        f"Where numbers lead: what eyetest open serves, or its bundle. (default: http://{HOST}:{PORT}/)",
        "ADDRESS|DIR",
    ),
]
JsonOption = Annotated[bool, option("--json", "Print JSON for another program.")]
AllJsonOption = Annotated[bool, option("--json", "Print JSON for another program, all of it.")]
RetryOption = Annotated[bool, option("--retry-failed", "Ask again what failed before.")]
RulesOption = Annotated[str, option("--rules", "Whose reading rules.", "NAME")]
BenchOption = Annotated[
    Path | None,
    option("--bench", "The benchmark (default: where the run found it); golds may have changed.", "BENCH"),
]
MetricOption = Annotated[
    str | None, option("--metric", "For items without options (default: open, or vqa for votes).", "NAME")
]
RescoreOption = Annotated[
    bool,
    option("--rescore-given", "Score answers ourselves that others have scored, where their words are there."),
]
MapOption = Annotated[
    Words,
    reading(
        "--map",
        "Which column holds what, where names differ: question=prompt. Several: options=A+B+C.",
        "FIELD=COLUMN,…",
    ),
]
ImagesOption = Annotated[
    Path | None,
    reading("--images", "Folder that image paths start from and may not leave. (default: the file's own)", "DIR"),
]
GoldStyleOption = Annotated[
    str | None,
    reading(
        "--gold-style",
        "How golds point at options: letter, text, index (from 0) or number (from 1). (default: by looking)",
        "STYLE",
    ),
]
DropOption = Annotated[Words, reading("--drop", "Leave a column out.", "COLUMN")]
GoldOption = Annotated[bool, taken("--allow-missing-gold", "Take items whose answer is held back.")]


@dataclass(frozen=True)
class FileOptions:
    """How a file is read that is no benchmark folder yet."""

    format_name: Annotated[str | None, reading("--format", "Its format, if it is not recognised.", "NAME")] = None
    fields: MapOption = None
    images: ImagesOption = None

    def read(self, gold_style: str | None = None, drop: Words = None, **required: bool) -> ReadOptions:
        """The user's words about it, checked."""
        return read_options(self.format_name, self.fields or (), self.images, gold_style, drop or (), **required)


@dataclass(frozen=True)
class GoldFileOptions(FileOptions):
    """The same, with how golds are written and what is left out."""

    gold_style: GoldStyleOption = None
    drop: DropOption = None

    def read_all(self, **required: bool) -> ReadOptions:
        """The user's words about it, checked."""
        return self.read(self.gold_style, self.drop, **required)


@dataclass(frozen=True)
class ConditionOptions:
    """How a question is put."""

    sight: Annotated[Words, put("--sight", f"What is seen: {', '.join(get_args(Sight))}.", "NAME")] = None
    ask: Annotated[
        Words, put("--ask", "direct, cot (reason first) or ocr (write out the question first).", "NAME")
    ] = None
    shots: Annotated[Words, put("--shots", "Examples before the question: none, format (one) or two.", "NAME")] = None
    template: Annotated[Words, put("--template", "Which of the six instructions, from 0.", "N")] = None
    order: Annotated[Words, put("--order", "Seed of the option order; 0 is as written. Or: reversed.", "SEED")] = None
    marks: Annotated[Words, put("--marks", "How options are marked: upper, lower or digit.", "NAME")] = None
    method: Annotated[
        Words,
        put("--method", "generate; likelihood (options are weighed, not shown); first-token (marks are).", "NAME"),
    ] = None
    history: Annotated[
        Words, put("--history", "Answers to earlier turns of a dialogue: gold, or the model's own.", "NAME")
    ] = None


@dataclass(frozen=True)
class PerturbOptions:
    """How the same question is put otherwise, again and again."""

    perturb: Annotated[
        Words,
        put("--perturb", "What varies from test to test, all together: instruction, order, marks.", "SOURCE,…"),
    ] = None
    tests: Annotated[
        int | None, put("--tests", "Tests of every item with --perturb; the first is as usual. (default: 5)", min=2)
    ] = None
    one_at_a_time: Annotated[
        bool, put("--one-at-a-time", "Let one source vary at a time, for instability by source.")
    ] = False
