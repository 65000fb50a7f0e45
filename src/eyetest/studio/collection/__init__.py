"""Benchmarks, runs, refinements and audits opened as one collection of items, which queries select and count."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError, InputError, nearest, short
from eyetest.measures.results import TAG
from eyetest.measures.stats.intervals import Bools
from eyetest.pages.item_links import Query
from eyetest.records import ImageRef, Item, Verdict, letter
from eyetest.results.cases import ItemCase
from eyetest.results.gather import scores_if_known
from eyetest.scoring import Scorer
from eyetest.studio.collection.answers import AnswerArrays, ModelAccuracy, answer_arrays
from eyetest.studio.collection.items import (
    ItemColumns,
    named_benchmarks,
    place_scores,
    unknown_items,
    without_repeated,
)
from eyetest.studio.collection.replies import GoldDoubts, RunReplies, search_terms
from eyetest.studio.collection.sources import CollectionSources, ItemFinding, Judgements, Tell, open_places
from eyetest.wording import listed

_MOST_VALUES = 60
_SPANS = ("difficulty", "gain", "disagreement")
_OPTIONS, _DOUBT = "options", "doubt"
_VIEWS = 64
_STORIES = 200  # items whose answers are read at once
_FACETS = {"gold": "gold", "verdict": "verdict", "stage": "stage", "finding": "findings", "benchmark": "benchmark"}


@dataclass(frozen=True, eq=False)
class CollectionView:
    """The result of a query: the positions of the items, in order, and their counts."""

    query: Query
    positions: NDArray[np.int64]
    unknown_ids: tuple[str, ...]
    _facets: Mapping[str, pl.Series]
    _answers: AnswerArrays

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """By facet (``gold``, ``verdict``, ``stage``, ``finding``, ``benchmark``, ``tag.NAME``): values and items."""
        return {facet: _value_counts(column[self.positions]) for facet, column in self._facets.items()}

    @cached_property
    def accuracy(self) -> Sequence[ModelAccuracy]:
        """The accuracy of every model under every condition on these items."""
        return self._answers.accuracy(self.positions)


def _value_counts(column: pl.Series) -> dict[str, int]:
    """How many items have each value, the most frequent first; a column may hold lists."""
    values = column.explode() if column.dtype.is_nested() else column
    counts = values.drop_nulls().value_counts().sort("count", values.name, descending=[True, False])
    return dict(counts.iter_rows())


class ItemRow(msgspec.Struct, frozen=True, kw_only=True):
    """An item in a list, with the hash of its first image. An item that no benchmark has any more has no question."""

    position: int
    id: str
    benchmark: str
    question: str | None
    gold: str | None
    image: str | None
    images: int
    tags: dict[str, str]
    findings: tuple[str, ...]
    verdict: str | None
    stage: str | None
    difficulty: float | None
    gain: float | None
    disagreement: float | None
    blind_right: int | None


class ItemStory(NamedTuple):
    """Everything known about one item."""

    id: str
    benchmark: str
    item: Item | None
    row: ItemRow
    findings: tuple[ItemFinding, ...]
    verdicts: tuple[Verdict, ...]
    cases: list[ItemCase]
    unanswered: int
    doubt: float | None = None


class Collection:
    """Items of one or more benchmarks with all that is known about them; made by `Collection.open`."""

    def __init__(self, sources: CollectionSources, tell: Tell = lambda line: None) -> None:
        """Read all columns to filter by. Runs that were not scored are scored, as a measure would."""
        self._scorer = Scorer()
        self.notes: list[str] = []
        self.benchmarks: Mapping[str, Benchmark] = named_benchmarks(sources.benchmarks)
        names_by_fingerprint = {benchmark.manifest.fingerprint: name for name, benchmark in self.benchmarks.items()}
        self._replies: list[RunReplies] = []
        for source in sources.runs:
            about = source.benchmark
            name = names_by_fingerprint[about.manifest.fingerprint] if about else source.run.path.resolve().name
            scores, notes = scores_if_known(source.run, about, self._scorer, tell)
            self._replies.append(RunReplies(source, name, scores))
            self.notes += notes
        self._columns = ItemColumns(self.benchmarks)
        frames = [run.read_scores(self._columns.places(), several=len(self._replies) > 1) for run in self._replies]
        names = [run.benchmark for run in self._replies]
        self._columns.add_unknown(
            unknown_items(self._columns.table, names, frames, sources.judged, names_by_fingerprint)
        )
        places = self._columns.places()
        placed = [place_scores(frame, places.get(name)) for name, frame in zip(names, frames, strict=True)]
        self.answers = answer_arrays(without_repeated(names, placed, self.notes), self._columns.clusters())
        self._judgements = Judgements(sources.judged, places, names_by_fingerprint, len(self._columns.table))
        self.verdicts, self.stages = self._judgements.verdicts, self._judgements.stages
        numbers = [pl.Series(name, values, nan_to_null=True) for name, values in self.answers.of_items().items()]
        items = self._columns.named().with_columns(numbers)
        self.items = pl.concat([items, self._judgements.columns()], how="horizontal")
        models = len({series.model for series in self.answers.series})
        self._doubts = GoldDoubts(self.items, self._columns, self._replies, models)
        self.view = lru_cache(_VIEWS)(self._view)
        self._having = lru_cache(_VIEWS)(self._search)

    @classmethod
    def open(cls, places: Sequence[Path], tell: Tell = lambda line: None) -> "Collection":
        """Open benchmarks, runs, refinements and audits as one; ``tell`` reports work that takes a while."""
        return cls(open_places(places, tell), tell)

    @property
    def name(self) -> str:
        """The display name."""
        return listed(self.items.get_column("benchmark").unique(maintain_order=True)) or "nothing"

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def models(self) -> dict[str, int]:
        """Models, and the number of items each answered."""
        names = dict.fromkeys(one.model for one in self.answers.series)
        asked = {name: self.answers.kinds[self.answers.matching(name, "")] > 0 for name in names}
        return {name: int(kinds.any(axis=0).sum()) for name, kinds in asked.items()}

    @property
    def tags(self) -> dict[str, dict[str, int]]:
        """Tags with few enough values to choose from, with the items that have each."""
        every = self.everything.counts.items()
        return {facet.removeprefix(TAG): dict(values) for facet, values in every if facet.startswith(TAG)}

    @property
    def findings(self) -> dict[str, int]:
        """Findings of audits, with the number of items."""
        return dict(self.everything.counts["finding"])

    @cached_property
    def columns(self) -> list[str]:
        """Columns to sort by."""
        return [*(name for name, type_ in self.items.schema.items() if not type_.is_nested()), _DOUBT]

    def forget_views(self) -> None:
        """Empty the caches, to measure how long a view takes."""
        self.view.cache_clear()
        self._having.cache_clear()

    def _view(self, query: Query) -> CollectionView:
        """The items that a query selects; the last views are cached as ``view``."""
        positions = self._sorted(np.flatnonzero(self._mask(query)), query.sort)
        positions.setflags(write=False)
        unknown = tuple(id_ for id_ in query.ids if id_ not in self._index)
        return CollectionView(query, positions, unknown, self._facets, self.answers)

    @cached_property
    def everything(self) -> CollectionView:
        """All items."""
        return self.view(Query())

    def rows(self, view: CollectionView, start: int = 0, count: int = 60) -> list[ItemRow]:
        """Some of the items of a view, in its order."""
        return self._rows(view.positions[start : start + count])

    def item(self, id_: str) -> ItemStory:
        """Everything known about one item."""
        return next(self.stories([id_]))

    def record(self, id_: str) -> Item | None:
        """The item alone; None where no benchmark has it."""
        return self.records([id_]).get(id_)

    def records(self, ids: Sequence[str]) -> dict[str, Item]:
        """The items alone; those that no benchmark has are left out."""
        rows = self._rows([self._position(id_) for id_ in ids])
        records = self._records(rows)
        items = {row.id: records.get(row.benchmark, {}).get(row.position) for row in rows}
        return {id_: item for id_, item in items.items() if item is not None}

    def home(self, row: ItemRow) -> Benchmark:
        """The benchmark that holds an item's images."""
        return self.benchmarks[row.benchmark]

    def stories(self, ids: Sequence[str], *, replies: bool = True) -> Iterator[ItemStory]:
        """Everything about many items, far cheaper than one by one; replies are optional."""
        for start in range(0, len(ids), _STORIES):
            rows = self._rows([self._position(id_) for id_ in ids[start : start + _STORIES]])
            records = self._records(rows)
            runs = [run for run in self._replies if replies and run.benchmark in records]
            cases = [(run.benchmark, run.cases(list(records[run.benchmark].values()), self._scorer)) for run in runs]
            for row in rows:
                yield self._story(row, records, [found for name, found in cases if name == row.benchmark])

    def numbers(self, column: str) -> pl.Series:
        """A column of numbers by position; ``options`` counts them, and is null for items that no benchmark has."""
        if column == _DOUBT:
            return self._doubts.column()
        if column != _OPTIONS:
            return self.items.get_column(column)
        count = self._columns.options.list.len().fill_null(0).cast(pl.Int64).alias(column)
        return self.items.select(pl.when(pl.col("question").is_not_null()).then(count).alias(column)).to_series()

    def is_known(self, column: str) -> bool:
        """Whether a column of numbers is computed, or can be at once: doubts may take a few seconds."""
        return column != _DOUBT or self._doubts.known

    @property
    def table(self) -> pl.DataFrame:
        """All items with all computed columns, and their options."""
        after = self.items.get_column_index("question") + 1
        return self.items.clone().insert_column(after, self._columns.options).with_columns(self.numbers(_DOUBT))

    @cached_property
    def texts(self) -> pl.Series:
        """Questions and options in lower case, for the search."""
        options = self._columns.options.list.join("\n").fill_null("")
        text = pl.concat_str(pl.col("question").fill_null(""), options, separator="\n").str.to_lowercase()
        return self.items.select(text.alias("text")).to_series()

    def _search(self, words: str) -> Bools:
        """The items that have all words, or quoted phrases, in their own text or in one reply."""
        terms = search_terms(words)
        mask: Bools = self.texts.to_frame().select(terms).to_series().to_numpy().copy()
        for run in self._replies:
            found = pl.col("item").is_in(run.having(terms).implode()) & (pl.col("benchmark") == run.benchmark)
            mask |= self.items.select(found).to_series().to_numpy()
        return mask

    def judged_counts(self, query: Query) -> dict[str, dict[str, int]]:
        """The number of items for each ``stage`` and each ``verdict`` in place of the query's own."""
        others = msgspec.structs.replace(query, verdict="", stage="", reason="")
        return self._judgements.counts(np.flatnonzero(self._mask(others)), query.verdict, query.stage)

    def image(self, sha256: str) -> tuple[ImageRef, bytes] | None:
        """An image of some item by its hash; None where no item has it, or its file is missing or damaged."""
        if (image := self._columns.image(sha256)) is not None:
            for benchmark in self.benchmarks.values():
                with suppress(EyetestError, OSError):
                    return image, benchmark.images.read(image)
        return None

    def read_replies(self) -> None:
        """Compute doubts of golds, which may take seconds; pages can be served meanwhile."""
        self._doubts.column()

    def _mask(self, query: Query) -> Bools:
        mask = self._answered(query)
        if query.ids:
            named = [self._index[id_] for id_ in query.ids if id_ in self._index]
            mask &= np.isin(np.arange(len(self)), named)
        if query.verdict or query.stage or query.reason:
            mask &= self._judgements.judged(query.verdict, query.stage, query.reason)
        if query.findings:
            mask &= self._judgements.with_finding(query.findings)
        for name in dict.fromkeys(name for name, _ in query.tags):
            self._refuse_unknown("tag", name, self._tag_names)
            mask &= self._has(TAG + name, [value for tag, value in query.tags if tag == name])
        for name in query.untagged:
            self._refuse_unknown("tag", name, self._tag_names)
            mask &= (self.items.get_column(TAG + name).fill_null("") == "").to_numpy()
        for column in ("gold", "benchmark", "suggested"):
            if wanted := getattr(query, column):
                mask &= self._has(column, [wanted] if isinstance(wanted, str) else wanted)
        for column in (*_SPANS, _OPTIONS, _DOUBT):
            if span := getattr(query, column):
                mask &= self.numbers(column).is_between(*span).fill_null(value=False).to_numpy()
        if query.text and mask.any():
            mask &= self._having(query.text)
        return mask

    def _has(self, column: str, wanted: Sequence[str]) -> Bools:
        """Items with one of some values. An unknown value is no error: the link may be older than the items."""
        mask: Bools = self.items.get_column(column).is_in(wanted).fill_null(value=False).to_numpy()
        return mask

    def _answered(self, query: Query) -> Bools:
        mask = np.ones(len(self), bool)
        for wanted in query.answers:
            self._refuse_unknown("model", wanted.model, self.models)
            series = self.answers.matching(wanted.model, wanted.condition)
            if not series:
                asked = [one.condition for one in self.answers.series if wanted.model in ("", one.model)]
                who = f"{wanted.model} was not" if wanted.model else "nobody was"
                raise InputError(f"answer: {who} asked {short(wanted.condition)}; {nearest(wanted.condition, asked)}")
            mask &= self.answers.having(series, wanted.kind)
        if query.blind_right:
            self._refuse_unknown("model", query.blind_right, self.models)
            mask &= self.answers.having(self.answers.blind_series(query.blind_right), "right")
        return mask

    def _refuse_unknown(self, what: str, name: str, known: Sequence[str] | Mapping[str, Any]) -> None:
        if name and name not in known:
            raise InputError(f"no {what} {short(name)}; {nearest(name, known) if known else 'there is none'}")

    def _sorted(self, positions: NDArray[np.int64], by: str) -> NDArray[np.int64]:
        """Items ordered by a column, numbers by value; items without a value are last in both directions."""
        if not by:
            return positions
        column = by.removeprefix("-")
        self._refuse_unknown("column", column, self.columns)
        values = self.numbers(column)[positions]
        if values.dtype == pl.String:
            numbers = values.cast(pl.Float64, strict=False)
            values = numbers if numbers.null_count() == values.null_count() else values
        ranks: NDArray[np.float64] = values.rank("dense").cast(pl.Float64).to_numpy()
        return positions[np.argsort(-ranks if by.startswith("-") else ranks, kind="stable")]

    @cached_property
    def _facets(self) -> dict[str, pl.Series]:
        named = _FACETS | {"suggested": "suggested"}
        columns = {facet: self.items.get_column(column) for facet, column in named.items()}
        for name in self._tag_names:
            column = self.items.get_column(TAG + name)
            if 2 <= column.drop_nulls().n_unique() <= _MOST_VALUES:
                columns[TAG + name] = column
        return columns

    @cached_property
    def _tag_names(self) -> list[str]:
        return [name.removeprefix(TAG) for name in self.items.columns if name.startswith(TAG)]

    def _position(self, id_: str) -> int:
        if id_ not in self._index:
            hint = nearest(id_, list(self._index)[:5_000], 3) if self._index else "there is none"
            raise InputError(f"no item {short(id_)}; {hint}")
        return self._index[id_]

    def _rows(self, positions: Sequence[int] | NDArray[np.int64]) -> list[ItemRow]:
        return [self._row(values) for values in self.items[positions].to_dicts()]

    def _row(self, values: dict[str, Any]) -> ItemRow:
        tags = {name.removeprefix(TAG): value for name, value in values.items() if name.startswith(TAG)}
        blind = values["blind_right"]
        return ItemRow(
            **{name: values[name] for name in ("position", "id", "benchmark", "question", "gold", "image")},
            **{name: values[name] for name in ("verdict", "stage", *_SPANS)},
            images=values["images"] or 0,
            tags={name: value for name, value in tags.items() if value is not None},
            findings=tuple(values["findings"] or ()),
            blind_right=None if blind is None else int(blind),
        )

    def _records(self, rows: Sequence[ItemRow]) -> dict[str, dict[int, Item]]:
        records: dict[str, dict[int, Item]] = {}
        for name, benchmark in self.benchmarks.items():
            if mine := [row.position for row in rows if row.benchmark == name and row.question is not None]:
                items = benchmark.take([position - self._first[name] for position in mine])
                records[name] = dict(zip(mine, items, strict=True))
        return records

    @cached_property
    def _index(self) -> dict[str, int]:
        return {id_: position for position, id_ in enumerate(self.items.get_column("id"))}

    @cached_property
    def _first(self) -> dict[str, int]:
        """The first position of each benchmark's items, which keep its order."""
        starts = self.items.group_by("benchmark", maintain_order=True).first()
        return dict(starts.select("benchmark", "position").iter_rows())

    def _story(
        self, row: ItemRow, records: dict[str, dict[int, Item]], runs: Sequence[dict[str, tuple[list[ItemCase], int]]]
    ) -> ItemStory:
        item = records.get(row.benchmark, {}).get(row.position)
        mine = [run[item.id] for run in runs if item is not None and item.id in run]
        findings, verdicts = tuple(self._judgements.findings(row.position)), tuple(self.verdicts(row.position))
        cases, unanswered = [case for some, _ in mine for case in some], sum(open_ for _, open_ in mine)
        doubt = self._doubts.column()[row.position] if self._doubts.known else None
        return ItemStory(row.id, row.benchmark, item, row, findings, verdicts, cases, unanswered, doubt)


class DraftedCollection(Collection):
    """A collection in which the drafts that a recipe has made so far replace their items."""

    def __init__(
        self, sources: CollectionSources, drafts: Sequence[Benchmark], tell: Tell = lambda line: None
    ) -> None:
        super().__init__(sources, tell)
        made = [(item, benchmark) for benchmark in drafts for item in benchmark]
        self._drafts = {item.id: item for item, _ in made}
        self._homes = {item.id: benchmark for item, benchmark in made}
        self._drawn = {image.sha256: (image, benchmark) for item, benchmark in made for image in item.images}

    def records(self, ids: Sequence[str]) -> dict[str, Item]:
        """The items themselves, or their drafts."""
        return super().records(ids) | {id_: self._drafts[id_] for id_ in ids if id_ in self._drafts}

    def home(self, row: ItemRow) -> Benchmark:
        """The benchmark that holds an item's images: that of its draft."""
        return self._homes.get(row.id) or super().home(row)

    def rows(self, view: CollectionView, start: int = 0, count: int = 60) -> list[ItemRow]:
        """Some of the items of a view, in its order."""
        return [self._redrawn(row) for row in super().rows(view, start, count)]

    def stories(self, ids: Sequence[str], *, replies: bool = True) -> Iterator[ItemStory]:
        """Everything about many items; replies to options that differ from a draft's are left out."""
        for story in super().stories(ids, replies=replies):
            draft = self._drafts.get(story.id)
            if draft is None:
                yield story
                continue
            same = story.item is not None and story.item.choices == draft.choices
            yield story._replace(item=draft, row=self._redrawn(story.row), cases=story.cases if same else [])

    def image(self, sha256: str) -> tuple[ImageRef, bytes] | None:
        """An image of some item by its hash, drafts included."""
        if sha256 not in self._drawn:
            return super().image(sha256)
        image, benchmark = self._drawn[sha256]
        return image, benchmark.images.read(image)

    def _redrawn(self, row: ItemRow) -> ItemRow:
        draft = self._drafts.get(row.id)
        if draft is None:
            return row
        return msgspec.structs.replace(
            row,
            question=draft.question,
            gold=", ".join(letter(at) for at in draft.gold) or row.gold,
            image=draft.images[0].sha256 if draft.images else None,
            images=len(draft.images),
        )
