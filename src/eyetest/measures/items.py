"""What each item does: how many get it right, whether the better models do, and whether they meet on another gold."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.measures.aligned import pivoted
from eyetest.measures.results import TAG, Measure, Measured, NotMeasurable, Own, Results, Settings, refuse_tags, split
from eyetest.measures.stats.consensus import suspicion
from eyetest.measures.stats.item_analysis import fit, item_rest, mean_scores
from eyetest.measures.stats.item_states import STATES
from eyetest.records import MAX_CHOICES, letter
from eyetest.wording import counted

_ENOUGH_MODELS = 8
"""Fewer say next to nothing about an item's slope."""
_ROUNDING = 1e-9


_ENOUGH_VOICES = 2
_FEW_VOICES = 5
_LETTERS = {position: letter(position) for position in range(MAX_CHOICES)}
_POSITIONS = {mark: position for position, mark in _LETTERS.items()}
_RATHER = 0.5
_TASK = TAG + "task"
_NOTE = "a queue for people, not a verdict: hard items with an attractive wrong option stand here too"


class Items(Measure):
    """One row an item: mean score over models, item-rest correlation, slope and intercept of the 2PL model."""

    name = "items"
    summary = "per item: mean score, item-rest correlation, and from 8 models on its 2PL slope and intercept"
    own: ClassVar[Own] = {
        "right": (0.5, "the mean score from which on an item counts as right for slope and intercept")
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row an item of each benchmark under each protocol; ``n`` counts models."""
        refuse_tags(self.name, settings)
        around = results.families()
        right = float(settings.own["right"])
        tables, notes = [], set()
        for key, part in split(results.per_item([*around, "model"]), around):
            items, _, scores = pivoted(part, ["item"], ["model"], "score")
            slopes: list[float | None] = [None] * len(items)
            intercepts = slopes
            if scores.shape[1] >= _ENOUGH_MODELS:
                fitted = fit(np.where(np.isnan(scores), np.nan, scores >= right - _ROUNDING))
                slopes, intercepts = fitted.slopes.tolist(), fitted.intercepts.tolist()
                notes.add(f"for slope and intercept an item is right from a mean score of {right:g} on")
                if not fitted.converged:
                    notes.add(f"slopes and intercepts still moved after {fitted.rounds} rounds")
            else:
                notes.add(f"slope and intercept need at least {_ENOUGH_MODELS} models")
            columns = {"accuracy": mean_scores(scores), "item_rest": item_rest(scores)}
            columns |= {"slope": slopes, "intercept": intercepts}
            table = items.with_columns(pl.Series(name, values, pl.Float64) for name, values in columns.items())
            counts = pl.Series("n", np.count_nonzero(~np.isnan(scores), axis=1))
            tables.append(table.with_columns(counts).select(*_as_columns(key), pl.all()))
        if not tables:
            raise NotMeasurable("items: no answer has a score")
        return Measured(pl.concat(tables), tuple(sorted(notes)))


def _as_columns(key: Mapping[str, Any]) -> list[pl.Expr]:
    return [pl.lit(value).alias(name) for name, value in key.items()]


class WrongGolds(Measure):
    """For each item, how likely it is flawed by what models chose: a wrong gold, two right options, or none."""

    name = "wrong-golds"
    summary = "golds that models agree against, the likeliest flawed first: a queue for people"
    own: ClassVar[Own] = {"task": ("task", "the tag that names tasks, inside which errors are alike")}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row an item with options, in the order in which looking is likeliest to change something.

        ``ratio`` is a log likelihood ratio, above 0 where the rival is likelier than the gold.
        """
        refuse_tags(self.name, settings)
        around = results.families()
        task = str(settings.own.get("task", "task"))
        column = _TASK if task == "task" else results.by_tags([task])[0]
        answers = _answers(results, around, column)
        several = answers.filter(pl.col("several").any().over(*around, "item"))
        answers = answers.join(several, on=(*around, "item"), how="anti")
        if not answers.get_column("place").is_not_null().any():
            raise NotMeasurable("wrong-golds: no answer tells which option was chosen, or no item has one known gold")
        panels = list(split(answers, around))
        tables = [
            _judged(part).select(*_as_columns(key), pl.all())
            for key, part in panels
            if part.drop_nulls("place").get_column("model").n_unique() >= _ENOUGH_VOICES
        ]
        if not tables:
            raise NotMeasurable(f"wrong-golds: fewer than {_ENOUGH_VOICES} models chose an option; ask more of them")
        table = pl.concat(tables)
        notes = [_NOTE, _worth(table.get_column("flawed"))]
        if max(int(table.get_column("n").max() or 0) for table in tables) < _FEW_VOICES:  # type: ignore[arg-type]
            notes.append(f"fewer than {_FEW_VOICES} models: an order in which to look, hardly evidence")
        if len(tables) < len(panels):
            notes.append(
                f"left out: {', '.join(around)} with fewer than {_ENOUGH_VOICES} models that chose an option"
            )
        if len(several):
            left = several.select(*around, "item").n_unique()
            notes.append(f"left out: {counted(left, 'item')} where another option than the gold was scored right")
        return Measured(table, tuple(notes))


def _worth(flawed: pl.Series) -> str:
    """What the list is worth by its own odds."""
    sent = flawed.filter(flawed > _RATHER)
    rather = f"{counted(len(sent), 'item')} of {len(flawed):,} rather flawed than sound"
    return f"{rather}; by these odds {sent.sum():.0f} of them are, and {flawed.sum():.0f} of all"


def _answers(results: Results, around: Sequence[str], task: str) -> pl.DataFrame:
    """What each model chose for each item, and its mean score; no choice where tests of the item disagree evenly."""
    unknown = [pl.lit(None, pl.String).alias(name) for name in ("kinds", task) if name not in results.items.columns]
    items = results.items.with_columns(unknown).with_columns(pl.col(task).alias(_TASK))
    known = items.lazy().filter((pl.col("options") > 1) & pl.col("position").is_not_null())
    choice = pl.col("choice").replace_strict(_POSITIONS, default=None, return_dtype=pl.Int64)
    favourites = pl.col("place").drop_nulls().mode()
    return (
        results.scores.filter(pl.col("score").is_not_null())
        .join(known.select("benchmark", "item", "options", "position", "kinds", _TASK), on=("benchmark", "item"))
        .with_columns(choice.alias("place"))
        .group_by(*around, "item", "model", "options", "position")
        .agg(
            pl.col("score").mean(),
            pl.col("kinds", _TASK).first(),
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
        .agg(pl.col("options", "position", "kinds", _TASK).first(), pl.col("score").mean().alias("accuracy"))
        .sort("item")
    )
    chosen = np.nan_to_num(pivoted(answers, ["item"], ["model"], "place")[2], nan=-1.0).astype(np.int64)
    options = items.get_column("options").to_numpy()
    kinds = np.zeros((len(items), int(options.max(initial=1))), np.int64)
    for row, own in enumerate(items.get_column("kinds")):
        if own is not None:
            kinds[row, : len(own)] = own
    tasks = items.get_column(_TASK).to_list()
    doubt = suspicion(chosen, options, items.get_column("position").to_numpy(), kinds, tasks)
    return (
        items.with_columns(
            pl.Series("flawed", 1 - doubt.states[:, 0]),
            pl.Series("likeliest", [STATES[state] for state in doubt.states.argmax(axis=1)], pl.String),
            pl.Series("ratio", doubt.ratios),
            pl.Series("rival", doubt.rivals).replace_strict(_LETTERS, return_dtype=pl.String),
            pl.col("position").replace_strict(_LETTERS, return_dtype=pl.String).alias("gold"),
            pl.Series("for_gold", (chosen == items.get_column("position").to_numpy()[:, None]).sum(axis=1)),
            pl.Series("for_rival", (chosen == doubt.rivals[:, None]).sum(axis=1)),
            pl.Series("n", (chosen >= 0).sum(axis=1)),
        )
        .select("item", "flawed", "likeliest", "ratio", "gold", "rival", "for_gold", "for_rival", "accuracy", "n")
        .sort("flawed", "ratio", "item", descending=[True, True, False])
    )


MEASURES = (Items(), WrongGolds())
