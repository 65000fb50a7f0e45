"""What each item does: how many get it right, whether the better models do, and whether they meet on another gold."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.errors import InputError, param, short
from eyetest.measures.results import PROTOCOL, TAG, Measured, NotMeasurable, Results, Settings, refuse_tags
from eyetest.measures.stats.consensus import suspicion
from eyetest.measures.stats.item_analysis import fit, item_rest, mean_scores
from eyetest.records import MAX_CHOICES, letter
from eyetest.wording import counted, listed

_ENOUGH_MODELS = 8
"""Fewer say next to nothing about an item's slope."""
_ROUNDING = 1e-9
_TYPES = {"accuracy": pl.Float64, "item_rest": pl.Float64, "slope": pl.Float64, "intercept": pl.Float64}
UNDECIDED = "undecided"


class Items:
    """One row an item: mean score over models, item-rest correlation, slope and intercept of the 2PL model."""

    name = "items"
    summary = "per item: mean score, item-rest correlation, and from 8 models on its 2PL slope and intercept"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {
        "right": (0.5, "the mean score from which on an item counts as right for slope and intercept"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row an item of each benchmark under each protocol; ``n`` counts models."""
        refuse_tags(self.name, settings)
        around = results.varied(("benchmark", *PROTOCOL))
        right = float(settings.own["right"])
        tables, notes = [], set()
        for key, part in split(results.per_item([*around, "model"]), around):
            items, scores = arranged(part, "score")
            nothing: Sequence[float | None] = [None] * len(items)
            values = {"item": items, "accuracy": mean_scores(scores), "item_rest": item_rest(scores)}
            values |= {"slope": nothing, "intercept": nothing, "n": np.count_nonzero(~np.isnan(scores), axis=1)}
            if scores.shape[1] >= _ENOUGH_MODELS:
                fitted = fit(np.where(np.isnan(scores), np.nan, scores >= right - _ROUNDING))
                values |= {"slope": fitted.slopes, "intercept": fitted.intercepts}
                notes.add(f"for slope and intercept an item is right from a mean score of {right:g} on")
                if not fitted.converged:
                    notes.add(f"slopes and intercepts still moved after {fitted.rounds} rounds")
            else:
                notes.add(f"slope and intercept need at least {_ENOUGH_MODELS} models")
            tables.append(pl.DataFrame(values, schema_overrides=_TYPES).select(*literals(key), pl.all()))
        if not tables:
            raise NotMeasurable("items: no answer has a score")
        return Measured(pl.concat(tables), tuple(sorted(notes)))


class Difficulty:
    """How many items are easy, middling and hard for a panel, by how many of its models get them right."""

    name = "difficulty"
    summary = "items by band of difficulty: how many models of a panel get them right"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {
        "bands": ("easy:6-9,middle:3-5,hard:0-2", "names and numbers of right models, from 0 to the whole panel"),
        "right": (1.0, "the mean score over tests from which on a model has an item right"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a band and tag value; ``undecided`` are items with failed calls that could change their band."""
        bands = parse_bands(str(settings.own["bands"]))
        size = max(high for _, high in bands.values())
        around = [*results.varied(("benchmark", *PROTOCOL)), *results.by_tags(settings.by)]
        counts = _hit_counts(results, around, float(settings.own["right"]))
        rows, other = [], set()
        for key, part in split(counts, around):
            panel = max(part.get_column("models"))
            if panel == size:
                rows += [key | row for row in _band_rows(part, bands, size)]
            else:
                other.add(panel)
        asked = [str(panel) for panel in sorted(other)]
        wrong_size = f"the bands are for a panel of {size}, and {listed(asked, 9)} answered"
        if not rows:
            mend = param("own", f"bands={_thirds(max(other))}")
            raise NotMeasurable(f"difficulty: {wrong_size}; give bands for those: {mend}")
        return Measured(pl.DataFrame(rows, infer_schema_length=None), (f"left out: {wrong_size}",) if other else ())


def split(rows: pl.DataFrame, around: Sequence[str]) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """The rows of each value of some columns; all of them where there are no such columns, and none out of none."""
    if around:
        for key, part in rows.group_by(*around, maintain_order=True):
            yield dict(zip(around, key, strict=True)), part
    elif len(rows):
        yield {}, rows


def arranged(rows: pl.DataFrame, value: str) -> tuple[pl.Series, NDArray[np.float64]]:
    """Items in order, and items × models: from rows of ``item``, ``model`` and a value; nan where there is none."""
    items, models = (rows.select(pl.col(name).unique().sort()) for name in ("item", "model"))
    placed = rows.join(items.with_row_index("row"), on="item").join(models.with_row_index("column"), on="model")
    row, column, number = (placed.get_column(name).to_numpy() for name in ("row", "column", value))
    values = np.full((len(items), len(models)), np.nan)
    values[row, column] = number
    return items.to_series(), values


def literals(key: Mapping[str, Any]) -> list[pl.Expr]:
    """A key as columns."""
    return [pl.lit(value).alias(name) for name, value in key.items()]


def parse_bands(words: str) -> dict[str, tuple[int, int]]:
    """``easy:6-9,middle:3-5,hard:0-2`` as least and most right models; every number has one band."""
    bands: dict[str, tuple[int, int]] = {}
    for word in words.split(","):
        name, _, numbers = (part.strip() for part in word.partition(":"))
        low, _, high = numbers.partition("-")
        if not name or name in bands or not low.strip().isdecimal() or not (high or low).strip().isdecimal():
            raise InputError(f"bands: {short(word)} is not a new NAME:LEAST-MOST, such as easy:6-9")
        bands[name] = (int(low), int(high or low))
    covered = sorted(number for low, high in bands.values() for number in range(low, high + 1))
    if covered != list(range(len(covered))) or any(low > high for low, high in bands.values()):
        raise InputError(f"bands: {short(words)} does not give every number from 0 on exactly one band")
    return bands


def _thirds(panel: int) -> str:
    """Bands that cut a panel in three, to show how they are written."""
    easy, hard = panel - panel // 3, panel // 3
    middle = f"middle:{hard + 1}-{easy - 1}," if hard + 1 < easy else ""
    return f"easy:{max(easy, hard + 1)}-{panel},{middle}hard:0-{hard}"


def _hit_counts(results: Results, around: Sequence[str], right: float) -> pl.DataFrame:
    """How many items have how many hits, with how many models that answered and were asked."""
    score = pl.col("score")
    return (
        results.with_items(*(name for name in around if name.startswith(TAG)))
        .group_by(*around, "item", "model")
        .agg(score.mean())
        .group_by(*around, "item")
        .agg((score >= right - _ROUNDING).sum().alias("hits"), score.count().alias("known"), pl.len().alias("models"))
        .group_by(*around, "hits", "known", "models")
        .agg(pl.len().alias("items"))
        .sort(*around, "hits", "known", "models")
        .collect(engine="streaming")
    )


def _band_rows(counts: pl.DataFrame, bands: Mapping[str, tuple[int, int]], size: int) -> Iterator[dict[str, Any]]:
    items = dict.fromkeys(bands, 0)
    for hits, known, number in counts.select("hits", "known", "items").iter_rows():
        sure = [name for name, (low, high) in bands.items() if low <= hits and hits + size - known <= high]
        band = sure[0] if sure else UNDECIDED
        items[band] = items.get(band, 0) + number
    total = sum(items.values())
    return ({"band": band, "items": number, "share": number / total} for band, number in items.items())


_ENOUGH_VOICES = 2
_FEW_VOICES = 5
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
            if part.drop_nulls("place").get_column("model").n_unique() >= _ENOUGH_VOICES
        ]
        if not tables:
            raise NotMeasurable(f"wrong-golds: fewer than {_ENOUGH_VOICES} models chose an option; ask more of them")
        table = pl.concat(tables)
        doubtful = table.filter(pl.col("ratio") > 0).height
        notes = [_NOTE, f"golds that explain the choices worse than another option: {doubtful:,} of {len(table):,}"]
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


MEASURES = (Items(), Difficulty(), WrongGolds())
