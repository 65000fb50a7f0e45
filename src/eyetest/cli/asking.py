"""Options of every command that asks models, and how such a command ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from eyetest.cli.options import JsonOption, RetryOption, option, put
from eyetest.cli.terminal import advise, fail, note, program, say
from eyetest.errors import InputError
from eyetest.jobs.run import conditions
from eyetest.jobs.run import sampling as sampling_of
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

    temperature: Annotated[float | None, sampling("", "Of the sampling (default: 0, or the model's own).", min=0)] = (
        None
    )
    max_tokens: Annotated[
        int | None, sampling("", "The longest answer (default: 512; 2048 with reasoning).", min=1)
    ] = None
    seed: Annotated[int, sampling("", "Random seed.")] = 0


@dataclass(frozen=True)
class LimitOptions:
    """How far a run may go, and how long it waits."""

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


KeyOption = Annotated[
    str | None,
    who(
        "--key-env",
        "The environment variable that holds the key (OPENAI_API_KEY for OpenAI, else EYETEST_API_KEY).",
        "NAME",
    ),
]


@dataclass(frozen=True)
class OneByOneOptions:
    """Of commands that ask item by item until something is known: who, how, and where answers are kept."""

    to: Annotated[Path | None, option("--to", "The run folder; again to go on where it stopped.", "RUN")] = None
    limit: Annotated[int | None, option("--limit -n", "Of the benchmark only the first N items.", min=1)] = None
    dry_run: Annotated[bool, option("--dry-run", "Say what would be asked at most, and ask nothing.")] = False
    retry_failed: RetryOption = False
    as_json: JsonOption = False
    models: Annotated[Path | None, who("--models", "A models.yaml that has who is named.", "FILE")] = None
    key_env: KeyOption = None
    sight: Annotated[str, put("--sight", "What is seen (see eyetest run --help).", "NAME")] = "image"
    method: Annotated[str, put("--method", "How answers are had (see eyetest run --help).", "NAME")] = "generate"

    @property
    def folder(self) -> Path | None:
        """Where answers are kept; None where only a plan is wanted."""
        if self.to is None and not self.dry_run:
            raise InputError("--to RUN is missing: where are the answers to be kept?")
        return None if self.dry_run else self.to

    def entries(self, names: Sequence[str]) -> dict[str, ModelEntry]:
        """Those who are asked."""
        return with_key(parse_models(names, self.models), self.key_env)

    def asking(self, answering: SamplingOptions, how_far: LimitOptions) -> Asking:
        """How they are asked."""
        return Asking(
            conditions=conditions(sight=self.sight, method=self.method),
            sampling=sampling_of(answering.temperature, answering.max_tokens),
            seed=answering.seed,
            limit=self.limit,
            limits=how_far.limits(),
            patience=how_far.surroundings(),
            retry_failed=self.retry_failed,
        )


def with_key(entries: dict[str, ModelEntry], key_env: str | None) -> dict[str, ModelEntry]:
    """The models, those that name no key of their own with this one."""
    if key_env is None:
        return entries
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
