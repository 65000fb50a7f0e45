"""Options of all commands that measure: whose rules, which items depend on each other, how sure, drawn how."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from eyetest.cli.options import BenchOption, MetricOption, RescoreOption, option
from eyetest.errors import InputError
from eyetest.jobs.measure import Scoring
from eyetest.results.gather import CLUSTERS

which = partial(option, panel="What is measured")
shown = partial(option, panel="How it is shown")

LevelOption = Annotated[float, which("--level", "Of intervals and tests.", min=0.5, max=0.999)]
ResamplesOption = Annotated[int, which("--resamples", "For bootstrapped intervals.", min=100)]
SeedOption = Annotated[int, which("--seed", "Of all drawing by lot.", min=0)]
ExternalOption = Annotated[Path | None, which("--with", "A score from outside: model,score.", "CSV")]
ModelsOption = Annotated[Path | None, which("--models", "models.yaml: language bases, sizes.", "FILE")]
LimitOption = Annotated[int, shown("--limit -n", "Rows in the terminal; 0 for all.", min=0)]


@dataclass(frozen=True)
class ScoringOptions(Scoring):
    """By whose rules answers count, and by which golds."""

    rules: Annotated[str, which("--rules", "Whose reading rules.", "NAME")] = "eyetest"
    bench: BenchOption = None
    metric: MetricOption = None
    rescore_given: RescoreOption = False
    cluster: Annotated[
        str,
        which("--cluster", f"What makes items depend on each other: {', '.join(CLUSTERS)}, or a tag.", "NAME"),
    ] = "auto"


def one_shape(csv: bool, json: bool, latex: bool) -> str:
    """How a table is printed."""
    if csv + json + latex > 1:
        raise InputError("one of --csv, --json and --latex, not several")
    return "csv" if csv else "json" if json else "latex" if latex else "terminal"
