"""All items that somebody opened, in memory: which of them a query means, what they are, one item's whole story."""

from collections.abc import Iterator, Mapping, Sequence
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
from eyetest.records import ImageRef, Item, Verdict
from eyetest.results.cases import ItemCase
from eyetest.review.collection.answers import AnswerArrays, ModelAccuracy
from eyetest.review.collection.doubt import GoldDoubts
from eyetest.review.collection.item_columns import Facets, rank_of
from eyetest.review.collection.judgements import ItemFinding
from eyetest.review.collection.loading import load
from eyetest.review.collection.replies import SearchTexts
from eyetest.review.collection.sources import CollectionSources, Tell, open_places
from eyetest.scoring import Scorer
from eyetest.wording import listed

_MOST_VALUES = 60
_SPANS = ("difficulty", "gain", "disagreement")
_OPTIONS, _DOUBT = "options", "doubt"
_VIEWS = 64
_STORIES = 200
"""Items whose answers are read at once where many are wanted."""


@dataclass(frozen=True, eq=False)
class CollectionView:
    """What a query means in a collection: where the items stand, in order, and what they come to."""

    query: Query
    positions: NDArray[np.int64]
    unknown_ids: tuple[str, ...]
    """Ids that the query names and nobody has."""
    _facets: Facets
    _answers: AnswerArrays

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """By facet (``gold``, ``verdict``, ``stage``, ``finding``, ``benchmark``, ``tag.NAME``): values and items."""
        return self._facets.counts(self.positions)

    @cached_property
    def accuracy(self) -> Sequence[ModelAccuracy]:
        """What every model comes to under every condition on these items."""
        return self._answers.accuracy(self.positions)


class ItemRow(msgspec.Struct, frozen=True, kw_only=True):
    """An item in a list. One that no benchmark has any more has no question."""

    position: int
    id: str
    benchmark: str
    question: str | None
    gold: str | None
    picture: str | None
    """The hash of its first picture."""
    pictures: int
    tags: dict[str, str]
    findings: tuple[str, ...]
    verdict: str | None
    stage: str | None
    difficulty: float | None
    gain: float | None
    disagreement: float | None
    blind_right: int | None


class ItemStory(NamedTuple):
    """Everything that is known of one item."""

    id: str
    benchmark: str
    item: Item | None
    """None where answers or verdicts name it and no benchmark has it."""
    row: ItemRow
    findings: tuple[ItemFinding, ...]
    verdicts: tuple[Verdict, ...]
    cases: list[ItemCase]
    unanswered: int
    doubt: float | None = None
    """How much better another option explains what models chose than the gold does, where that is known by now."""


class Collection:
    """Items of one or more benchmarks with all that is known of them; made by `Collection.open`."""

    def __init__(self, sources: CollectionSources, tell: Tell = lambda line: None) -> None:
        self._scorer = Scorer()
        loaded = load(sources, self._scorer, tell)
        self.benchmarks: Mapping[str, Benchmark] = loaded.benchmarks
        self.items = loaded.items
        self.answers: AnswerArrays = loaded.answers
        self.notes = loaded.notes
        self._columns, self._judgements, self._replies = loaded.columns, loaded.judgements, loaded.replies
        self._texts = SearchTexts(self.items, self._options, loaded.replies)
        models = len({one.model for one in self.answers.series})
        self._doubts = GoldDoubts(self.items, self._options, loaded.replies, models)
        self._ranks: dict[str, NDArray[np.float64]] = {}
        self._kept_view = lru_cache(_VIEWS)(self._view)
        self._having = lru_cache(_VIEWS)(self._texts.having)

    @classmethod
    def open(cls, places: Sequence[Path], tell: Tell = lambda line: None) -> "Collection":
        """Open benchmarks, runs, refinements and audits as one; ``tell`` hears of work that takes a while."""
        return cls(open_places(places, tell), tell)

    @property
    def name(self) -> str:
        """What it is called."""
        return listed(self.items.get_column("benchmark").unique(maintain_order=True)) or "nothing"

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def models(self) -> dict[str, int]:
        """Who answered, and how many items."""
        names = dict.fromkeys(one.model for one in self.answers.series)
        return {name: self._asked(self.answers.matching(name, "")) for name in names}

    @cached_property
    def conditions(self) -> dict[str, int]:
        """How models were asked, and about how many items."""
        names = dict.fromkeys(one.condition for one in self.answers.series)
        return {name: self._asked(self.answers.matching("", name)) for name in names}

    @property
    def tags(self) -> dict[str, dict[str, int]]:
        """Tags of few enough values to choose from, with the items that have each."""
        every = self._all_counts.items()
        return {facet.removeprefix(TAG): dict(values) for facet, values in every if facet.startswith(TAG)}

    @property
    def findings(self) -> dict[str, int]:
        """What audits found, and in how many items."""
        return self._all_counts["finding"]

    @cached_property
    def stages(self) -> dict[str, int]:
        """The stages of refinements in order, and how many items reached each."""
        return self._judgements.stages

    @cached_property
    def columns(self) -> list[str]:
        """What can be sorted by."""
        return [*(name for name, type_ in self.items.schema.items() if not type_.is_nested()), _DOUBT]

    def view(self, query: Query) -> CollectionView:
        """The items that a query means. A page needs some views again and again, so the last ones are kept."""
        return self._kept_view(query)

    def forget_views(self) -> None:
        """Keep no views, for whoever measures how long one takes."""
        self._kept_view.cache_clear()
        self._having.cache_clear()

    def _view(self, query: Query) -> CollectionView:
        positions = self._sorted(np.flatnonzero(self._mask(query)), query.sort)
        positions.setflags(write=False)
        unknown = tuple(id_ for id_ in query.ids if id_ not in self._index)
        return CollectionView(query, positions, unknown, self._facets, self.answers)

    @cached_property
    def everything(self) -> CollectionView:
        """All items, which many ask for beside those they see."""
        return self.view(Query())

    def rows(self, view: CollectionView, start: int = 0, count: int = 60) -> list[ItemRow]:
        """Some of the items of a view, in its order."""
        return [self._row(values) for values in self.items[view.positions[start : start + count]].to_dicts()]

    def item(self, id_: str) -> ItemStory:
        """One item's whole story."""
        return next(self.stories([id_]))

    def record(self, id_: str) -> Item | None:
        """The item itself, without all that is known of it; None where no benchmark has it."""
        return self.records([id_]).get(id_)

    def records(self, ids: Sequence[str]) -> dict[str, Item]:
        """The items themselves; those that no benchmark has are left out."""
        rows = [self._row(values) for values in self.items[[self._position(id_) for id_ in ids]].to_dicts()]
        records = self._records(rows)
        items = ((row.id, records.get(row.benchmark, {}).get(row.position)) for row in rows)
        return {id_: item for id_, item in items if item is not None}

    def home(self, row: ItemRow) -> Benchmark:
        """The benchmark in which an item's pictures lie."""
        return self.benchmarks[row.benchmark]

    def stories(self, ids: Sequence[str], *, replies: bool = True) -> Iterator[ItemStory]:
        """The whole stories of many items; far cheaper than one after the other, and more so without replies."""
        for start in range(0, len(ids), _STORIES):
            positions = [self._position(id_) for id_ in ids[start : start + _STORIES]]
            rows = [self._row(values) for values in self.items[positions].to_dicts()]
            records = self._records(rows)
            cases = {
                (run.benchmark, number): run.cases(list(records[run.benchmark].values()), self._scorer)
                for number, run in enumerate(self._replies if replies else ())
                if run.benchmark in records
            }
            for row in rows:
                yield self._story(row, records, [told for (name, _), told in cases.items() if name == row.benchmark])

    def verdicts(self, position: int) -> Sequence[Verdict]:
        """What stages said of the item that stands there, in their order."""
        return self._judgements.verdicts(position)

    def numbers(self, column: str) -> pl.Series:
        """A column of numbers by position; ``options`` counts them, and is null for items that no benchmark has."""
        if column == _DOUBT:
            return self._doubts.column()
        if column != _OPTIONS:
            return self.items.get_column(column)
        count = self._options().list.len().fill_null(0).cast(pl.Int64).alias(column)
        return self.items.select(pl.when(pl.col("question").is_not_null()).then(count).alias(column)).to_series()

    def is_known(self, column: str) -> bool:
        """Whether a column of numbers is there, or made while nobody notices: doubts may take a few seconds."""
        return column != _DOUBT or self._doubts.known

    @property
    def table(self) -> pl.DataFrame:
        """All items with all that is computed of them, and their options."""
        after = self.items.get_column_index("question") + 1
        return self.items.clone().insert_column(after, self._options()).with_columns(self.numbers(_DOUBT))

    @property
    def texts(self) -> pl.Series:
        """What items say themselves, as it is searched in."""
        return self._texts.own.get_column("text")

    def judged_counts(self, query: Query) -> dict[str, dict[str, int]]:
        """How many items each ``stage`` and each ``verdict`` would show in the place of that which a query names."""
        others = msgspec.structs.replace(query, verdict="", stage="", reason="")
        return self._judgements.counts(np.flatnonzero(self._mask(others)), query.verdict, query.stage)

    def picture(self, sha256: str) -> tuple[ImageRef, bytes] | None:
        """A picture of some item by its hash; None where no item has it, or its file is gone or damaged."""
        image = self._columns.picture(sha256)
        if image is None:
            return None
        for benchmark in self.benchmarks.values():
            try:
                return image, benchmark.images.read(image)
            except (EyetestError, OSError):
                continue
        return None

    def read_replies(self) -> None:
        """Make searching and doubts ready, which may take seconds; others may ask meanwhile."""
        self._doubts.column()
        self._texts.read_replies()

    # Which items a query means.

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
        """Items with one of some values. One that no item has is no mistake: the link may be older than the items."""
        mask: Bools = self.items.get_column(column).is_in(wanted).fill_null(value=False).to_numpy()
        return mask

    def _answered(self, query: Query) -> Bools:
        mask = np.ones(len(self), bool)
        for wanted in query.answers:
            self._refuse_unknown("model", wanted.model, self.models)
            series = self.answers.matching(wanted.model, wanted.condition)
            if not series:
                asked = [one.condition for one in self.answers.series if wanted.model in ("", one.model)]
                told = (
                    f"{wanted.model or 'nobody'} was {'not ' if wanted.model else ''}asked {short(wanted.condition)}"
                )
                raise InputError(f"answer: {told}; {nearest(wanted.condition, asked)}")
            mask &= self.answers.having(series, wanted.kind)
        if query.blind_right:
            self._refuse_unknown("model", query.blind_right, self.models)
            mask &= self.answers.having(self.answers.blind_series(query.blind_right), "right")
        return mask

    def _refuse_unknown(self, what: str, name: str, known: Sequence[str] | Mapping[str, Any]) -> None:
        if name and name not in known:
            raise InputError(f"no {what} {short(name)}; {nearest(name, known) if known else 'there is none'}")

    def _sorted(self, positions: NDArray[np.int64], by: str) -> NDArray[np.int64]:
        """In order of a column; what has no value comes last either way."""
        if not by:
            return positions
        column = by.removeprefix("-")
        self._refuse_unknown("column", column, self.columns)
        if column not in self._ranks:
            self._ranks[column] = rank_of(self.numbers(column))
        ranks = self._ranks[column][positions]
        return positions[np.argsort(-ranks if by.startswith("-") else ranks, kind="stable")]

    # What they are.

    @cached_property
    def _facets(self) -> Facets:
        columns = {"gold": "gold", "verdict": "verdict", "stage": "stage", "finding": "findings"}
        columns |= {"benchmark": "benchmark", "suggested": "suggested"}
        for name in self._tag_names:
            if 2 <= self.items.get_column(TAG + name).drop_nulls().n_unique() <= _MOST_VALUES:
                columns[TAG + name] = TAG + name
        return Facets(self.items, columns)

    @cached_property
    def _all_counts(self) -> dict[str, dict[str, int]]:
        return self._facets.counts(np.arange(len(self)))

    @cached_property
    def _tag_names(self) -> list[str]:
        return [name.removeprefix(TAG) for name in self.items.columns if name.startswith(TAG)]

    def _asked(self, series: Sequence[int]) -> int:
        return int((self.answers.kinds[series] > 0).any(axis=0).sum())

    def _position(self, id_: str) -> int:
        position = self._index.get(id_)
        if position is None:
            told = nearest(id_, list(self._index)[:5_000], 3) if self._index else "there is none"
            raise InputError(f"no item {short(id_)}; {told}")
        return position

    def _row(self, values: dict[str, Any]) -> ItemRow:
        tags = {name.removeprefix(TAG): value for name, value in values.items() if name.startswith(TAG)}
        blind = values["blind_right"]
        return ItemRow(
            **{name: values[name] for name in ("position", "id", "benchmark", "question", "gold", "picture")},
            **{name: values[name] for name in ("verdict", "stage", *_SPANS)},
            pictures=values["pictures"] or 0,
            tags={name: value for name, value in tags.items() if value is not None},
            findings=tuple(values["findings"] or ()),
            blind_right=None if blind is None else int(blind),
        )

    def _records(self, rows: Sequence[ItemRow]) -> dict[str, dict[int, Item]]:
        """The items themselves, by benchmark and position; those that no benchmark has are left out."""
        records: dict[str, dict[int, Item]] = {}
        for name, benchmark in self.benchmarks.items():
            mine = [row.position for row in rows if row.benchmark == name and row.question is not None]
            if mine:
                first = self._first[name]
                items = benchmark.take([position - first for position in mine])
                records[name] = dict(zip(mine, items, strict=True))
        return records

    def _options(self) -> pl.Series:
        return self._columns.options

    @cached_property
    def _index(self) -> dict[str, int]:
        return {id_: position for position, id_ in enumerate(self.items.get_column("id"))}

    @cached_property
    def _first(self) -> dict[str, int]:
        """Where each benchmark's items begin; they stand in its own order."""
        starts = self.items.group_by("benchmark", maintain_order=True).first()
        return dict(starts.select("benchmark", "position").iter_rows())

    def _story(
        self, row: ItemRow, records: dict[str, dict[int, Item]], told: Sequence[dict[str, tuple[list[ItemCase], int]]]
    ) -> ItemStory:
        item = records.get(row.benchmark, {}).get(row.position)
        mine = [of_run[item.id] for of_run in told if item is not None and item.id in of_run]
        findings = tuple(self._judgements.findings(row.position))
        verdicts = tuple(self._judgements.verdicts(row.position))
        cases = [case for some, _ in mine for case in some]
        unanswered = sum(open_ for _, open_ in mine)
        doubt = self._doubts.column()[row.position] if self._doubts.known else None
        return ItemStory(row.id, row.benchmark, item, row, findings, verdicts, cases, unanswered, doubt)
