"""Per item: how many models get it right, whether the better models do, and the votes against its key."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from eyetest.errors import InputError, counted
from eyetest.measures.compare import RIGHT
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings, measure, split
from eyetest.measures.stats.consensus import (
    ReviewAdvice,
    Suspicion,
    make_votes,
    plan_review,
    suspicion,
)
from eyetest.measures.stats.intervals import column_means
from eyetest.measures.stats.item_analysis import fit, item_rest
from eyetest.measures.tables import pivoted
from eyetest.records import MAX_CHOICES, letter

_ENOUGH_MODELS = 8  # fewer say next to nothing about an item's slope
_ROUNDING = 1e-9
_ENOUGH_VOICES = 2
_LETTERS = {position: letter(position) for position in range(MAX_CHOICES)}
_POSITIONS = {mark: position for position, mark in _LETTERS.items()}
_NOTE = "a queue for people, not a verdict: hard items with an attractive wrong option stand here too"


@measure(
    "items",
    "per item: mean score, item-rest correlation, and from 8 models on its 2PL slope and intercept",
    by_tag=False,
)
def items(results: Results, settings: Settings) -> Measured:
    """One row an item of each benchmark under each protocol; ``n`` counts models."""
    around = results.families()
    tables, notes = [], set()
    for key, part in split(results.per_item([*around, "model"]), around):
        items, _, scores = pivoted(part, ["item"], ["model"], "score")
        slopes: list[float | None] = [None] * len(items)
        intercepts = slopes
        if scores.shape[1] >= _ENOUGH_MODELS:
            fitted = fit(np.where(np.isnan(scores), np.nan, scores >= RIGHT - _ROUNDING))
            slopes, intercepts = fitted.slopes.tolist(), fitted.intercepts.tolist()
            notes.add(f"for slope and intercept an item is right from a mean score of {RIGHT:g} on")
            if not fitted.converged:
                notes.add(f"slopes and intercepts still moved after {fitted.rounds} rounds")
        else:
            notes.add(f"slope and intercept need at least {_ENOUGH_MODELS} models")
        table = items.with_columns(
            pl.Series("accuracy", column_means(scores.T), nan_to_null=True),
            pl.Series("item_rest", item_rest(scores), nan_to_null=True),
            pl.Series("slope", slopes, pl.Float64),
            pl.Series("intercept", intercepts, pl.Float64),
        )
        counts = pl.Series("n", np.count_nonzero(~np.isnan(scores), axis=1))
        tables.append(table.with_columns(counts).select(*_as_columns(key), pl.all()))
    if not tables:
        raise NotMeasurable("items: no answer has a score")
    return Measured(pl.concat(tables), tuple(sorted(notes)))


def _as_columns(key: Mapping[str, Any]) -> list[pl.Expr]:
    return [pl.lit(value).alias(name) for name, value in key.items()]


class _Panel(NamedTuple):
    """The items of one benchmark under one protocol, weighed by the models that answered them."""

    name: str
    table: pl.DataFrame
    weighed: Suspicion
    plan: ReviewAdvice


@measure(
    "wrong-golds",
    "golds that models' votes speak against, the most suspect first: a queue for people",
    {
        "people": (
            0.0,
            "the share of items that people answer right: no larger share of golds can be wrong; 0: unknown",
        )
    },
    by_tag=False,
)
def wrong_golds(results: Results, settings: Settings) -> Measured:
    """One row for each item with options, the most suspect first.

    ``ratio``: log likelihood ratio, gold wrong against right; ``flawed``: probability of a wrong gold; ``expected``:
    how many golds are expected to be wrong among this item and those before it. The last two are null with fewer than
    five effectively independent models, and where these models' answers do not identify the number of wrong golds.
    """
    around = results.families()
    people = _share(settings.own["people"])
    answers = _answers(results, around)
    several = answers.filter(pl.col("several").any().over(*around, "item"))
    answers = answers.join(several, on=(*around, "item"), how="anti")
    if not answers.get_column("place").is_not_null().any():
        raise NotMeasurable("wrong-golds: no answer tells which option was chosen, or no item has one known gold")
    parts = list(split(answers, around))
    panels = [
        _judged(key, part, people, settings.seed)
        for key, part in parts
        if part.drop_nulls("place").get_column("model").n_unique() >= _ENOUGH_VOICES
    ]
    if not panels:
        raise NotMeasurable(f"wrong-golds: fewer than {_ENOUGH_VOICES} models chose an option; ask more of them")
    notes = [_NOTE]
    for panel in panels:
        notes += _panel_notes(panel, is_alone=len(panels) == 1)
    if len(panels) < len(parts):
        notes.append(f"left out: {', '.join(around)} with fewer than {_ENOUGH_VOICES} models that chose an option")
    if len(several):
        left = several.select(*around, "item").n_unique()
        notes.append(f"left out: {counted(left, 'item')} where another option than the gold was scored right")
    return Measured(pl.concat([panel.table for panel in panels]), tuple(notes))


def _panel_notes(panel: _Panel, *, is_alone: bool) -> Iterator[str]:
    """How many golds are wrong, how many items to review first, and what to expect of them."""
    about = "" if is_alone else f"{panel.name}: "
    golds, weighed, plan = counted(len(panel.table), "gold"), panel.weighed, panel.plan
    review = f"{about}review the first {plan.items}"
    low, high = (len(panel.table) * share for share in (weighed.low, weighed.high))
    if not weighed.why_no_odds:
        expected = float(np.nansum(weighed.flawed))
        yield f"{about}{expected:.0f} of {golds} are expected to be wrong, interval {low:.0f} to {high:.0f}"
        review += f", of which {plan.expected:.0f} are expected to be wrong"
    else:
        at_most = "" if math.isnan(high) else f"; between 0 and {high:.0f} of {golds} can be wrong"
        order = "there is an order in which to look, and no odds (flawed is null)"
        yield f"{about}{weighed.why_no_odds}{at_most}: {order}"
    found = f"planted keys found at this cut: {plan.found} of {plan.planted}"
    yield f"{review}; {found} (by a plain count of models against the key {plan.counted})"


def _share(people: Any) -> float | None:
    """The setting ``people`` as a number; None where it is not known."""
    try:
        share = float(people)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InputError("wrong-golds: people is a share from 0 (not known) to 1")
    return share or None


def _answers(results: Results, around: Sequence[str]) -> pl.DataFrame:
    """The choice of each model for each item, and its mean score; no choice where tests tie."""
    known = results.items.lazy().filter((pl.col("options") > 1) & pl.col("position").is_not_null())
    choice = pl.col("choice").replace_strict(_POSITIONS, default=None, return_dtype=pl.Int64)
    favourites = pl.col("place").drop_nulls().mode()
    return (
        results.scores.filter(pl.col("score").is_not_null())
        .join(known.select("benchmark", "item", "options", "position", "kinds"), on=("benchmark", "item"))
        .with_columns(choice.alias("place"))
        .group_by(*around, "item", "model", "options", "position")
        .agg(
            pl.col("score").mean(),
            pl.col("kinds").first(),
            favourites.alias("favourites"),
            ((pl.col("place") != pl.col("position")) & (pl.col("score") == 1)).any().alias("several"),
        )
        .with_columns(
            pl.when(pl.col("favourites").list.len() == 1).then(pl.col("favourites").list.first()).alias("place")
        )
        .drop("favourites")
        .sort(*around, "item", "model")
        .collect(engine="streaming")
    )


def _judged(key: Mapping[str, Any], answers: pl.DataFrame, people: float | None, seed: int) -> _Panel:
    """The items of one panel, weighed."""
    items = (
        answers.group_by("item")
        .agg(pl.col("options", "position", "kinds").first(), pl.col("score").mean().alias("accuracy"))
        .sort("item")
    )
    chosen = np.nan_to_num(pivoted(answers, ["item"], ["model"], "place")[2], nan=-1.0).astype(np.int64)
    options, golds = items.get_column("options").to_numpy(), items.get_column("position").to_numpy()
    kinds = np.zeros((len(items), int(options.max(initial=1))), np.int64)
    for row, numbers in enumerate(items.get_column("kinds")):
        if numbers is not None:
            kinds[row, : len(numbers)] = numbers
    weighed = suspicion(chosen, options, golds, kinds, people)
    plan = plan_review(make_votes(chosen, options, golds, kinds), weighed, seed)
    table = (
        items.with_columns(
            pl.Series("flawed", weighed.flawed, nan_to_null=True),
            pl.Series("ratio", weighed.ratios),
            pl.Series("rival", weighed.rivals).replace_strict(_LETTERS, return_dtype=pl.String),
            pl.col("position").replace_strict(_LETTERS, return_dtype=pl.String).alias("gold"),
            pl.Series("for_gold", (chosen == golds[:, None]).sum(axis=1)),
            pl.Series("for_rival", (chosen == weighed.rivals[:, None]).sum(axis=1)),
            pl.Series("n", (chosen >= 0).sum(axis=1)),
        )
        .sort("ratio", "item", descending=[True, False])
        .with_columns(pl.col("flawed").cum_sum().alias("expected"))
        .select("item", "flawed", "expected", "ratio", "gold", "rival", "for_gold", "for_rival", "accuracy", "n")
    )
    return _Panel(
        " ".join(str(value) for value in key.values()), table.select(*_as_columns(key), pl.all()), weighed, plan
    )


MEASURES = (items, wrong_golds)
