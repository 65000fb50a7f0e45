"""How a report came about, in enough detail to make it again."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from eyetest.benchmarks import Benchmark
from eyetest.records import RunStep
from eyetest.reports.material import Material
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.wording import counted


def steps(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """What was done to the runs, in order, each with its settings."""
    return [(_what(run, step), "; ".join(_how(step))) for run in runs for step in run.manifest.steps]


def settings(
    material: Material, scorer: Scorer, cluster: str, benchmarks: Sequence[Benchmark], external: Path | None
) -> list[tuple[str, str]]:
    """The names and values that decide what comes out."""
    told = [("rules", scorer.rules.version), ("metric", scorer.metric or "by the item")]
    told += [("clusters", cluster), ("level", f"{material.settings.level:g}")]
    told += [("resamples", f"{material.settings.resamples:,}"), ("seed", str(material.settings.seed))]
    if external is not None:
        told.append(("scores from elsewhere", external.name))
    told.append(("measures", ", ".join(material.measures())))
    return told + [(f"fingerprint of {one.manifest.name}", one.manifest.fingerprint) for one in benchmarks]


def command(words: Sequence[str]) -> str:
    """What was typed, to be typed again."""
    return shlex.join(words)


def _what(run: Run, step: RunStep) -> str:
    return f"{run.path.resolve().name}: {step.what}" + (f", {step.time}" if step.time else "")


def _how(step: RunStep) -> Iterator[str]:
    if step.planned:
        yield f"{counted(step.planned, 'call')} planned, {step.requests:,} of them different"
    if step.saved:
        yield f"{step.saved:,} not needed"
    yield from (f"{name} {value}" for name, value in step.options.items())
    yield f"seed {step.seed}"
    if step.eyetest:
        yield f"eyetest {step.eyetest}"
