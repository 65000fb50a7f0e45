"""``eyetest run``: put a benchmark to models, and keep every answer."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from eyetest.cli import options
from eyetest.cli.live import TERMINAL, estimate_table
from eyetest.cli.options import ConditionOptions, PerturbOptions, Words, option
from eyetest.cli.terminal import fail, note, out, program, safe
from eyetest.errors import InputError
from eyetest.jobs import run as job
from eyetest.jobs.perturbation import perturbed, read_perturbation
from eyetest.models import Surroundings, parse_models
from eyetest.records import ModelEntry
from eyetest.running import Asking, Limits, Progress
from eyetest.running.planning import PASSED_OVER
from eyetest.running.progress import line
from eyetest.running.session import INTERRUPTED
from eyetest.wording import counted, typed

who = partial(option, panel="Who is asked")
sampling = partial(option, panel="How models answer")
limits = partial(option, panel="How far it may go")


@dataclass(frozen=True)
class SamplingOptions:
    """How models answer."""

    trials: Annotated[int, sampling("--trials", "How often each question is asked.", min=1)] = 1
    temperature: Annotated[float | None, sampling("", "Of the sampling (default: 0, or the model's own).", min=0)] = (
        None
    )
    max_tokens: Annotated[
        int | None, sampling("", "The longest answer (default: 512; 2048 with reasoning).", min=1)
    ] = None
    seed: Annotated[int, sampling("", "Of sampling, jitter and --perturb.")] = 0


@dataclass(frozen=True)
class LimitOptions:
    """How far a run may go, and how long it waits."""

    stop: Annotated[
        str,
        limits(
            "--stop",
            'Ask only until a verdict cannot change: "more than 5 of 10 trials, at least 3 of 4 models".',
            "RULE",
        ),
    ] = ""
    until: Annotated[
        str, limits("--until", "Draw items by lot until one of two models leads for certain, whoever it is.", "A>B")
    ] = ""
    concurrency: Annotated[int, limits("", "The most calls in flight to a model.", min=1)] = 64
    attempts: Annotated[int, limits("", "The most attempts at one call.", min=1)] = 8
    backoff: Annotated[float, limits("", "Seconds before a second attempt; doubles.", min=0)] = 0.5
    timeout: Annotated[float, limits("", "Seconds for a whole call.", min=0.1)] = 600.0
    first_byte: Annotated[float, limits("", "Seconds until the answer begins.", min=0.1)] = 300.0
    connect: Annotated[float, limits("", "Seconds to reach the server.", min=0.1)] = 10.0
    patience: Annotated[
        float,
        limits("", "Seconds to wait for a server that has gone away; 30 at most before its first answer.", min=0),
    ] = 600.0
    max_calls: Annotated[int | None, limits("", "Stop after so many calls in this session.", min=1)] = None
    max_total_tokens: Annotated[int | None, limits("", "Stop before this session passes them.", min=1)] = None
    max_cost: Annotated[float | None, limits("", "Stop before this session passes it (prices: --models).", min=0)] = (
        None
    )

    def limits(self) -> Limits:
        """What the session may spend."""
        return Limits(
            concurrency=self.concurrency,
            attempts=self.attempts,
            backoff=self.backoff,
            patience=self.patience,
            calls=self.max_calls,
            tokens=self.max_total_tokens,
            money=self.max_cost,
        )

    def surroundings(self) -> Surroundings:
        """How long one call may take."""
        return Surroundings(
            connect_seconds=self.connect, first_byte_seconds=self.first_byte, total_seconds=self.timeout
        )


def run(
    bench: options.BenchArgument,
    to: Annotated[Path | None, option("--to", "The run folder; again to go on where it stopped.", "RUN")] = None,
    model: Annotated[
        Words,
        who(
            "--model -m",
            "openai:MODEL@URL, replay:FILE#MODEL, scripted:…, NAME=SPEC, or a name of --models; repeatable.",
            "SPEC",
        ),
    ] = None,
    models: Annotated[Path | None, who("--models", "A models.yaml; all of it without --model.", "FILE")] = None,
    key_env: Annotated[
        str | None,
        who(
            "--key-env",
            "The environment variable that holds the key (OPENAI_API_KEY for OpenAI, else EYETEST_API_KEY).",
            "NAME",
        ),
    ] = None,
    limit: Annotated[int | None, option("--limit -n", "Only the first N items.", min=1)] = None,
    item: Annotated[Words, option("--item", "Only this item (repeat it).", "ID")] = None,
    dry_run: Annotated[bool, option("--dry-run", "Say what would be asked, and ask nothing.")] = False,
    retry_failed: options.RetryOption = False,
    templates: Annotated[
        int | None, options.put("--templates", "The first N of the six instructions, all of them.", "N")
    ] = None,
    *,
    condition: ConditionOptions,
    perturbation: PerturbOptions,
    answering: SamplingOptions,
    how_far: LimitOptions,
    file: options.GoldFileOptions,
) -> None:
    """Put a benchmark to models under chosen conditions. Every answer is on disk before it counts.

    Kill it at any moment and run the same command again: nothing is lost, nothing is asked twice. Several values of a
    condition (--sight image,blind) give all combinations; --perturb puts each of them in several tests.
    """
    if to is None and not dry_run:
        raise InputError("--to RUN is missing: where are the answers to be kept?")
    how = read_perturbation(**asdict(perturbation), seed=answering.seed)
    put = asdict(condition)
    if templates is not None:
        put["template"] = job.first_templates(templates, condition.template)
    asking = Asking(
        conditions=perturbed(job.conditions(**put), how, TERMINAL),
        trials=answering.trials,
        sampling=job.sampling(answering.temperature, answering.max_tokens),
        seed=answering.seed,
        limit=limit,
        items=tuple(item or ()),
        limits=how_far.limits(),
        patience=how_far.surroundings(),
        retry_failed=retry_failed,
        stop=how_far.stop,
        until=how_far.until,
    )
    entries = _with_key(parse_models(model or [], models), key_env)
    session = job.prepare(bench, entries, asking, file.read_all(), TERMINAL)
    if to is None or dry_run:
        out.print(estimate_table(session.estimate(to)))
        return
    _report(job.carry_out(session, to, TERMINAL), to)


def _with_key(entries: dict[str, ModelEntry], key_env: str | None) -> dict[str, ModelEntry]:
    if key_env is None:
        return entries
    return {
        n: entry if entry.key_env else msgspec.structs.replace(entry, key_env=key_env) for n, entry in entries.items()
    }


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
