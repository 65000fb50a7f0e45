"""A small subset of a benchmark from the answers of a panel of models, and scores on the whole estimated from it."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from eyetest.curate.drawing import Places, anchored, pps
from eyetest.curate.estimating import Curves, Estimator, Missed, cautions, families, left_out
from eyetest.curate.separation import FEWEST_MODELS, WHY_SO_MANY, separation, told
from eyetest.errors import InputError, heading
from eyetest.measures import Results
from eyetest.measures.aligned import side_by_side
from eyetest.measures.results import PROTOCOL, values_of
from eyetest.measures.stats.intervals import Floats
from eyetest.measures.stats.item_analysis import ItemFit, fit
from eyetest.wording import counted, listed

_PLAIN_WIDTH = 1.96  # how many stated errors an interval of 95 % reaches if the curves are true
_USUAL_MODALITY = "image"


def usual_modality(results: Results) -> str:
    """The modality whose answers count: image, or the only one."""
    modalities = values_of(results, "modality")
    if _USUAL_MODALITY not in modalities and len(modalities) > 1:
        raise InputError(f"{heading('answers')}: several modalities, none is {_USUAL_MODALITY}: {listed(modalities)}")
    return _USUAL_MODALITY if _USUAL_MODALITY in modalities else modalities[0]


def draw_small(
    results: Results, items: Sequence[str], share: float, seed: int
) -> tuple[set[str], Curves, tuple[str, ...]]:
    """Fit a panel's answers and draw a share of the items they are about: the items, the curves, and notes."""
    modality = usual_modality(results)
    table, names, models = answered(results, items, modality)
    if len(models) < FEWEST_MODELS:
        there = f"{counted(len(models), 'model')} with modality {modality}"
        raise InputError(f"{heading('answers')}: {there}; a subset takes at least {FEWEST_MODELS} ({WHY_SO_MANY})")
    fitted = fit(table)
    size = max(1, round(share * len(names)))
    drawn = pps(fitted, size, seed, anchored(fitted, table, size))
    missed = left_out(table, size, families(models), seed)
    chosen = {names[position] for position in drawn.items}
    curves = Curves(names, models, fitted, drawn.chances.tolist(), missed)

    def choose(fitted: ItemFit, answers: Floats, size: int, rng: np.random.Generator) -> Places:
        return pps(fitted, size, int(rng.integers(2**32)), anchored(fitted, answers, size)).items

    return chosen, curves, (_coverage(missed), *told(separation(table, share, choose, seed)))


def estimate_scores(drawn: Curves, results: Results) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Scores on the whole benchmark from answers to a subset, with intervals (p-IRT), and notes."""
    table, names, models = answered(results, drawn.items, usual_modality(results))
    positions = {item: position for position, item in enumerate(drawn.items)}
    asked = np.array([positions[name] for name in names], np.intp)
    if not len(asked):
        raise InputError("the runs hold no answer to an item of the subset")
    estimated = Estimator(drawn.fitted).estimate(asked, table)
    width = drawn.missed.half_width()
    rows = pl.DataFrame(
        {
            "model": models,
            "full_score": estimated.scores,
            "full_score_low": np.clip(estimated.scores - width * estimated.errors, 0, 1),
            "full_score_high": np.clip(estimated.scores + width * estimated.errors, 0, 1),
            "part_score": np.nanmean(table, axis=0),
            "n": (~np.isnan(table)).sum(axis=0),
            "of": [len(drawn.items)] * len(models),
        }
    ).sort("full_score", descending=True)
    wider = f"{width / _PLAIN_WIDTH:.2f} times as wide as curves alone make them"
    notes = (f"intervals are {wider}: as far as models of the panel were missed", _coverage(drawn.missed))
    return rows, (*cautions(models, estimated), *notes, *results.notes)


def _coverage(missed: Missed) -> str:
    """What intervals of estimates are worth, from panel models that were left out of the fit."""
    held = f"{missed.covered():.0%} of the full scores of {counted(len(missed.errors), 'model')}"
    return (
        f"95 % intervals, as wide as the rest of the panel sets them, held {held}, each left out of the fit in turn"
    )


def answered(results: Results, items: Sequence[str], modality: str) -> tuple[Floats, list[str], list[str]]:
    """Scores of items × models under one protocol, the items that anybody answered, and the models."""
    scores = results.scores.filter(
        (pl.col("modality") == modality) & pl.col("item").is_in(pl.Series(items).implode())
    )
    seen = Results(scores, results.items, results.models)
    if varied := seen.varied(PROTOCOL):
        ways = f"the models were asked in several ways ({', '.join(varied)} differ)"
        raise InputError(f"{heading('answers')}: {ways}; keep to one")
    parts = side_by_side(seen, [])
    if not parts:
        raise InputError(f"{heading('answers')}: no model was asked with modality {modality}")
    part = parts[0]
    known = np.asarray(~np.isnan(part.scores).all(axis=1), bool)
    names = [name for name, there in zip(part.items, known, strict=True) if there]
    return part.scores[known], names, [str(column[0]) for column in part.columns]
