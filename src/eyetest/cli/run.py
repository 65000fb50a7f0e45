"""``eyetest run``: put a benchmark to models, and keep every answer."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from eyetest.cli import conditions as words
from eyetest.cli import options
from eyetest.cli.live import watching
from eyetest.cli.terminal import err, fail, note, out, program, safe
from eyetest.errors import InputError
from eyetest.models import Surroundings, parse_models
from eyetest.records import ModelEntry
from eyetest.running import Asking, Estimate, Limits, Progress, Session
from eyetest.running.planning import PASSED_OVER
from eyetest.running.session import INTERRUPTED
from eyetest.running.watching import line
from eyetest.scoring import is_hit, looks_refused
from eyetest.wording import counted, typed

_WHO = "Who is asked"
_SAMPLING = "How models answer"
_LIMITS = "How far it may go"


def run(
    bench: options.BenchArgument,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="RUN", help="The run folder; again to go on where it stopped.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="SPEC",
            help="openai:MODEL@URL, replay:FILE#MODEL, scripted:…, NAME=SPEC, or a name of --models; repeatable.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option(
            "--models", metavar="FILE", help="A models.yaml; all of it without --model.", rich_help_panel=_WHO
        ),
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(
            "--key-env",
            metavar="NAME",
            help="The environment variable that holds the key (OPENAI_API_KEY for OpenAI, else EYETEST_API_KEY).",
            rich_help_panel=_WHO,
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Only the first N items.")] = None,
    item: Annotated[
        list[str] | None, typer.Option("--item", metavar="ID", help="Only this item (repeat it).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be asked, and ask nothing.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask again what failed before.")] = False,
    sight: words.SightOption = None,
    ask: words.AskOption = None,
    shots: words.ShotsOption = None,
    template: words.TemplateOption = None,
    order: words.OrderOption = None,
    marks: words.MarksOption = None,
    method: words.MethodOption = None,
    trials: Annotated[
        int, typer.Option("--trials", min=1, help="How often each question is asked.", rich_help_panel=_SAMPLING)
    ] = 1,
    temperature: Annotated[
        float | None,
        typer.Option(min=0, help="Of the sampling (default: 0, or the model's own).", rich_help_panel=_SAMPLING),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1, help="The longest answer (default: 512; 2048 with reasoning).", rich_help_panel=_SAMPLING
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of sampling and jitter.", rich_help_panel=_SAMPLING)] = 0,
    stop: Annotated[
        str,
        typer.Option(
            "--stop",
            metavar="RULE",
            help='Ask only until a verdict cannot change: "more than 5 of 10 trials, at least 3 of 4 models".',
            rich_help_panel=_LIMITS,
        ),
    ] = "",
    concurrency: Annotated[
        int, typer.Option(min=1, help="The most calls in flight to a model.", rich_help_panel=_LIMITS)
    ] = 64,
    attempts: Annotated[int, typer.Option(min=1, help="The most attempts at one call.", rich_help_panel=_LIMITS)] = 8,
    backoff: Annotated[
        float, typer.Option(min=0, help="Seconds before a second attempt; doubles.", rich_help_panel=_LIMITS)
    ] = 0.5,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for a whole call.", rich_help_panel=_LIMITS)
    ] = 600.0,
    first_byte: Annotated[
        float, typer.Option(min=0.1, help="Seconds until the answer begins.", rich_help_panel=_LIMITS)
    ] = 300.0,
    connect: Annotated[
        float, typer.Option(min=0.1, help="Seconds to reach the server.", rich_help_panel=_LIMITS)
    ] = 10.0,
    patience: Annotated[
        float,
        typer.Option(
            min=0,
            help="Seconds to wait for a server that has gone away; 30 at most before its first answer.",
            rich_help_panel=_LIMITS,
        ),
    ] = 600.0,
    max_calls: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many calls in this session.", rich_help_panel=_LIMITS)
    ] = None,
    max_total_tokens: Annotated[
        int | None, typer.Option(min=1, help="Stop before this session passes them.", rich_help_panel=_LIMITS)
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, help="Stop before this session passes it (prices: --models).", rich_help_panel=_LIMITS),
    ] = None,
    format_name: options.FormatOption = None,
    fields: options.MapOption = None,
    images: options.ImagesOption = None,
    answers: options.AnswersOption = None,
    drop: options.DropOption = None,
) -> None:
    """Put a benchmark to models under chosen conditions. Every answer is on disk before it counts.

    Kill it at any moment and run the same command again: nothing is lost, nothing is asked twice. Several values of a
    condition (--sight image,blind) give all combinations.
    """
    if to is None and not dry_run:
        raise InputError("--to RUN is missing: where are the answers to be kept?")
    sampling: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens}
    asking = Asking(
        conditions=words.conditions(sight, ask, shots, template, order, marks, method),
        trials=trials,
        sampling={name: value for name, value in sampling.items() if value is not None},
        seed=seed,
        limit=limit,
        items=tuple(item or ()),
        limits=Limits(
            concurrency=concurrency,
            attempts=attempts,
            backoff=backoff,
            patience=patience,
            calls=max_calls,
            tokens=max_total_tokens,
            money=max_cost,
        ),
        patience=Surroundings(connect_seconds=connect, first_byte_seconds=first_byte, total_seconds=timeout),
        retry_failed=retry_failed,
        stop=stop,
    )
    entries = _with_key(parse_models(model or [], models), key_env)
    if max_cost is not None and not any(entry.price for entry in entries.values()):
        raise InputError("--max-cost needs prices: give models a price in --models, in money per million tokens")
    read = options.read_options(format_name, fields, images, answers, drop, allow_missing_gold=True)
    session = Session(options.open_with_bar(bench, read), entries, asking, hit=is_hit)
    if dry_run:
        out.print(estimate_table(session.estimate(to)))
        return
    assert to is not None
    progress = session.run(to, progress=Progress(looks_refused), watch=watching, planned=_announce(session))
    _report(progress, to)


def _with_key(entries: dict[str, ModelEntry], key_env: str | None) -> dict[str, ModelEntry]:
    if key_env is None:
        return entries
    return {
        n: entry if entry.key_env else msgspec.structs.replace(entry, key_env=key_env) for n, entry in entries.items()
    }


def _announce(session: Session) -> Any:
    def announce(estimate: Estimate) -> None:
        err.print(estimate_table(estimate))
        said = session.asking.sampling
        cold = [m.name for m in session.models if not said.get("temperature", m.settings.get("temperature"))]
        if session.asking.trials > 1 and cold:
            note(f"{session.asking.trials} trials at temperature 0 ask {cold[0]} the same again; see --temperature")

    return announce


def estimate_table(estimate: Estimate) -> Table:
    """What is going to be asked, and about what it takes."""
    table = Table.grid(padding=(0, 2))
    rows: list[tuple[str, str]] = [("to ask", counted(estimate.calls, "call"))]
    for name, counter in (("models", estimate.by_model), ("sights", estimate.by_sight)):
        if counter:
            rows.append((name, ", ".join(f"{key} {count:,}" for key, count in counter.items())))
    if estimate.stored:
        rows.append(("answered before", f"{estimate.stored:,}"))
    if estimate.failed:
        rows.append(("failed before", f"{estimate.failed:,} (--retry-failed asks them again)"))
    if shared := estimate.rows - estimate.requests:
        rows.append(("sent once", f"{shared:,} more rows need no call of their own: they send exactly the same"))
    if estimate.otherwise:
        rows.append(
            ("asked otherwise", f"{estimate.otherwise:,} were answered before, under other settings or wording")
        )
    if estimate.no_picture:
        rows.append(("without a picture", f"{estimate.no_picture:,} are to show a picture and have none"))
    for reason, count in estimate.not_applicable.most_common():
        rows.append(("cannot be asked", f"{count:,}: {reason}"))
    if estimate.calls:
        rows.append(("tokens", f"about {estimate.tokens_in:,} in, at most {estimate.most_tokens_out:,} out"))
    if estimate.priced:
        rows.append(
            ("cost", f"about {estimate.money:,.2f} for the prompts, at most {estimate.most_money:,.2f} in all")
        )
    for name, value in rows:
        table.add_row(Text(name, "dim"), Text(safe(value), overflow="fold"))
    return table


def _report(progress: Progress, to: Path) -> None:
    """How it ended, and what to do next."""
    if progress.to_ask:
        out.print(safe(f"{line(progress, over=True)} → {to}"), soft_wrap=True)
    else:
        out.print(safe(f"nothing to ask: {counted(progress.stored, 'answer')} in {to} already"), soft_wrap=True)
    for name, why in progress.abandoned.items():
        fail(f"{name} was given up: {why}")
    if progress.left and progress.stopped:
        why = "" if progress.abandoned else f"{progress.stopped}; "
        note(f"{why}{counted(progress.left, 'call')} left. The same command goes on from here.")
    if lasting := sum(count for kind, count in progress.failures.items() if kind not in PASSED_OVER):
        note(
            f"{counted(lasting, 'call')} failed; {typed(program(), 'status', to)} says why, --retry-failed asks again"
        )
    if progress.stopped == INTERRUPTED:
        raise typer.Exit(130)
    if progress.abandoned or (progress.outcomes["failed"] and progress.outcomes["failed"] == progress.done):
        raise typer.Exit(2)
