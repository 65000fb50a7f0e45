"""Items of benchmarks with answers, verdicts and findings about them, as tables that queries filter and count."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, floor, inf, log10
from pathlib import Path
from sys import float_info
from threading import Lock
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError, InputError, counted, listed, nearest, short
from eyetest.measures.results import TAG
from eyetest.pages.item_links import SPANS, VERDICTS_TOGETHER, Query, read_span
from eyetest.records import ImageRef, Item, Verdict, columns
from eyetest.results.gather import scores_if_known
from eyetest.results.replies import ItemCase, RunReplies, gold_doubts
from eyetest.results.scores import chosen_scorer
from eyetest.runs.stored import is_in, one_line_if_damaged
from eyetest.studio.answers import KEY, Answers, ModelAccuracy
from eyetest.studio.sources import Tell, item_clusters, judgement_tables, named_benchmarks, open_places, read_items

_MOST_VALUES, _BINS = 60, 10
_VIEWS = 64
_DOUBTS = {"position": pl.Int64, "ratio": pl.Float64}
_STORIES = 200  # items whose answers are read at once
_FACETS = {"gold": "gold", "verdict": "verdict", "finding": "findings", "benchmark": "benchmark"}
_WORD = re.compile(r'"([^"]+)"|([^\s"]+)')


class ItemRow(msgspec.Struct, frozen=True, kw_only=True):
    """An item in a list, with the hash of its first image; ``source``: the benchmark that holds it."""

    position: int
    id: str
    benchmark: str
    source: int
    question: str
    gold: str | None
    image: str | None
    images: int
    findings: list[str]
    verdict: str | None
    difficulty: float | None
    blind_right: int | None
    blind_asked: int


class ItemStory(NamedTuple):
    """Everything known about one item."""

    id: str
    item: Item
    row: ItemRow
    findings: list[dict[str, Any]]  # of audits about it: kind, title, evidence, severity
    verdicts: tuple[Verdict, ...]
    cases: list[ItemCase]
    unanswered: int


@dataclass(frozen=True, eq=False)
class CollectionView:
    """The result of a query: the positions of the items, in order, and their counts."""

    collection: "Collection"
    positions: NDArray[np.int64]
    unknown_ids: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """By facet (``gold``, ``verdict``, ``finding``, ``benchmark``, ``tag.NAME``): values and items."""
        here = pl.col("position").is_in(pl.Series(self.positions, dtype=pl.Int64).implode())
        facets = self.collection.facets.items()
        return {name: dict(rows.filter(here)["value"].value_counts().iter_rows()) for name, (rows, _) in facets}

    @cached_property
    def accuracy(self) -> Sequence[ModelAccuracy]:
        """The accuracy of every model under every condition on these items."""
        return self.collection.answers.accuracy(self.positions)


class Collection:
    """Items of one or more benchmarks (``items``, a row each) with all that is known about them."""

    def __init__(self, places: Sequence[Path], tell: Tell = lambda line: None) -> None:
        """Open benchmarks, runs, refinements and audits as one; ``tell`` reports work that takes a while.

        Runs that were not scored are scored, as a measure would.
        """
        sources = open_places(places, tell)
        self._lock = Lock()
        self.notes: list[str] = []
        self.benchmarks: Mapping[str, Benchmark] = named_benchmarks(sources.benchmarks)
        self.sources = list(self.benchmarks.values())
        names = {benchmark.manifest.fingerprint: name for name, benchmark in self.benchmarks.items()}
        self._runs: list[RunReplies] = []
        for run, about in sources.runs:
            scores, notes = scores_if_known(run, about, chosen_scorer(run), tell)
            self._runs.append(RunReplies(run, about, names[about.manifest.fingerprint], scores))
            self.notes += notes
        items = read_items(self.benchmarks).with_row_index("position").cast({"position": pl.Int64})
        self.answers = Answers(items, self._read_scores(), item_clusters(items))
        items = items.drop("group", "hashes")
        self._verdicts, self._findings, unknown = judgement_tables(sources.judged, items, names)
        if unknown:
            missing = f"{counted(unknown, 'item')} with verdicts or findings in no benchmark that was opened"
            self.notes.append(f"{missing}: left out; name the benchmark as well")
        last = self._verdicts.group_by("position", maintain_order=True).last().select("position", "verdict")
        kinds = self._findings.group_by("position").agg(pl.col("kind").unique().sort().alias("findings"))
        items = pl.concat([items, self.answers.statistics()], how="horizontal")
        for table in (last, kinds):
            items = items.join(table, on="position", how="left", maintain_order="left")
        id_ = pl.col("item")
        if items.get_column("benchmark").n_unique() > 1:
            apart = pl.concat_str("benchmark", pl.lit("/"), "item")
            id_ = pl.when(pl.col("item").is_duplicated()).then(apart).otherwise("item")
        self.items = items.select("position", id_.alias("id"), pl.exclude("position")).rechunk()
        self._doubt: pl.Series | None = None
        self.binned: dict[str, pl.Series] = {}  # tags with many different numbers, which are counted in bins
        self.view = lru_cache(_VIEWS)(self._view)
        self._having = lru_cache(_VIEWS)(self._search)

    @property
    def name(self) -> str:
        """The display name."""
        return listed(self.items.get_column("benchmark").unique(maintain_order=True)) or "nothing"

    def __len__(self) -> int:
        return len(self.items)

    @property
    def tags(self) -> list[str]:
        """Tags with few enough values to choose from."""
        return [facet.removeprefix(TAG) for facet in self.facets if facet.startswith(TAG)]

    @cached_property
    def facets(self) -> dict[str, tuple[pl.DataFrame, list[str]]]:
        """What items can be counted by: ``position, value`` (several rows for a list), and all values in order."""
        facets = {}
        tags = {name: name for name in self.items.columns if name.startswith(TAG)}
        for facet, column in (_FACETS | tags).items():
            rows = self.items.select("position", value=column)
            rows = (rows.explode("value") if rows.schema["value"].is_nested() else rows).drop_nulls("value")
            words = rows.get_column("value").unique()
            if facet in _FACETS or 2 <= len(words) <= _MOST_VALUES:
                facets[facet] = rows, words[_as_numbers(words).arg_sort()].to_list()
            elif len(words) > _MOST_VALUES and (bins := _bins(_as_numbers(rows.get_column("value")))) is not None:
                facets[facet] = rows.with_columns(value=bins.cast(pl.String)), bins.unique().sort().to_list()
                self.binned[facet] = _as_numbers(self.items.get_column(column))
        return facets

    @cached_property
    def columns(self) -> list[str]:
        """Columns to sort by."""
        return [*(name for name, type_ in self.items.schema.items() if not type_.is_nested()), "doubt"]

    @cached_property
    def everything(self) -> CollectionView:
        """All items."""
        return self.view(Query())

    # Queries

    def _view(self, query: Query) -> CollectionView:
        """The items that a query selects; the last views are cached as ``view``."""
        items = self.items.lazy()
        by = query.sort.removeprefix("-")
        if query.doubt or by == "doubt":
            items = items.with_columns(self.doubts())
        _refuse_unknown("column", by, self.columns)
        rows = items.filter(*self._conditions(query)).select("position", *([by] if by else ())).collect()
        if query.text and len(rows):
            rows = rows.filter(pl.col("position").is_in(self._having(query.text).implode()))
        if by:
            rows = rows.with_columns(_as_numbers(rows.get_column(by)))
            rows = rows.sort(by, descending=query.sort.startswith("-"), nulls_last=True, maintain_order=True)
        unknown = tuple(id_ for id_ in query.ids if id_ not in self._index)
        return CollectionView(self, rows.get_column("position").to_numpy(), unknown)

    def _conditions(self, query: Query) -> Iterator[pl.Expr]:
        """Conditions on columns. An unknown value is no error: the link may be older than the items."""
        tags = [name.removeprefix(TAG) for name in self.items.columns if name.startswith(TAG)]
        yield pl.lit(value=True)
        for wanted_answer in query.answers:
            _refuse_unknown("model", wanted_answer.model, self.answers.models)
        yield from map(self.answers.condition, query.answers)
        if query.ids:
            yield is_in("id", query.ids)
        if query.verdict or query.stage:
            rows = self._verdicts_of(query.verdict, query.stage)
            yield pl.col("position").is_in(rows.get_column("position").implode())
        wanted = {"findings": query.findings} if query.findings else {}
        for name in dict.fromkeys(name for name, _ in query.tags):
            _refuse_unknown("tag", name, tags)
            wanted[TAG + name] = tuple(value for tag, value in query.tags if tag == name)
        for column, values in wanted.items():
            nested, own = self.items.schema[column].is_nested(), pl.col(column)
            if column in self.facets and column in self.binned:
                spans = [read_span(column, value) for value in values]
                yield pl.any_horizontal(pl.lit(self.binned[column]).is_between(*span) for span in spans)
                continue
            yield own.list.set_intersection(list(values)).list.len() > 0 if nested else own.is_in(values)
        for column in ("gold", "benchmark"):
            if value := getattr(query, column):
                yield pl.col(column) == value
        for column in SPANS:
            if span := getattr(query, column):
                yield pl.col(column).is_between(*span)

    def _verdicts_of(self, verdict: str, stage: str) -> pl.DataFrame:
        """Verdicts of a stage, or without one the last verdicts; one of them, or one that a name stands for."""
        rows = self._verdicts
        rows = rows.filter(stage=stage) if stage else rows.group_by("position", maintain_order=True).last()
        return rows.filter(_is_verdict(verdict))

    def judged_counts(self, query: Query) -> dict[str, dict[str, int]]:
        """The number of items for each ``stage`` and each ``verdict`` in place of the query's own."""
        others = self.view(msgspec.structs.replace(query, verdict="", stage="", sort=""))
        here = pl.col("position").is_in(pl.Series(others.positions).implode())
        rows = {
            "stage": self._verdicts.filter(_is_verdict(query.verdict)),
            "verdict": self._verdicts_of("", query.stage),
        }
        number = pl.col("position").n_unique()
        return {name: dict(some.filter(here).group_by(name).agg(number).iter_rows()) for name, some in rows.items()}

    @property
    def stages(self) -> list[str]:
        """Stages in the order in which items reach them."""
        turn = pl.int_range(pl.len()).over("position").alias("turn")
        stages = self._verdicts.select("stage", turn).group_by("stage", maintain_order=True)
        return stages.agg(pl.col("turn").max()).sort("turn", maintain_order=True).get_column("stage").to_list()

    def _search(self, words: str) -> pl.Series:
        """Positions of items that have all words, or quoted phrases, in their own text or in one reply."""
        wanted = [phrase or word for phrase, word in _WORD.findall(words.lower())]
        terms = pl.all_horizontal(True, *(pl.col("text").str.contains(word, literal=True) for word in wanted))
        found = self.texts.to_frame().select(terms).to_series()
        for run in self._runs:
            replied = is_in("item", run.having(terms)) & (pl.col("benchmark") == run.benchmark)
            found = found | self.items.select(replied).to_series()
        return found.arg_true().cast(pl.Int64)

    @cached_property
    def texts(self) -> pl.Series:
        """Questions and options in lower case, for the search."""
        options = self._options.list.join("\n").fill_null("")
        text = pl.concat_str(pl.col("question").fill_null(""), options, separator="\n").str.to_lowercase()
        return self.items.select(text.alias("text")).to_series()

    @cached_property
    def _options(self) -> pl.Series:
        """The texts of all options, by position; read on demand, since they are most of the data."""
        texts = pl.col("choices").list.eval(pl.element().struct.field("text")).alias("options")
        scans = [benchmark.scan(["choices"]).select(texts) for benchmark in self.benchmarks.values()]
        nothing = pl.DataFrame(schema={"options": pl.List(pl.String)})
        return pl.concat([nothing, *(scan.collect(engine="streaming") for scan in scans)]).to_series()

    @property
    def table(self) -> pl.DataFrame:
        """All items with all computed columns, and the texts of their options after the question."""
        items = self.items.drop("options", "source", "row", "asked_gold")
        items.insert_column(items.get_column_index("question") + 1, self._options)
        return items.with_columns(self.doubts())

    # Answers

    def _read_scores(self) -> pl.DataFrame:
        """The scores of all runs; an answer that two runs hold is one more test of its item."""
        texts = pl.col(*KEY, "outcome", "reading").cast(pl.String).fill_null("").cast(pl.Categorical)
        schema = dict.fromkeys((*KEY, "outcome", "reading"), pl.Categorical) | {"score": pl.Float64}
        frames = [pl.DataFrame(schema={"benchmark": pl.String, "item": pl.String, **schema})]
        for run in self._runs:
            own = (pl.lit(run.benchmark).alias("benchmark"), pl.col("item").cast(pl.String))
            with one_line_if_damaged(run.run.path):
                rows = run.scores.select(*own, texts, pl.col("score").cast(pl.Float64))
                frames.append(rows.collect(engine="streaming"))
        return pl.concat(frames)

    def doubts(self) -> pl.Series:
        """The doubt of each item's gold, by position; computed on demand, since it may take a few seconds."""
        with self._lock:
            if self._doubt is None:
                doubts = pl.concat([pl.DataFrame(schema=_DOUBTS), *self._doubts()])
                rows = self.items.select("position").join(doubts, on="position", how="left", maintain_order="left")
                self._doubt = rows.get_column("ratio").alias("doubt")
        return self._doubt

    def _doubts(self) -> Iterator[pl.DataFrame]:
        for name in self.benchmarks:
            runs = [run for run in self._runs if run.benchmark == name]
            items = self.items.with_columns(texts=self._options).filter(
                pl.col("asked_gold").is_not_null(), benchmark=name
            )
            if runs and len(items):
                yield gold_doubts(items, runs)

    # Items

    def rows(self, view: CollectionView, start: int = 0, count: int = 60) -> list[ItemRow]:
        """Some of the items of a view, in its order."""
        return self._rows(view.positions[start : start + count])

    def _rows(self, positions: Sequence[int] | NDArray[np.int64]) -> list[ItemRow]:
        items = self.items[positions].select(ItemRow.__struct_fields__).with_columns(pl.col("findings").fill_null([]))
        return [ItemRow(**row) for row in items.to_dicts()]

    @cached_property
    def _index(self) -> dict[str, int]:
        return {id_: position for position, id_ in enumerate(self.items.get_column("id"))}

    def _position(self, id_: str) -> int:
        if id_ not in self._index:
            hint = nearest(id_, list(self._index)[:5_000], 3) if self._index else "there is none"
            raise InputError(f"no item {short(id_)}; {hint}")
        return self._index[id_]

    def records(self, ids: Sequence[str]) -> dict[str, Item]:
        """The items alone."""
        positions = [self._position(id_) for id_ in ids]
        rows = self.items[positions].select("id", "source", "row")
        stored: dict[str, Item] = {}
        for (source,), own in rows.group_by("source", maintain_order=True):
            taken = self.sources[int(str(source))].take(own.get_column("row").to_list())
            stored |= zip(own.get_column("id"), taken, strict=True)
        return stored

    def item(self, id_: str) -> ItemStory:
        """Everything known about one item."""
        return next(self.stories([id_]))

    def stories(self, ids: Sequence[str], *, replies: bool = True) -> Iterator[ItemStory]:
        """Everything about many items, far cheaper than one by one; replies are optional."""
        for start in range(0, len(ids), _STORIES):
            some = ids[start : start + _STORIES]
            rows, items = self._rows([self._position(id_) for id_ in some]), self.records(some)
            asked = rows if replies else []
            answers = {
                name: [
                    run.cases([items[row.id] for row in asked if row.benchmark == name])
                    for run in self._runs
                    if run.benchmark == name
                ]
                for name in {row.benchmark for row in asked}
            }
            for row in rows:
                item, verdicts = items[row.id], tuple(self.verdicts(row.position))
                own = [run[item.id] for run in answers.get(row.benchmark, ()) if row in asked]
                cases, unanswered = [case for some, _ in own for case in some], sum(left for _, left in own)
                findings = self._findings.filter(position=row.position).to_dicts()
                yield ItemStory(row.id, item, row, findings, verdicts, cases, unanswered)

    def verdicts(self, position: int) -> list[Verdict]:
        """The verdicts of stages on an item, in their order."""
        table = self._verdicts
        start, end = (table.get_column("position").search_sorted(at, side="left") for at in (position, position + 1))
        rows = table[start:end].to_dicts()
        values = ({name: row[name] for name in columns(Verdict) if row.get(name) is not None} for row in rows)
        return [msgspec.convert(value, Verdict) for value in values]

    def image(self, sha256: str) -> tuple[ImageRef, bytes] | None:
        """An image of some item by its hash; None where no item has it, or its file is missing or damaged."""
        image, *holders = self._images.get(sha256, (None,))
        for benchmark in holders:
            with suppress(EyetestError, OSError):
                return image, benchmark.images.read(image)
        return None

    @cached_property
    def _images(self) -> dict[str, tuple[Any, ...]]:
        """All images by hash, with the benchmarks that hold them; read on demand."""
        images: dict[str, tuple[Any, ...]] = {}
        for benchmark in self.sources:
            scan = benchmark.scan(["images"]).explode("images").drop_nulls("images").unnest("images")
            for row in scan.unique().collect(engine="streaming").to_dicts():
                images[row["sha256"]] = (*images.get(row["sha256"], (ImageRef(**row),)), benchmark)
        return images


def _refuse_unknown(what: str, name: str, known: Sequence[str]) -> None:
    if name and name not in known:
        raise InputError(f"no {what} {short(name)}; {nearest(name, known) if known else 'there is none'}")


def _is_verdict(verdict: str) -> pl.Expr:
    kinds = VERDICTS_TOGETHER.get(verdict, (verdict,))
    return pl.col("verdict").is_in(kinds) if verdict else pl.lit(value=True)


def _as_numbers(words: pl.Series) -> pl.Series:
    """A column of words that are all numbers as numbers; any other as it is."""
    numbers = words.cast(pl.Float64, strict=False) if words.dtype == pl.String else words
    return numbers if numbers.null_count() == words.null_count() else words


def _bins(numbers: pl.Series) -> pl.Series | None:
    """The bin of each number (``0..<10``: round bounds, disjoint, the last with its end), in order; None where some
    word is no number, or they are too close together or too far apart.
    """
    if not numbers.dtype.is_float() or not numbers.is_finite().all():
        return None
    least, most = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
    width = (most - least) / _BINS
    if not float_info.min <= width < inf:
        return None
    unit = 10.0 ** floor(log10(width))
    step = next(unit * times for times in (1, 2, 5, 10) if unit * times >= width)
    first = floor(least / step)
    bounds = [f"{at * step:.12g}" for at in range(first, max(first + 1, ceil(most / step)) + 1)]
    if len(set(bounds)) < len(bounds):
        return None
    between = ["..<"] * (len(bounds) - 2) + [".."]
    labels = [f"{low}{to}{high}" for low, to, high in zip(bounds, between, bounds[1:], strict=False)]
    bins = np.searchsorted([float(bound) for bound in bounds[1:-1]], numbers.to_numpy(), side="right")
    return pl.Series("value", [labels[at] for at in bins], pl.Enum(labels))
