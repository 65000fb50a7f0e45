"""Golds that may be wrong: items on which skilled models meet on another option."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.measures.items import arranged, literals, split
from eyetest.measures.results import PROTOCOL, Measured, NotMeasurable, Results, Settings, refuse_tags
from eyetest.measures.stats.consensus import suspicion
from eyetest.records import MAX_CHOICES, letter
from eyetest.wording import counted

_ENOUGH_MODELS = 2
_FEW_MODELS = 5
_LETTERS = {place: letter(place) for place in range(MAX_CHOICES)}
_PLACES = {mark: place for place, mark in _LETTERS.items()}
_NOTE = "a queue for people, not a verdict: hard items with an attractive wrong option stand here too"


class WrongGolds:
    """For each item, how much better the best rival explains what models chose than the gold does."""

    name = "wrong-golds"
    summary = "golds that models agree against, the most suspicious first: a queue for people"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row an item with options. ``ratio`` is a log likelihood ratio, above 0 where the rival is likelier."""
        refuse_tags(self.name, settings)
        around = results.varied(("benchmark", *PROTOCOL))
        answers = _answers(results, around)
        several = answers.filter(pl.col("several").any().over(*around, "item"))
        answers = answers.join(several, on=(*around, "item"), how="anti")
        if not answers.get_column("place").is_not_null().any():
            raise NotMeasurable("wrong-golds: no answer tells which option was chosen, or no item has one known gold")
        panels = list(split(answers, around))
        tables = [
            _judged(part).select(*literals(key), pl.all())
            for key, part in panels
            if part.drop_nulls("place").get_column("model").n_unique() >= _ENOUGH_MODELS
        ]
        if not tables:
            raise NotMeasurable(f"wrong-golds: fewer than {_ENOUGH_MODELS} models chose an option; ask more of them")
        table = pl.concat(tables)
        doubtful = table.filter(pl.col("ratio") > 0).height
        notes = [_NOTE, f"golds that explain the choices worse than another option: {doubtful:,} of {len(table):,}"]
        if max(int(table.get_column("n").max() or 0) for table in tables) < _FEW_MODELS:  # type: ignore[arg-type]
            notes.append(f"fewer than {_FEW_MODELS} models: an order in which to look, hardly evidence")
        if len(tables) < len(panels):
            notes.append(
                f"left out: {', '.join(around)} with fewer than {_ENOUGH_MODELS} models that chose an option"
            )
        if len(several):
            left = several.select(*around, "item").n_unique()
            notes.append(f"left out: {counted(left, 'item')} where another option than the gold was scored right")
        return Measured(table, tuple(notes))


def _answers(results: Results, around: Sequence[str]) -> pl.DataFrame:
    """What each model chose for each item, and its mean score; no choice where tests of the item disagree evenly."""
    items = results.items if "kinds" in results.items.columns else results.items.with_columns(kinds=None)
    known = items.lazy().filter((pl.col("options") > 1) & pl.col("position").is_not_null())
    choice = pl.col("choice").replace_strict(_PLACES, default=None, return_dtype=pl.Int64)
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


def _judged(answers: pl.DataFrame) -> pl.DataFrame:
    items = (
        answers.group_by("item")
        .agg(pl.col("options", "position", "kinds").first(), pl.col("score").mean().alias("accuracy"))
        .sort("item")
    )
    places = arranged(answers.with_columns(pl.col("place").fill_null(-1)), "place")[1]
    chosen = np.nan_to_num(places, nan=-1.0).astype(np.int64)
    options = items.get_column("options").to_numpy()
    kinds = np.zeros((len(items), int(options.max(initial=1))), np.int64)
    for row, own in enumerate(items.get_column("kinds")):
        if own is not None:
            kinds[row, : len(own)] = own
    found = suspicion(chosen, options, items.get_column("position").to_numpy(), kinds)
    return (
        items.with_columns(
            pl.Series("ratio", found.ratios),
            pl.Series("rival", found.rivals).replace_strict(_LETTERS, return_dtype=pl.String),
            pl.col("position").replace_strict(_LETTERS, return_dtype=pl.String).alias("gold"),
            pl.Series("for_gold", (chosen == items.get_column("position").to_numpy()[:, None]).sum(axis=1)),
            pl.Series("for_rival", (chosen == found.rivals[:, None]).sum(axis=1)),
            pl.Series("n", (chosen >= 0).sum(axis=1)),
        )
        .select("item", "ratio", "gold", "rival", "for_gold", "for_rival", "accuracy", "n")
        .sort("ratio", "item", descending=[True, False])
    )


MEASURES = (WrongGolds(),)
