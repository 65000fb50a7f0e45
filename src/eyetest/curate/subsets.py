"""A small subset of a benchmark by a panel's answers, and scores on the whole estimated from answers to it."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from eyetest.curate.subset_choice import FEWEST_MODELS, Aim, choice_notes, final_design, validate
from eyetest.curate.subset_designs import draw_subset
from eyetest.curate.subset_estimates import estimate
from eyetest.curate.subset_files import Curves
from eyetest.errors import InputError, counted, heading, listed
from eyetest.measures import Results
from eyetest.measures.results import PROTOCOL, values_of
from eyetest.measures.stats.intervals import Floats
from eyetest.measures.stats.item_analysis import fit
from eyetest.measures.tables import side_by_side
from eyetest.records import WITH_MEDIUM

WHY_SO_MANY = "fewer cannot hold three out to try the choice on others"


def usual_modality(results: Results) -> str:
    """The modality whose answers count: that with the medium, or the only one."""
    modalities = values_of(results, "modality")
    usual = next((modality for modality in WITH_MEDIUM if modality in modalities), None)
    if usual is None and len(modalities) > 1:
        raise InputError(f"{heading('answers')}: several modalities, none is {WITH_MEDIUM[0]}: {listed(modalities)}")
    return usual or modalities[0]


def draw_small(
    results: Results, items: Sequence[str], share: float, aim: Aim, seed: int
) -> tuple[set[str], Curves, tuple[str, ...]]:
    """Fit a panel's answers and draw a share of the items they are about: the items, the curves, and notes."""
    modality = usual_modality(results)
    table, names, models = answered(results, items, modality)
    if len(models) < FEWEST_MODELS:
        there = f"{counted(len(models), 'model')} with modality {modality}"
        raise InputError(f"{heading('answers')}: {there}; a subset takes at least {FEWEST_MODELS} ({WHY_SO_MANY})")
    size = max(1, round(share * len(names)))
    validated = validate(table, share, aim, seed)
    design = final_design(table, size, aim, validated, seed)
    subset = draw_subset(table, design, size, seed)
    chosen = {names[position] for position in subset.items}
    return chosen, Curves(names, subset, models, fit(table)), tuple(choice_notes(design, aim, validated))


def estimate_scores(basis: Curves, results: Results) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Scores on the whole benchmark from answers to a subset, with intervals, and notes."""
    there = [basis.items[place] for place in basis.subset.items]
    table, names, models = answered(results, there, usual_modality(results))
    asked = dict(zip(names, table, strict=True))
    every = np.array([asked.get(name, np.full(len(models), np.nan)) for name in there])
    estimated = estimate(basis.fitted, basis.subset, every)
    width = estimated.half_widths
    rows = pl.DataFrame(
        {
            "model": models,
            "part_score": np.nanmean(table, axis=0),
            "full_score": estimated.scores,
            "full_score_low": np.clip(estimated.scores - width, 0, 1),
            "full_score_high": np.clip(estimated.scores + width, 0, 1),
            "n": estimated.n,
            "of": [len(basis.items)] * len(models),
        }
    ).sort("part_score", descending=True)
    order = "models are ordered by part_score, which ranks better; full_score estimates the score on all items"
    unscored = [model for model in values_of(results, "model") if model not in models]
    left_out = f"{listed(unscored)}: left out, no answer to an item of the subset is scored"
    return rows, (order, *([left_out] if unscored else []), *results.notes)


def answered(results: Results, items: Sequence[str], modality: str) -> tuple[Floats, list[str], list[str]]:
    """Scores of items × models under one protocol, the items with a score, and the models."""
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
    return parts[0].scores, list(parts[0].items), [str(model) for (model,) in parts[0].columns]
