"""How a report came about, in enough detail to make it again."""

from collections.abc import Iterator, Sequence

from eyetest.benchmarks import Benchmark
from eyetest.records import RunStep
from eyetest.reports.material import Material
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.wording import counted, typed


def steps(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """What was done to the runs, in order, each with its settings."""
    return [(_what(run, step), "; ".join(_how(step))) for run in runs for step in run.manifest.steps]


def settings(
    material: Material, reading: tuple[Scorer, str] | None, benchmarks: Sequence[Benchmark], external: str
) -> list[tuple[str, str]]:
    """The names and values that decide what comes out; ``reading`` is by what and in what clusters, if known."""
    told = []
    if reading is not None:
        scorer, cluster = reading
        told += [("rules", scorer.rules.version), ("metric", scorer.metric or "by the item"), ("clusters", cluster)]
    told += [("level", f"{material.settings.level:g}")]
    told += [("resamples", f"{material.settings.resamples:,}"), ("seed", str(material.settings.seed))]
    if external:
        told.append(("scores from elsewhere", external))
    told.append(("measures", ", ".join(material.measures())))
    return told + [(f"fingerprint of {one.manifest.name}", one.manifest.fingerprint) for one in benchmarks]


def command(words: Sequence[str]) -> str:
    """What was typed, to be typed again."""
    return typed(*words)


def _what(run: Run, step: RunStep) -> str:
    return f"{run.path.resolve().name}: {step.what}" + (f", {step.time}" if step.time else "")


def _how(step: RunStep) -> Iterator[str]:
    if step.planned:
        different = f", {step.requests:,} of them different" if step.requests < step.planned else ""
        yield f"{counted(step.planned, 'call')} planned{different}"
    if step.saved:
        yield f"{step.saved:,} not needed"
    yield from (f"{name} {value}" for name, value in step.options.items())
    yield f"seed {step.seed}"
    if step.eyetest:
        yield f"eyetest {step.eyetest}"
