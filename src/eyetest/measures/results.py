"""What measures are given and what they give back: scores narrowed to what was asked for, settings, tables."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar, Protocol

import polars as pl

from eyetest.errors import EyetestError, InputError, heading, nearest, param, short
from eyetest.records import Condition, ModelEntry
from eyetest.records.order import SHOWN, order_word
from eyetest.wording import counted, listed

PROTOCOL = ("sight", "ask", "shots", "method", "history")
"""How a question was put: scores under different protocols are different scores."""
TESTS = ("template", "order", "marks", "trial")
"""The same question in other words, another order, once more: scores over these are averaged."""
CAPTION_METRICS = ("bleu", "cider", "meteor", "rouge")
"""How metrics of captions begin: their scores have scales of their own."""
TAG = "tag."
"""Columns of the item table that hold tags begin so."""
ITEM_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "item", "cluster", "group", "own_id"), pl.String),
    **{"options": pl.Int64, "gold": pl.String, "position": pl.Int64, "kinds": pl.List(pl.Int64)},
    "golds": pl.List(pl.Int64),
    "yes": pl.Boolean,
}
"""The columns of the item table, beside its tags."""
SENTENCE_KINDS = ("descriptive", "analytical", "other")
REPLY_TYPES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "request", "text"), pl.String),
    **dict.fromkeys(SENTENCE_KINDS, pl.Int64),
    "copied": pl.Float64,
    "candidates": pl.String,
    "says": pl.String,
}
"""The columns of the table of replies; how many sentences of each kind a judge found, how like a transcript is to its
screenshot's text, what each choice weighs (`read_candidates`): null where none was asked for. ``says`` is yes or no,
where a benchmark asks for that and a reply says one of them."""
EXCHANGED_TYPES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "request", "whose"), pl.String),
    "worth": pl.Float64,
}
"""The columns of the table of replies to twins: what each is worth by the gold of each item of its family."""
AXES = (*Condition.__struct_fields__, "trial")
Own = Mapping[str, tuple[Any, str]]
"""A measure's own settings: their defaults and what they mean."""


class NotMeasurable(EyetestError):  # noqa: N818 (says why a measure does not apply; nothing went wrong)
    """A measure that does not apply to these results, and why."""


@dataclass(frozen=True)
class Results:
    """Scores on one or more benchmarks, and what is known of their items and models.

    ``scores``: ``benchmark``, then the columns of `eyetest.records.Score`. Lazy, because there may be many millions.
    ``items``: a row an item, with the columns of `ITEM_TYPES` and a column ``tag.NAME`` for each tag. ``cluster``
    names what makes items depend on each other (a picture, a passage). ``options`` is their number, ``gold`` the
    letter of the right choice in the order as written, ``position`` its place from 0; all are null for text items.
    ``kinds`` numbers answers that recur from item to item, such as yes and no, option by option; null where they do
    not. ``golds`` are the places of all right choices, ``yes`` whether yes is right where yes or no is.
    ``own_id`` is what the item is called in its own benchmark, by which orders of options are drawn, where that is
    not ``item``. Empty where only verdicts are known.
    """

    scores: pl.LazyFrame
    items: pl.DataFrame
    models: Mapping[str, ModelEntry] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What has to be said beside whatever is made of them."""
    replies: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=REPLY_TYPES))
    """What was said: a row a benchmark and request, read only by measures of words and of likelihoods."""
    exchanged: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=EXCHANGED_TYPES))
    """Replies in words to originals and twins, held to each other's golds: read only by measures of twins."""

    @property
    def tags(self) -> list[str]:
        """The tags that items have."""
        return [name.removeprefix(TAG) for name in self.items.columns if name.startswith(TAG)]

    def with_items(self, *columns: str, by: Sequence[str] = ()) -> pl.LazyFrame:
        """The scores, and beside each these columns of the item table and some tags.

        Every item has a cluster, if only itself.
        """
        wanted = self.items.lazy().select("benchmark", "item", *columns, *self.by_tags(by))
        joined = self.scores.join(wanted, on=("benchmark", "item"), how="left")
        return joined.with_columns(pl.coalesce("cluster", "item")) if "cluster" in columns else joined

    def every_item(self, *columns: str) -> pl.DataFrame:
        """What could have been answered: the items of every benchmark that has scores, with these columns of them.

        Where nothing is known of a benchmark, these are the items that anybody has an answer to.
        """
        scored = self.scores.select(pl.col("benchmark").cast(pl.String).unique()).collect(engine="streaming")
        known = self.items.select("benchmark", "item", *columns).join(scored, on="benchmark", how="semi")
        unknown = scored.join(known, on="benchmark", how="anti")
        if unknown.is_empty():
            return known
        named = self.scores.select(pl.col("benchmark", "item").cast(pl.String)).join(
            unknown.lazy(), on="benchmark", how="semi"
        )
        return pl.concat([known, named.unique().collect(engine="streaming")], how="diagonal")

    def by_tags(self, by: Sequence[str]) -> list[str]:
        """The columns that hold some tags; an unknown tag is refused."""
        for tag in by:
            if tag not in self.tags:
                known = nearest(tag, self.tags) if self.tags else "the items have no tags"
                raise InputError(f"no tag {short(tag)}; {known}")
        return [TAG + tag for tag in by]

    def varied(self, axes: Sequence[str]) -> list[str]:
        """Those of some columns in which the scores differ."""
        different = self.scores.select(axes).unique().collect(engine="streaming")
        return [axis for axis in axes if different.get_column(axis).n_unique() > 1]

    def keys(self, by: Sequence[str] = ()) -> list[str]:
        """What tells series of scores apart: model, benchmark and protocol where they vary, and some tags."""
        return [*self.varied(["benchmark"]), "model", *self.varied(PROTOCOL), *self.by_tags(by)]

    def families(self, by: Sequence[str] = ()) -> list[str]:
        """What models are compared within: benchmark and protocol where they vary, and some tags."""
        return [*self.varied(("benchmark", *PROTOCOL)), *self.by_tags(by)]

    def per_item(self, keys: Sequence[str]) -> pl.DataFrame:
        """The mean score of each item over its tests: ``*keys, item, cluster, score, tests``. No failed calls."""
        grouped = self.with_items("cluster").group_by(*keys, "item", "cluster")
        mean = grouped.agg(pl.col("score").mean(), pl.col("score").count().alias("tests"))
        return mean.filter(pl.col("tests") > 0).sort(*keys, "item").collect(engine="streaming")


@dataclass(frozen=True)
class Settings:
    """What the user may say to every measure, and ``own``, what only one of them understands."""

    by: tuple[str, ...] = ()
    level: float = 0.95
    seed: int = 0
    resamples: int = 2_000
    own: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """A table of estimates: columns that say of what, then values.

    Beside a value ``x`` stand ``x_low`` and ``x_high`` where it has an interval. ``n`` counts what it rests on.
    What is undefined is null.
    """

    table: pl.DataFrame
    notes: tuple[str, ...] = ()


class Measure(Protocol):
    """One measure."""

    name: str
    summary: str
    own: ClassVar[Own] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """Compute it, or raise `NotMeasurable`."""
        ...


def refuse_tags(name: str, settings: Settings) -> None:
    """What has no rows by tag says so, rather than leave the user's words unheard."""
    if settings.by:
        mend = f"leave out {param('by')}, or keep to some items with {param('where')}"
        raise NotMeasurable(f"{name}: it has no rows by tag; {mend}")


def split(rows: pl.DataFrame, keys: Sequence[str]) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """The rows of each value of some columns, in order; all of them where there are no such columns, none of none."""
    if keys:
        for key, part in rows.group_by(*keys, maintain_order=True):
            yield dict(zip(keys, key, strict=True)), part
    elif len(rows):
        yield {}, rows


def table_of(rows: Sequence[Mapping[str, Any]], **types: type[pl.DataType]) -> pl.DataFrame:
    """Rows as a table, in which a value that may have bounds is a number, also where it is undefined throughout."""
    bounded = [name for name in rows[0] if f"{name}_low" in rows[0]]
    floats = {name + end: pl.Float64 for name in bounded for end in ("", "_low", "_high")}
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={**floats, **types})


EXTERNAL = "external"
"""The setting that is a table from outside and no word: a score of each model."""
_YES_OR_NO = {"yes": True, "no": False, "True": True, "False": False, "true": True, "false": False}
Wanted = tuple[str, Sequence[str]]
"""A column or a tag, and the values that may stand there, as a user writes them."""
_OF_ITEMS = ("benchmark", "item")
_OF_ANSWERS = ("outcome", "reading", "choice", "rule", "metric", "score")
"""What an answer came to: whoever keeps to some of it asks about the items that have such answers."""
_USUAL_SIGHT = "image"


def own_settings(chosen: Measure, said: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a measure; a name that it does not know is refused."""
    own = {key: default for key, (default, _) in chosen.own.items()}
    for key, value in said.items():
        if key not in own:
            known = nearest(key, own) if own else "it has no settings of its own"
            raise InputError(f"{heading('own')}: {chosen.name} does not know {short(key)}; {known}")
        own[key] = value if key == EXTERNAL else _like(own[key], key, value)
    return own


def _like(default: Any, key: str, value: Any) -> Any:
    """What the user said as the kind of value that the default is. Several names are one list with commas."""
    if isinstance(value, type(default)):
        word = value
    else:
        word = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    readers: Mapping[type, Callable[[Any], Any]] = {bool: _yes_or_no, int: int, float: _number}
    try:
        return readers.get(type(default), str)(word)
    except KeyError:
        raise InputError(f"{heading('own', key)}: found {short(value)}, expected yes or no") from None
    except ValueError:
        raise InputError(f"{heading('own', key)}: found {short(value)}, expected a number") from None


def _yes_or_no(word: Any) -> bool:
    return word if isinstance(word, bool) else _YES_OR_NO[word]


def _number(word: Any) -> float:
    value = float(word)
    if not isfinite(value):
        raise ValueError(word)
    return value


def read_external(path: Path) -> dict[str, float]:
    """A score of each model that somebody else gave: an arena's Elo."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} is no CSV: expected lines of model,score") from None
    scores: dict[str, float] = {}
    for number, row in enumerate(rows):
        try:
            model, score = row[0], _number(row[1])
        except (IndexError, ValueError):
            if number:
                raise InputError(
                    f"{path}, line {number + 1}: expected model,score; found {short(','.join(row))}"
                ) from None
        else:
            scores[model] = score
    if not scores:
        raise InputError(f"{path} holds no score: expected lines of model,score")
    return scores


def read_where(words: Iterable[str]) -> list[Wanted]:
    """What ``model=A,B`` means: A or B, or the one model whose name has a comma."""
    wanted: list[Wanted] = []
    for said in words:
        column, equals, values = said.partition("=")
        if not equals:
            raise InputError(f"{heading('where')}: found {short(said)}, expected COLUMN=VALUE")
        wanted.append((column, [values.strip(), *(value.strip() for value in values.split(","))]))
    return wanted


def narrowed(results: Results, where: Iterable[Wanted]) -> Results:
    """Only the scores that the user's words allow."""
    scores, items = results.scores, results.items
    types = scores.collect_schema()
    if not scores.head(1).collect().height:
        raise InputError("nothing to measure: no answer is about an item of the benchmark")
    for column, wanted in where:
        if column not in types and column not in results.tags:
            known = nearest(column, [*types, *results.tags])
            raise InputError(f"{heading('where')}: no column or tag {short(column)}; {known}")
        if column in types:
            there = scores.select(pl.col(column).unique()).collect().to_series()
            kept = scores.filter(pl.col(column).is_in([value for value in there if as_written(value) in wanted]))
        if column not in types or column in _OF_ITEMS:
            named = column if column in types else TAG + column
            there = items.get_column(named)
            items = items.filter(pl.col(named).is_in(wanted))
        if column not in types:
            kept = scores.join(items.lazy(), on=("benchmark", "item"), how="semi")
        if not kept.head(1).collect().height:
            known = nearest(wanted[0], {as_written(value) for value in there if value is not None})
            raise InputError(f"{heading('where', f'{column}={short(wanted[0])}')}: nothing is left; {known}")
        if column in _OF_ANSWERS:
            items = items.join(
                kept.select("benchmark", "item").unique().collect(), on=("benchmark", "item"), how="semi"
            )
        scores = kept
    return replace(results, scores=scores, items=items)


def only_models(results: Results, model: Iterable[str], without: Iterable[str]) -> Results:
    """The scores of some models, or of all but some; a name may be a list with commas."""
    there = values_of(results, "model") if model or without else []
    named: dict[str, list[str]] = {}
    for option, words in (("model", model), ("without", without)):
        names = [name for word in words for name in ([word] if word in there else word.split(","))]
        for name in names:
            if name not in there:
                raise InputError(f"{heading(option)}: no scores of {short(name)}; {nearest(name, there)}")
        named[option] = names
    kept = [name for name in named["model"] or there if name not in named["without"]]
    if there and not kept:
        raise InputError(f"{heading('without')}: no model is left")
    return narrowed(results, [("model", kept)]) if len(kept) < len(there) else results


def under_one_sight(results: Results, said: str | None) -> tuple[Results, tuple[str, ...]]:
    """The scores under the sights that the user names; where nothing is said and there are several, under image."""
    sights = values_of(results, "sight")
    if said is not None:
        [(_, wanted)] = read_where([f"sight={said}"])
        unknown = [name for name in wanted[1:] if name not in sights]
        if unknown and wanted[0] not in sights:
            raise InputError(
                f"{heading('sight')}: no answers under {short(unknown[0])}; {nearest(unknown[0], sights)}"
            )
        return narrowed(results, [("sight", wanted)]), ()
    if len(sights) < 2:
        return results, ()
    if _USUAL_SIGHT not in sights:
        raise InputError(
            f"answers under several sights, and none is {_USUAL_SIGHT}; "
            f"choose with {param('sight')}: {listed(sights)}"
        )
    kept = narrowed(results, [("sight", [_USUAL_SIGHT])])
    others = listed([sight for sight in sights if sight != _USUAL_SIGHT])
    notes = [f"compared under sight {_USUAL_SIGHT}; there are answers under {others} too ({param('sight')})"]
    there = {*values_of(kept, "model")}
    absent = [model for model in values_of(results, "model") if model not in there]
    if absent:
        notes.append(f"{counted(len(absent), 'model')} without answers under {_USUAL_SIGHT}: {listed(absent)}")
    return kept, tuple(notes)


def values_of(results: Results, column: str) -> list[str]:
    """What stands in a column of the scores."""
    return sorted(results.scores.select(pl.col(column).unique()).collect(engine="streaming").to_series())


def as_written(value: Any) -> str:
    """A value as a user writes it: the score 1.0 is 1, an order that was shown is what was shown."""
    if isinstance(value, int) and value >= SHOWN:
        return order_word(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
