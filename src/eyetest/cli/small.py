"""A small part that stands for the whole: what subset draws and estimate goes back to."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from eyetest.curate.subset import pps
from eyetest.curate.validation import SplitPlan, validate
from eyetest.errors import InputError
from eyetest.measures import Results
from eyetest.measures.aligned import side_by_side
from eyetest.measures.results import PROTOCOL
from eyetest.measures.stats.intervals import Floats
from eyetest.measures.stats.item_analysis import ItemFit, fit
from eyetest.wording import counted

_FEWEST_MODELS = 9
"""Three to hold out, and a panel of twice as many."""
_SPLITS = 12


class Small(NamedTuple):
    """A part that was drawn, the fit it was drawn by, and how well it served models that had no say."""

    items: list[str]
    drawn: set[str]
    models: list[str]
    fitted: ItemFit
    chances: list[float]
    validation: pl.DataFrame


def draw_small(results: Results, items: Sequence[str], sight: str, share: float, seed: int) -> Small:
    """Fit a panel's answers and draw a share of the items they are about."""
    table, names, models = answered(results, items, sight)
    if len(models) < _FEWEST_MODELS:
        raise InputError(f"--answers: {counted(len(models), 'model')} with sight {sight}; at least {_FEWEST_MODELS}")
    fitted = fit(table)
    size = max(1, round(share * len(names)))
    drawn = pps(fitted, size, seed)
    validation = validate(table, SplitPlan(size=size, held_out=len(models) // 3, splits=_SPLITS, seed=seed))
    shown = validation.select(
        "draw", "score", "tau", "tau_gain", "tau_gain_low", "tau_gain_high", "mae", "tau_optimism"
    )
    return Small(names, {names[place] for place in drawn.items}, models, fitted, drawn.chances.tolist(), shown)


def answered(results: Results, items: Sequence[str], sight: str) -> tuple[Floats, list[str], list[str]]:
    """Scores of items × models under one protocol, the items that anybody answered, and the models."""
    scores = results.scores.filter((pl.col("sight") == sight) & pl.col("item").is_in(pl.Series(items).implode()))
    seen = Results(scores, results.items, results.models)
    if varied := seen.varied(PROTOCOL):
        raise InputError(
            f"--answers: the models were asked in several ways ({', '.join(varied)} differ); keep to one"
        )
    parts = side_by_side(seen, [])
    if not parts:
        raise InputError(f"--answers: nobody was asked with sight {sight}")
    part = parts[0]
    known = np.asarray(~np.isnan(part.scores).all(axis=1), bool)
    names = [name for name, there in zip(part.items, known, strict=True) if there]
    return part.scores[known], names, [str(column[0]) for column in part.columns]
