"""Input and output of measures: scores narrowed to what was asked for, settings, tables."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any

import polars as pl

from eyetest.errors import EyetestError, InputError, counted, heading, listed, nearest, param, short
from eyetest.grammar import Filter, Filterable, choose_names, read_filters, read_pairs
from eyetest.records import GIVEN, VALUES_BETWEEN, WITH_MEDIUM, Condition, ModelEntry, read_order
from eyetest.records.tables import PROPERTIES, SHOWN, USUAL_PROMPTS, order_word

PROTOCOL = ("modality", "ask", "shots", "method", "history", "prompts")  # other protocols give other scores
TESTS = ("template", "order", "letters", "sample")  # tests of the same question: scores over these are averaged
CAPTION_METRICS = ("bleu", "cider", "meteor", "rouge")  # prefixes of metrics with scales of their own
LITERAL_METRICS = ("mathvista", "relaxed-chartqa")  # compare a whole reply, as the published programs do
_WHOLE_NUMBERS = ("template", "order", "sample")
TAG = "tag."  # columns of the item table that hold tags begin so
ALL_MODELS = "all models"  # the name of the row over all of them
MODEL = "model."  # a property of models begins so where a tag may stand
MEMBER = "member"  # the column of scores that names the model where ``model`` names its group
ITEM_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "item", "cluster", "group", "own_id", "content", "gold"), pl.String),
    **{"options": pl.Int64, "position": pl.Int64, "kinds": pl.List(pl.Int64), "golds": pl.List(pl.Int64)},
    "yes": pl.Boolean,
    "medium": pl.String,
}
"""The columns of the item table, beside its tags."""
SENTENCE_KINDS = ("descriptive", "analytical", "other")
REPLY_TYPES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "request", "text"), pl.String),
    **dict.fromkeys(SENTENCE_KINDS, pl.Int64),
    **{"copied": pl.Float64, "candidates": pl.String, "says": pl.String},
    **{"seconds": pl.Float64, "tokens_in": pl.Int64, "tokens_out": pl.Int64},
}
"""Columns of the reply table: sentences of each kind by a judge, similarity of a transcript to its screenshot's text,
weights of choices (`read_candidates`), yes or no in ``says`` where asked for; null where none was asked for.
"""
EXCHANGED_TYPES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "request", "whose"), pl.String),
    "worth": pl.Float64,
}
"""Columns of the table of replies to twins: the score of each by the gold of each item of its family."""
AXES = (*Condition.__struct_fields__, "sample")
READ = ("chosen", "text")  # the readings of answers that were read
UNREAD = ~(
    pl.col("reading").cast(pl.String).is_in(READ)
    | ((pl.col("metric").cast(pl.String) == GIVEN) & pl.col("score").is_not_null())
).fill_null(value=False)
"""Answers with neither a choice or text nor an imported score: refused, ambiguous, cut off, unparsed, failed."""
Own = Mapping[str, tuple[Any, str]]  # a measure's own settings: their defaults and what they mean


class NotMeasurable(EyetestError):  # noqa: N818 (says why a measure does not apply; nothing went wrong)
    """A measure that does not apply to these results, and why."""


@dataclass(frozen=True)
class Results:
    """Scores (``benchmark`` and the columns of `Score`, lazy) on one or more benchmarks, their items and models.
    ``items`` has the columns of `ITEM_TYPES` and ``tag.NAME``: ``cluster`` is what makes items dependent, ``gold``
    the letter and ``position`` the place of the right choice as written (null for text items), ``golds`` all right
    places, ``kinds`` numbers recurring answers, ``yes`` whether yes is right, ``own_id`` the id by which orders are
    drawn if not ``item``, ``content`` a hash of what models see, ``medium`` what it shows (``image``,
    ``image+audio``, empty for text alone). Empty where only verdicts are known.
    """

    scores: pl.LazyFrame
    items: pl.DataFrame
    models: Mapping[str, ModelEntry] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # notes for every result made of them
    replies: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=REPLY_TYPES))
    """Replies: a row per benchmark and request, read only by measures of words and of likelihoods."""
    exchanged: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=EXCHANGED_TYPES))
    """Replies in words to originals and twins, scored by each other's golds: read only by measures of twins."""

    def values(self, tag: str) -> pl.Series:
        """The values of a tag, one for each item that has it, or several where it is a list."""
        column = self.items.get_column(TAG + tag).drop_nulls().cast(pl.String)
        return column.str.split(VALUES_BETWEEN).explode()

    @property
    def tags(self) -> list[str]:
        """The tags that items have."""
        return [name.removeprefix(TAG) for name in self.items.columns if name.startswith(TAG)]

    def with_items(self, *columns: str, by: Sequence[str] = ()) -> pl.LazyFrame:
        """The scores with these columns of the item table and some tags; an item without a cluster is its own."""
        wanted = self.items.lazy().select("benchmark", "item", *columns, *self.by_tags(by))
        joined = self.scores.join(wanted, on=("benchmark", "item"), how="left")
        return joined.with_columns(pl.coalesce("cluster", "item")) if "cluster" in columns else joined

    def every_item(self, *columns: str) -> pl.DataFrame:
        """The items of every benchmark with scores; of an unknown benchmark those with any answer."""
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

    def groups(self, properties: Sequence[str]) -> dict[str, str]:
        """The group of each model by some ``model.PROPERTY``; an unknown property is refused."""
        names = [name.removeprefix(MODEL) for name in properties]
        given = {name: {model: entry.fact(name) for model, entry in self.models.items()} for name in names}
        for name, values in given.items():
            if not any(values.values()):
                facts = [*PROPERTIES, *(fact for entry in self.models.values() for fact in entry.facts)]
                known = f"name models.yaml with {param('models')}" if name in facts else nearest(name, facts)
                raise InputError(f"no model has the property {short(name)}; {known}")
        groups = {model: [given[name][model] for name in names] for model in self.models}
        return {model: " · ".join(map(str, group)) for model, group in groups.items() if None not in group}

    def pooled(self, groups: Mapping[str, str]) -> "Results":
        """Groups in the place of their models, whose names are in the column ``member``."""
        model = pl.col("model").cast(pl.String)
        scores = self.scores.filter(model.is_in(list(groups)))
        named = scores.with_columns(model.alias(MEMBER), model.replace_strict(groups, return_dtype=pl.String))
        return replace(self, scores=named)

    @property
    def members(self) -> list[str]:
        """The column that tells the models of a group apart, where groups are measured."""
        return [MEMBER] if MEMBER in self.scores.collect_schema() else []

    def varied(self, axes: Sequence[str]) -> list[str]:
        """Those of some columns in which the scores differ."""
        different = self.scores.select(axes).unique().collect(engine="streaming")
        return [axis for axis in axes if different.get_column(axis).n_unique() > 1]

    @property
    def protocol(self) -> list[str]:
        """The axes of the protocol in which scores differ; modality and prompts wherever they are not the usual ones.

        A score without the image, or with a video, says so also where all scores are of that kind.
        """
        usual = {"modality": WITH_MEDIUM[0], "prompts": USUAL_PROMPTS}
        unusual = [(pl.col(axis).cast(pl.String) != value).any().alias(axis) for axis, value in usual.items()]
        is_named = self.scores.select(unusual).collect().row(0, named=True)
        varied = self.varied(PROTOCOL)
        return [axis for axis in PROTOCOL if axis in varied or is_named.get(axis)]

    def keys(self, by: Sequence[str] = ()) -> list[str]:
        """Columns that identify series of scores: model, benchmark and protocol where they vary, and some tags."""
        return [*self.varied(["benchmark"]), "model", *self.protocol, *self.by_tags(by)]

    def families(self, by: Sequence[str] = ()) -> list[str]:
        """Columns within which models are compared: benchmark and protocol where they vary, and some tags."""
        return [*self.varied(["benchmark"]), *self.protocol, *self.by_tags(by)]

    def item_means(self, keys: Sequence[str]) -> pl.LazyFrame:
        """The mean score of each item over its tests: ``*keys, item, cluster, score, tests``. No failed calls.
        In a group of models, the mean over its models that have one.
        """
        tags, unit = (key for key in keys if key.startswith(TAG)), [*keys, "item", "cluster"]
        grouped = self.with_items("cluster", *tags).group_by(*unit, *self.members)
        means = grouped.agg(pl.col("score").mean(), pl.col("score").count().alias("tests"))
        known = means.filter(pl.col("tests") > 0)
        return known.group_by(unit).agg(pl.col("score").mean(), pl.col("tests").sum()) if self.members else known

    def per_item(self, keys: Sequence[str]) -> pl.DataFrame:
        """The same, sorted."""
        return self.item_means(keys).sort(*keys, "item").collect(engine="streaming")


@dataclass(frozen=True)
class Settings:
    """Settings of every measure, and ``own``, those of a single measure."""

    by: tuple[str, ...] = ()
    level: float = 0.95
    seed: int = 0
    resamples: int = 2_000
    own: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """A table of estimates: keys, then values ``x`` with ``x_low`` and ``x_high``; ``n``; undefined is null."""

    table: pl.DataFrame
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measure:
    """A measure: ``measure`` computes its table, or raises `NotMeasurable`; ``own`` are its own settings."""

    name: str
    summary: str
    own: Own
    measure: Callable[[Results, Settings], Measured]


def measure(
    name: str,
    summary: str,
    own: Own | None = None,
    *,
    by_tag: bool = True,
    unread: str = "",
    pools: bool = False,
) -> Callable[[Callable[[Results, Settings], Measured]], Measure]:
    """Register a measure; without ``by_tag`` it has no rows by tag. ``unread``: column beside the unread share.
    ``pools``: whether its values for a group of models are means over them; else it is measured within each group.
    """
    defaults = {key: value for key, (value, _) in (own or {}).items()}

    def made(compute: Callable[[Results, Settings], Measured]) -> Measure:
        @wraps(compute)
        def checked(results: Results, settings: Settings) -> Measured:
            if properties := [word for word in settings.by if word.startswith(MODEL)]:
                by = tuple(word for word in settings.by if word not in properties)
                rest = replace(settings, by=by)
                return _by_groups(results, properties, lambda part: checked(part, rest), pools=pools)
            if settings.by and not by_tag:
                instead = f"leave out {param('by')}, or keep to some items with {param('where')}"
                raise NotMeasurable(f"{name}: it has no rows by tag; {instead}")
            results, notes = by_value(results, settings.by)
            measured = compute(results, replace(settings, own={**defaults, **settings.own}))
            table = with_unread(measured.table, results, unread, settings.by) if unread else measured.table
            if notes and "item" in table.columns:
                table = table.with_columns(pl.col("item").str.split(VALUES_BETWEEN).list.first())
            return Measured(table, (*measured.notes, *notes))

        return Measure(name, summary, own or {}, checked)

    return made


def _by_groups(
    results: Results, properties: Sequence[str], measured: Callable[[Results], Measured], *, pools: bool
) -> Measured:
    """Groups of models in place of models, or the measure within each group, one table below the other."""
    there, column = values_of(results, "model"), " · ".join(properties)
    groups = {model: group for model, group in results.groups(properties).items() if model in there}
    without = [model for model in there if model not in groups]
    notes = [f"{counted(len(without), 'model')} without {column} left out: {listed(without)}"] if without else []
    if pools:
        found = measured(results.pooled(groups))
        sizes = [f"{group}: {number}" for group, number in sorted(Counter(groups.values()).items())]
        notes.append(f"means over the models of {column} ({listed(sizes, 9)}); intervals are for these models")
        table = found.table.rename({"model": column}) if "model" in found.table.columns else found.table
        return Measured(table, (*notes, *found.notes))
    tables: list[pl.DataFrame] = []
    for group in sorted(set(groups.values())):
        members = [model for model in groups if groups[model] == group]
        part = replace(results, scores=results.scores.filter(pl.col("model").cast(pl.String).is_in(members)))
        try:
            found = measured(part)
        except NotMeasurable as reason:
            notes.append(f"{column} {group}: {reason}")
            continue
        tables.append(found.table.select(pl.lit(group).alias(column), pl.all()))
        notes += [note for note in found.notes if note not in notes]
    if not tables:
        raise NotMeasurable(notes[-1] if notes else f"no model has {column}")
    return Measured(pl.concat(tables, how="diagonal_relaxed"), tuple(notes))


def by_value(results: Results, by: Sequence[str]) -> tuple[Results, tuple[str, ...]]:
    """Results in which an item with several values of a tag stands once for each, and a note on it."""
    lists = [tag for tag in by if tag in results.tags and len(results.values(tag)) > results.items[TAG + tag].count()]
    if not lists:
        return results, ()
    items = results.items
    for column in (TAG + tag for tag in lists):
        items = items.with_columns(pl.col(column).str.split(VALUES_BETWEEN)).explode(column)
    value = pl.concat_str([pl.lit(""), *(TAG + tag for tag in lists)], separator=VALUES_BETWEEN, ignore_nulls=True)
    whose = pl.col("item").alias("whose")
    items = items.with_columns(whose, pl.coalesce("own_id", "item").alias("own_id"), pl.col("item") + value)
    each, key = items.lazy().select("benchmark", "whose", new="item"), ["benchmark", "whose"]
    scores = results.scores.with_columns(pl.col("benchmark").cast(pl.String), whose.cast(pl.String))
    every = scores.join(each, on=key, how="left").with_columns(pl.coalesce("new", "whose").alias("item"))
    exchanged = results.exchanged.join(each, on=key).select("benchmark", "request", whose="new", worth="worth")
    note = f"an item with several values of {listed(lists)} counts once for each: the groups overlap"
    return replace(results, scores=every.drop("new", "whose"), items=items.drop("whose"), exchanged=exchanged), (
        note,
    )


def with_unread(table: pl.DataFrame, results: Results, beside: str = "", by: Sequence[str] = ()) -> pl.DataFrame:
    """The table with the share of unread answers of each row's series, last or after ``beside`` and its bounds."""
    keys = [key for key in results.keys(by) if key in table.columns]
    if "model" not in keys:
        return table
    rows = results.with_items(*(key for key in keys if key.startswith(TAG)))
    shares = rows.group_by(keys).agg(UNREAD.mean().alias("unread")).collect(engine="streaming")
    shares = shares.cast({key: table.schema[key] for key in keys})
    joined = table.join(shares, on=keys, how="left", nulls_equal=True, maintain_order="left")
    places = [place for place, name in enumerate(table.columns, 1) if name in (beside, f"{beside}_high")]
    return joined.select(table.columns).insert_column(max(places, default=table.width), joined.get_column("unread"))


def split(rows: pl.DataFrame, keys: Sequence[str]) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """The rows of each value of some columns, in order; all of them where there are no such columns, none of none."""
    if keys:
        for key, part in rows.group_by(*keys, maintain_order=True):
            yield dict(zip(keys, key, strict=True)), part
    elif len(rows):
        yield {}, rows


def table_of(rows: Sequence[Mapping[str, Any]], **types: type[pl.DataType]) -> pl.DataFrame:
    """Rows as a table, in which a value that may have bounds is a number, also where all are undefined."""
    bounded = [name for name in rows[0] if f"{name}_low" in rows[0]]
    floats = {name + end: pl.Float64 for name in bounded for end in ("", "_low", "_high")}
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={**floats, **types})


EXTERNAL = "external"  # the setting that is a table from outside and no word: a score of each model
_OF_ITEMS = ("benchmark", "item")
_OF_ANSWERS = ("outcome", "reading", "choice", "rule", "metric", "score")  # to narrow by these narrows items too


def own_settings(chosen: Measure, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a measure, which are words; an unknown name is refused."""
    own = {key: default for key, (default, _) in chosen.own.items()}
    for key, value in given.items():
        if key not in own:
            known = nearest(key, own) if own else "it has no settings of its own"
            raise InputError(f"{heading('own')}: {chosen.name} does not know {short(key)}; {known}")
        words = map(str, value) if isinstance(value, list | tuple) else [str(value)]
        own[key] = value if key == EXTERNAL else ",".join(words)
    return own


def read_axes(text: str, setting: str, axes: Sequence[str] = ("benchmark", *AXES)) -> dict[str, str | int]:
    """Read ``benchmark=A,modality=image`` by axis; ``setting`` is where the text was given."""
    values: dict[str, str | int] = {}
    if not text:
        return values
    for axis, text_value in read_pairs(text, "own", "modality=no-image", between=",", form="AXIS=VALUE").items():
        value = text_value.strip()
        if not value:
            raise InputError(f"{heading('own', setting)}: {axis} has no value, expected AXIS=VALUE")
        if axis not in axes:
            raise InputError(f"{heading('own', setting)}: no axis {short(axis)}; {nearest(axis, axes)}")
        try:
            is_order = axis == "order" and not value.isdecimal()
            values[axis] = read_order(value) if is_order else int(value) if axis in _WHOLE_NUMBERS else value
        except ValueError:
            raise InputError(f"{heading('own', setting)}: {axis} is a whole number; found {short(value)}") from None
    return values


def refuse_absent(results: Results, axes: Mapping[str, str | int], setting: str) -> None:
    """Raise where no score has one of these values, which would then select nothing without a word."""
    for axis, value in axes.items():
        word = as_written(value)
        there = written_values(results, axis)
        if word not in there:
            where = heading("own", f"{setting}={axis}={word}")
            raise InputError(f"{where}: no score has this {axis}; {nearest(word, there)}")


def read_external(path: Path) -> dict[str, float]:
    """Read external scores of models, such as an arena's Elo: a CSV with the columns model and score."""
    try:
        table = pl.read_csv(path, columns=[0, 1], new_columns=["model", "score"], infer_schema=False)
        scores = table.cast({"score": pl.Float64}).filter(pl.col("score").is_finite())
    except (pl.exceptions.PolarsError, UnicodeError) as error:
        raise InputError(f"{path} is no CSV of model,score: {str(error).splitlines()[0]}") from None
    if scores.is_empty():
        raise InputError(f"{path} holds no score: expected the columns model,score")
    return dict(scores.iter_rows())


def filters_of(results: Results, words: Iterable[str], option: str = "where") -> list[Filter]:
    """The filters ``model=A,B`` or ``modality=image,shots=two`` of a user, checked against these scores."""
    columns = [*results.scores.collect_schema(), *results.tags]
    columns += [MODEL + name for name in _properties(results)]
    return read_filters(words, Filterable(columns, cache(partial(written_values, results)), option, "column or tag"))


def _properties(results: Results) -> list[str]:
    """The properties that are known of any model."""
    names = [*PROPERTIES, *(fact for entry in results.models.values() for fact in entry.facts)]
    entries = results.models.values()
    return [name for name in dict.fromkeys(names) if any(entry.fact(name) is not None for entry in entries)]


def written_values(results: Results, column: str) -> set[str]:
    """The values of a column, a tag or a ``model.PROPERTY`` in the scores, as a user writes them."""
    if column.startswith(MODEL):
        groups = results.groups([column])
        return {groups[model] for model in values_of(results, "model") if model in groups}
    if column in results.scores.collect_schema():
        values = results.scores.select(pl.col(column).unique()).collect(engine="streaming").to_series()
        return {as_written(value) for value in values if value is not None}
    return {*results.values(column)}


def narrowed(results: Results, where: Iterable[Filter | tuple[str, Sequence[str]]]) -> Results:
    """Only the scores that all conditions allow; a value that is not there beside the other conditions is refused."""
    filters = [Filter(*condition) for condition in where]
    if results.scores.head(1).collect().is_empty():
        raise InputError("nothing to measure: no answer is about an item of the benchmark")
    kept = results
    for condition in filters:
        kept = _narrowed_by(kept, condition, filters)
    for condition in filters:
        left = written_values(kept, condition.column)
        for value in condition.values:
            if value not in left:
                raise _nothing_left(results, condition, value, filters)
    return kept


def _narrowed_by(results: Results, condition: Filter, filters: Sequence[Filter]) -> Results:
    """The scores with one of a condition's values in its column."""
    scores, items = results.scores, results.items
    column, values, _ = condition
    types = scores.collect_schema()
    if column.startswith(MODEL):
        members = [model for model, group in results.groups([column]).items() if group in values]
        kept = scores.filter(pl.col("model").cast(pl.String).is_in(members))
    elif column in types:
        there = scores.select(pl.col(column).unique()).collect().to_series()
        wanted = [value for value in there if value is not None and as_written(value) in values]
        kept = scores.filter(pl.col(column).is_in(wanted))
    elif column in results.tags:
        words = pl.col(TAG + column).cast(pl.String).str.split(VALUES_BETWEEN)
        items = items.filter(words.list.eval(pl.element().is_in(list(values))).list.any())
        kept = scores.join(items.lazy(), on=_OF_ITEMS, how="semi")
    else:
        near = nearest(column, [*types, *results.tags])
        raise InputError(f"{heading(condition.option)}: no column or tag {short(column)}; {near}")
    if column in _OF_ITEMS:
        items = items.filter(pl.col(column).cast(pl.String).is_in(list(values)))
    if kept.head(1).collect().is_empty():
        raise _nothing_left(results, condition, values[0], filters)
    if column in _OF_ANSWERS:
        items = items.join(kept.select(_OF_ITEMS).unique().collect(), on=_OF_ITEMS, how="semi")
    return replace(results, scores=kept, items=items)


def _nothing_left(results: Results, condition: Filter, value: str, filters: Sequence[Filter]) -> InputError:
    """Why a value of a condition selects nothing: it is not there, or not together with the other conditions."""
    where = heading(condition.option, f"{condition.column}={short(value)}")
    there = written_values(results, condition.column)
    if value not in there:
        return InputError(f"{where}: nothing is left; {nearest(value, there)}")
    rest = [f"{other.column}={','.join(other.values)}" for other in filters if other is not condition]
    beside = f" together with {listed(rest)}" if rest else ""
    return InputError(f"{where}: no answer has this{beside}; leave out {short(value)} or the other condition")


def models_filter(results: Results, model: Sequence[str]) -> list[Filter]:
    """The condition that keeps some models, none where no model is named; a name may have commas."""
    if not model:
        return []
    return [Filter("model", choose_names(model, "model", values_of(results, "model"), "scores of"), "model")]


def only_models(results: Results, model: Sequence[str]) -> Results:
    """The scores of some models, of all where none is named."""
    named = models_filter(results, model)
    return narrowed(results, named) if named else results


def under_one_modality(results: Results) -> tuple[Results, tuple[str, ...]]:
    """The scores under one modality, that with the medium where there are several, and notes on the others."""
    modalities = values_of(results, "modality")
    if len(modalities) < 2:
        return results, ()
    usual = next((modality for modality in WITH_MEDIUM if modality in modalities), None)
    if usual is None:
        choice = param("where", f"modality={modalities[0]}")
        raise InputError(
            f"answers under several modalities, none is {WITH_MEDIUM[0]}: {listed(modalities)}; choose: {choice}"
        )
    kept = narrowed(results, [("modality", [usual])])
    others = [modality for modality in modalities if modality != usual]
    choice = param("where", f"modality={others[0]}")
    notes = [f"compared under modality {usual}; there are answers under {listed(others)} too ({choice})"]
    if absent := sorted({*values_of(results, "model")} - {*values_of(kept, "model")}):
        notes.append(f"{counted(len(absent), 'model')} without answers under {usual}: {listed(absent)}")
    return kept, tuple(notes)


def values_of(results: Results, column: str) -> list[str]:
    """Values of a column of the scores."""
    return sorted(results.scores.select(pl.col(column).unique()).collect(engine="streaming").to_series())


def as_written(value: Any) -> str:
    """A value as a user writes it: the score 1.0 is 1, an order is the order shown."""
    if isinstance(value, int) and value >= SHOWN:
        return order_word(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
