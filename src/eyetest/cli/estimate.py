"""``eyetest estimate``: what models that answered a small part would score on the whole benchmark."""

from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import typer

from eyetest.cli.estimates import FORMATS
from eyetest.cli.small import answered
from eyetest.cli.terminal import note
from eyetest.curate.subset import Estimator, cautions, read_curves
from eyetest.errors import InputError
from eyetest.measures import Measured
from eyetest.results.gather import results_of
from eyetest.runs import Run
from eyetest.scoring import Scorer

_WITHIN = 1.96


def estimate(
    part: Annotated[Path, typer.Argument(metavar="DIR", help="A part that eyetest subset --answers drew.")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs on DIR/benchmark, or on all of it.")],
    sight: Annotated[str, typer.Option("--sight", metavar="NAME", help="Which answers count.")] = "image",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for another program.")] = False,
) -> None:
    """Estimate the score on the whole benchmark from answers to a small part of it (p-IRT), with its error."""
    items, fitted = read_curves(part)
    results = results_of([Run(run) for run in runs], Scorer())
    table, names, models = answered(results, items, sight)
    places = {item: place for place, item in enumerate(items)}
    asked = np.array([places[name] for name in names], np.intp)
    if not len(asked):
        raise InputError(f"the runs hold no answer to an item of {part}")
    found = Estimator(fitted).estimate(asked, table)
    rows = pl.DataFrame(
        {
            "model": models,
            "full_score": found.scores,
            "full_score_low": np.clip(found.scores - _WITHIN * found.errors, 0, 1),
            "full_score_high": np.clip(found.scores + _WITHIN * found.errors, 0, 1),
            "part_score": np.nanmean(table, axis=0),
            "n": (~np.isnan(table)).sum(axis=0),
            "of": [len(items)] * len(models),
        }
    ).sort("full_score", descending=True)
    notes = (*cautions(models, found), *results.notes)
    FORMATS["json" if as_json else "terminal"]("estimate", Measured(rows, notes), 0)
    if not as_json:
        for line in notes:
            note(line)
