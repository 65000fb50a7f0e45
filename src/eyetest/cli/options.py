"""Options that several commands share, and how a command writes its own in a line.

A parameter of a command whose type is a dataclass here is a group: its annotated fields become options.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec
import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from eyetest.benchmarks import ReadOptions
from eyetest.cli.terminal import advise, err, fail, note, program, safe, say, step_bar, timed
from eyetest.jobs.opening import Observer, read_options
from eyetest.models import Surroundings
from eyetest.models.openai import allow_variables
from eyetest.pages.item_counts import HOST, PORT
from eyetest.records import ModelEntry
from eyetest.records.tables import Sight
from eyetest.running import Estimate, Limits, Progress
from eyetest.running.limits import INTERRUPTED
from eyetest.running.planning import PASSED_OVER
from eyetest.running.progress import counts, eta, every, line, rate, waits
from eyetest.wording import counted, typed

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


who = partial(option, panel="Who is asked")
sampling = partial(option, panel="How models answer")
limits = partial(option, panel="How far it may go")


@dataclass(frozen=True)
class SamplingOptions:
    """How models answer."""

    temperature: Annotated[float | None, sampling("", "Of the sampling (default: 0, or the model's own).", min=0)] = (
        None
    )
    max_tokens: Annotated[
        int | None, sampling("", "The longest answer (default: 512; 2048 with reasoning).", min=1)
    ] = None
    seed: Annotated[int, sampling("", "Random seed.")] = 0


@dataclass(frozen=True)
class SpendOptions:
    """How far a command may go."""

    concurrency: Annotated[int, limits("", "The most calls in flight to a model.", min=1)] = 64
    max_calls: Annotated[int | None, limits("", "Stop after so many calls in this session.", min=1)] = None
    max_total_tokens: Annotated[int | None, limits("", "Stop before this session passes them.", min=1)] = None
    max_cost: Annotated[float | None, limits("", "Stop before this session passes it (prices: --models).", min=0)] = (
        None
    )

    def limits(self) -> Limits:
        """What the session may spend."""
        return Limits(
            concurrency=self.concurrency,
            calls=self.max_calls,
            tokens=self.max_total_tokens,
            money=self.max_cost,
        )


@dataclass(frozen=True)
class LimitOptions(SpendOptions):
    """How far a run may go, and how long it waits."""

    attempts: Annotated[int, limits("", "The most attempts at one call.", min=1)] = 8
    backoff: Annotated[float, limits("", "Seconds before a second attempt; doubles.", min=0)] = 0.5
    timeout: Annotated[float, limits("", "Seconds for a whole call.", min=0.1)] = 600.0
    first_byte: Annotated[float, limits("", "Seconds until the answer begins.", min=0.1)] = 300.0
    connect: Annotated[float, limits("", "Seconds to reach the server.", min=0.1)] = 10.0
    patience: Annotated[
        float,
        limits("", "Seconds to wait for a server that has gone away; 30 at most before its first answer.", min=0),
    ] = 600.0

    def limits(self) -> Limits:
        """What the session may spend, and how often it tries."""
        waits = {"attempts": self.attempts, "backoff": self.backoff, "patience": self.patience}
        return msgspec.structs.replace(super().limits(), **waits)

    def surroundings(self) -> Surroundings:
        """How long one call may take."""
        return Surroundings(
            connect_seconds=self.connect, first_byte_seconds=self.first_byte, total_seconds=self.timeout
        )


KeyOption = Annotated[
    str | None,
    who(
        "--key-env",
        "The environment variable that holds the key (OPENAI_API_KEY for OpenAI, else EYETEST_API_KEY).",
        "NAME",
    ),
]


def with_key(entries: dict[str, ModelEntry], key_env: str | None) -> dict[str, ModelEntry]:
    """The models, those that name no key of their own with this one."""
    if key_env is None:
        return entries
    allow_variables([key_env])
    return {
        n: entry if entry.key_env else msgspec.structs.replace(entry, key_env=key_env) for n, entry in entries.items()
    }


def report(progress: Progress, to: Path) -> None:
    """How it ended, and what to do next."""
    if progress.to_ask:
        say(f"{line(progress, over=True)} → {to}")
    else:
        say(f"nothing to ask: {counted(progress.stored, 'answer')} in {to} already")
    for name, why in progress.abandoned.items():
        fail(f"{name} was given up: {why}")
    if progress.left and progress.stopped:
        why = "" if progress.abandoned else f"{progress.stopped}; "
        note(f"{why}{counted(progress.left, 'call')} left. The same command goes on from here.")
    if lasting := sum(count for kind, count in progress.failures.items() if kind not in PASSED_OVER):
        why = f"{counted(lasting, 'call')} failed; --retry-failed asks again, and this says why"
        advise(why, typed(program(), "status", to))
    exit_as(progress)


def exit_as(progress: Progress) -> None:
    """End with the code of a session that was interrupted, or that brought nothing."""
    if progress.stopped == INTERRUPTED:
        raise typer.Exit(130)
    if progress.abandoned or (progress.outcomes["failed"] and progress.outcomes["failed"] == progress.done):
        raise typer.Exit(2)


_log = logging.getLogger(__name__)
_LOOKS_A_SECOND = 2
_SECONDS_BETWEEN_LINES = 15.0


@contextmanager
def watching(progress: Progress) -> Iterator[None]:
    """Show a session until the block ends."""
    if err.is_terminal:
        live = Live(console=err, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
        with live, every(1 / _LOOKS_A_SECOND, lambda: live.update(panel(progress), refresh=True)):
            yield
    else:
        with every(_SECONDS_BETWEEN_LINES, lambda: err.print(safe(line(progress)), soft_wrap=True)):
            yield


class TerminalObserver(Observer):
    """Tells a terminal what a job does."""

    def note(self, line: str) -> None:
        """A line of its own."""
        note(line)

    def busy(self, line: str) -> None:
        """A dim line, on a terminal only."""
        _log.info("%s", line)
        if err.is_terminal:
            err.print(line, style="dim", soft_wrap=True)

    @contextmanager
    def steps(self, title: str) -> Iterator[Callable[[str, float], None]]:
        """A bar; each step is in the log with its time."""
        with timed(title), step_bar(title) as bar:
            yield _logging_steps(bar)

    @contextmanager
    def watch(self, progress: Progress) -> Iterator[None]:
        """The state of a run."""
        while progress.keys:
            note(progress.keys.pop())
        with timed("asking"), watching(progress):
            yield
        _log.info("asked: %s", line(progress, over=True))

    def planned(self, stage: str, estimate: Estimate) -> None:
        """What is going to be asked; of a stage that asks nothing, nothing."""
        _log.info(
            "%s %d calls to make, %d answers are there already", stage or "plan:", estimate.calls, estimate.stored
        )
        if stage and not estimate.calls:
            return
        if stage:
            err.print(Text(stage, "bold"))
        err.print(estimate_table(estimate))


TERMINAL = TerminalObserver()


def _logging_steps(bar: Callable[[str, float], None]) -> Callable[[str, float], None]:
    """A bar whose steps are told to the log as well, each once."""
    said = ""

    def step(what: str, share: float) -> None:
        nonlocal said
        if what != said:
            said = what
            _log.info("%s", what)
        bar(what, share)

    return step


def estimate_table(estimate: Estimate) -> Table:
    """What is going to be asked, and about what it takes."""
    table = Table.grid(padding=(0, 2))
    rows: list[tuple[str, str]] = [("to ask", counted(estimate.calls, "call"))]
    for name, counter in (("models", estimate.by_model), ("sights", estimate.by_sight)):
        if counter:
            rows.append((name, ", ".join(f"{key} {count:,}" for key, count in counter.items())))
    shared = estimate.rows - estimate.requests
    for name, count, about in (
        ("answered before", estimate.stored, ""),
        ("failed before", estimate.failed, " (--retry-failed asks them again)"),
        ("sent once", shared, " more rows need no call of their own: they send exactly the same"),
        ("earlier turns", estimate.earlier, " items that were not chosen, because chosen ones go on from them"),
        ("without a picture", estimate.no_picture, " are to show a picture and have none"),
        ("more images named", estimate.more_named, " name more images than they have; such marks are sent as text"),
    ):
        if count:
            rows.append((name, f"{count:,}{about}"))
    rows += [("cannot be asked", f"{count:,}: {why}") for why, count in estimate.not_applicable.most_common()]
    if estimate.calls and estimate.tokens_in:
        rows.append(("tokens", f"about {estimate.tokens_in:,} in, at most {estimate.most_tokens_out:,} out"))
    if estimate.priced:
        most = f"at most {estimate.most_money:,.2f} in all"
        rows.append(("cost", f"about {estimate.money:,.2f} for the prompts, {most}"))
    for name, value in rows:
        table.add_row(Text(name, "dim"), Text(safe(value), overflow="fold"))
    return table


def panel(progress: Progress) -> RenderableType:
    """The state of a run in a few lines."""
    bar = Table.grid(padding=(0, 1))
    share = progress.done + progress.saved
    bar.add_row(
        ProgressBar(total=max(1, progress.to_ask), completed=share, width=30),
        f"{share:,}/{progress.to_ask:,}",
        Text(rate(progress), "bold"),
        Text(f"eta {eta(progress)}", "dim"),
    )
    flying = ", ".join(f"{safe(name)} {count}" for name, count in progress.in_flight.items() if count)
    rows: list[RenderableType] = [bar, Text(" · ".join(counts(progress)))]
    rows.append(Text(f"in flight: {flying}", "dim"))
    for words in waits(progress):
        rows.append(Text(safe(words), "yellow", overflow="ellipsis", no_wrap=True))
    if progress.last_error and not progress.outcomes["answered"] and not progress.waiting:
        rows.append(Text(safe(progress.last_error), "yellow", overflow="ellipsis", no_wrap=True))
    for name, why in progress.abandoned.items():
        rows.append(Text(safe(f"{name}: {why}"), "red"))
    if progress.stopped:
        rows.append(Text(f"{progress.stopped}: waiting for the calls in flight (Ctrl-C gives them up)", "yellow"))
    return Group(*rows)
