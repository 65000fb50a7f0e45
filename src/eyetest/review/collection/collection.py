"""All items that somebody opened, in memory: which of them a query means, what they are, one item's whole story."""

from collections.abc import Mapping, Sequence
from functools import cached_property
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
from eyetest.pages.item_links import Query, Span
from eyetest.records import ImageRef, Item, Verdict
from eyetest.results.cases import ItemCase, item_cases, planned_calls
from eyetest.results.gather import scores_if_known
from eyetest.review.collection.answers import BIT, KEY, AnswerArrays, ModelAccuracy, answer_arrays
from eyetest.review.collection.item_columns import counted_values, item_columns
from eyetest.review.collection.judgements import ItemFinding, Judgements, judgements
from eyetest.review.collection.sources import CollectionSources, RunSource, Tell, open_places
from eyetest.review.collection.texts import SearchTexts
from eyetest.runs import StoredResponses
from eyetest.runs.stored import one_line_if_damaged
from eyetest.scoring import Scorer
from eyetest.wording import listed

_MOST_VALUES = 60
_NUMBERS = ("difficulty", "gain", "disagreement", "blind_right")
_SCORED = (*KEY, "outcome", "reading", "score")


class CollectionView(NamedTuple):
    """What a query means in a collection: where the items stand, in order, and what they come to."""

    query: Query
    positions: NDArray[np.int64]
    counts: Mapping[str, Mapping[str, int]]
    """By facet (``gold``, ``verdict``, ``stage``, ``finding``, ``benchmark``, ``tag.NAME``): values and items."""
    accuracy: Sequence[ModelAccuracy]
    unknown_ids: tuple[str, ...] = ()
    """Ids that the query names and nobody has."""

    def __len__(self) -> int:
        return len(self.positions)


class ItemRow(msgspec.Struct, frozen=True, kw_only=True):
    """An item in a list. One that no benchmark has any more has no question."""

    position: int
    id: str
    benchmark: str
    question: str | None
    options: tuple[str, ...]
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


class Collection:
    """Items of one or more benchmarks with all that is known of them; made by `Collection.open`."""

    def __init__(self, sources: CollectionSources, tell: Tell = lambda line: None) -> None:
        self._sources, self._scorer = sources, Scorer()
        self._benchmarks = _named(sources.benchmarks)
        self.notes: list[str] = []
        scores = [(one, self._name_of(one), self._scores(one, tell)) for one in sources.runs]
        columns = item_columns(self._benchmarks, {})
        table = columns.table
        self._pictures = columns.pictures
        placed = [
            frame.join(table.lazy().filter(pl.col("benchmark") == name).select("item", "position"), on="item")
            for _, name, frame in scores
        ]
        rows = pl.concat([_no_scores(), *(self._collected(frame) for frame in placed)], how="vertical_relaxed")
        self.answers: AnswerArrays = answer_arrays(rows, columns.clusters)
        self._judgements = self._judged(table)
        numbers = [pl.Series(name, values, nan_to_null=True) for name, values in self.answers.of_items().items()]
        self.items = table.with_columns(*numbers, *self._judgements.columns())
        self._texts = SearchTexts(self.items, [(one.run, name) for one, name, _ in scores])
        self._index = {id_: position for position, id_ in enumerate(self.items.get_column("id"))}

    @classmethod
    def open(cls, places: Sequence[Path], tell: Tell = lambda line: None) -> "Collection":
        """Open benchmarks, runs, refinements and audits as one; ``tell`` hears of work that takes a while."""
        return cls(open_places(places, tell), tell)

    @property
    def name(self) -> str:
        """What it is called."""
        return listed(self._benchmarks) or "answers"

    @property
    def benchmarks(self) -> Mapping[str, Benchmark]:
        """What items come from, by name."""
        return self._benchmarks

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def models(self) -> dict[str, int]:
        """Who answered, and how many items."""
        return {
            name: int(((self.answers.kinds[self.answers.matching(name, "")]) > 0).any(axis=0).sum())
            for name in dict.fromkeys(one.model for one in self.answers.series)
        }

    @cached_property
    def conditions(self) -> dict[str, int]:
        """How models were asked, and how many items."""
        return {
            name: int(((self.answers.kinds[self.answers.matching("", name)]) > 0).any(axis=0).sum())
            for name in dict.fromkeys(one.condition for one in self.answers.series)
        }

    @cached_property
    def tags(self) -> dict[str, dict[str, int]]:
        """Tags of few enough values to choose from, with the items that have each."""
        counts = {name: self._facet(self.items, TAG + name) for name in self._tag_names}
        return {name: values for name, values in counts.items() if 2 <= len(values) <= _MOST_VALUES}

    @cached_property
    def findings(self) -> dict[str, int]:
        """What audits found, and in how many items."""
        return self._facet(self.items, "findings")

    @property
    def stages(self) -> dict[str, int]:
        """The stages of refinements in order, and how many items reached each."""
        return self._judgements.stages

    @property
    def columns(self) -> list[str]:
        """What can be sorted by."""
        return [name for name, type_ in self.items.schema.items() if not type_.is_nested()]

    def view(self, query: Query) -> CollectionView:
        """The items that a query means."""
        unknown = tuple(id_ for id_ in query.ids if id_ not in self._index)
        positions = self._sorted(np.flatnonzero(self._mask(query)), query.sort)
        shown = self.items[positions]
        facets = {"gold": "gold", "verdict": "verdict", "stage": "stage", "finding": "findings"}
        facets |= {"benchmark": "benchmark"} | {TAG + name: TAG + name for name in self.tags}
        counts = {facet: self._facet(shown, column) for facet, column in facets.items()}
        return CollectionView(query, positions, counts, self.answers.accuracy(positions), unknown)

    def rows(self, view: CollectionView, start: int = 0, count: int = 60) -> list[ItemRow]:
        """Some of the items of a view, in its order."""
        return [self._row(values) for values in self.items[view.positions[start : start + count]].to_dicts()]

    def item(self, id_: str) -> ItemStory:
        """One item's whole story."""
        position = self._index.get(id_)
        if position is None:
            raise InputError(f"no item {short(id_)}; {nearest(id_, list(self._index)[:5_000], 3)}")
        row = self._row(self.items.row(position, named=True))
        own = self.items.item(position, "item")
        benchmark = self._benchmarks.get(row.benchmark)
        item = benchmark[own] if benchmark is not None and own in benchmark else None
        cases, unanswered = self._cases(row.benchmark, item) if item else ([], 0)
        said = self._judgements
        about = (tuple(said.findings.get(position, ())), tuple(said.verdicts.get(position, ())))
        return ItemStory(id_, row.benchmark, item, row, *about, cases, unanswered)

    def verdicts(self, position: int) -> Sequence[Verdict]:
        """What stages said of the item that stands there, in their order."""
        return self._judgements.verdicts.get(position, ())

    def picture(self, sha256: str) -> tuple[ImageRef, bytes] | None:
        """A picture of some item by its hash; None where no item has it, or its file is gone or damaged."""
        image = self._pictures.get(sha256)
        for benchmark in self._benchmarks.values() if image else ():
            try:
                return image, benchmark.images.read(image)  # type: ignore[arg-type, return-value]
            except (EyetestError, OSError):
                continue
        return None

    def read_replies(self) -> None:
        """Make searches ready, which may take a second; others may ask meanwhile."""
        self._texts.read_replies()

    def _mask(self, query: Query) -> Bools:
        mask = np.ones(len(self), bool)
        if query.ids:
            mask &= np.isin(np.arange(len(self)), [self._index[id_] for id_ in query.ids if id_ in self._index])
        if query.text:
            mask &= self._texts.having(query.text)
        if query.verdict or query.stage:
            mask &= self._judgements.judged(query.verdict, query.stage)
        if query.findings:
            mask &= self._judgements.with_finding(query.findings)
        for name in dict.fromkeys(name for name, _ in query.tags):
            self._refuse_unknown("tag", name, self._tag_names)
            wanted = [value for tag, value in query.tags if tag == name]
            mask &= self.items.get_column(TAG + name).is_in(wanted).fill_null(value=False).to_numpy()
        for column in ("gold", "benchmark"):
            if wanted_value := getattr(query, column):
                mask &= (self.items.get_column(column) == wanted_value).fill_null(value=False).to_numpy()
        for column in ("difficulty", "gain", "disagreement"):
            if span := getattr(query, column):
                mask &= self._within(column, span)
        return mask & self._answered(query)

    def _within(self, column: str, span: Span) -> Bools:
        inside = self.items.get_column(column).is_between(*span).fill_null(value=False)
        return inside.to_numpy()

    def _answered(self, query: Query) -> Bools:
        mask = np.ones(len(self), bool)
        for wanted in query.answers:
            if wanted.model:
                self._refuse_unknown("model", wanted.model, self.models)
            series = self.answers.matching(wanted.model, wanted.condition)
            if not series:
                told = f"nobody was asked {short(wanted.condition)}"
                raise InputError(f"answer: {told}; {nearest(wanted.condition, self.conditions)}")
            mask &= ((self.answers.kinds[series] & BIT[wanted.kind]) > 0).any(axis=0)
        if query.blind_right:
            self._refuse_unknown("model", query.blind_right, self.models)
            blind = self.answers.blind_series(query.blind_right)
            mask &= ((self.answers.kinds[blind] & BIT["right"]) > 0).any(axis=0)
        return mask

    def _refuse_unknown(self, what: str, name: str, known: Sequence[str] | Mapping[str, Any]) -> None:
        if name not in known:
            told = nearest(name, known) if known else f"there is no {what}"
            raise InputError(f"no {what} {short(name)}; {told}")

    def _sorted(self, positions: NDArray[np.int64], by: str) -> NDArray[np.int64]:
        if not by:
            return positions
        column = by.removeprefix("-")
        self._refuse_unknown("column", column, self.columns)
        values = self.items.get_column(column)[positions]
        order = values.arg_sort(descending=by.startswith("-"), nulls_last=True).to_numpy()
        return np.take(positions, order)

    @property
    def _tag_names(self) -> list[str]:
        return [name.removeprefix(TAG) for name in self.items.columns if name.startswith(TAG)]

    def _facet(self, items: pl.DataFrame, column: str) -> dict[str, int]:
        values = items.get_column(column)
        return counted_values(values.explode() if values.dtype.is_nested() else values)

    def _row(self, values: dict[str, Any]) -> ItemRow:
        tags = {name.removeprefix(TAG): value for name, value in values.items() if name.startswith(TAG)}
        blind = values["blind_right"]
        return ItemRow(
            **{name: values[name] for name in ("position", "id", "benchmark", "question", "gold", "picture")},
            **{name: values[name] for name in ("verdict", "stage", "difficulty", "gain", "disagreement")},
            options=tuple(values["options"] or ()),
            pictures=values["pictures"] or 0,
            tags={name: value for name, value in tags.items() if value is not None},
            findings=tuple(values["findings"] or ()),
            blind_right=None if blind is None else int(blind),
        )

    def _cases(self, benchmark: str, item: Item) -> tuple[list[ItemCase], int]:
        cases, planned = list[ItemCase](), 0
        for one in self._sources.runs:
            if self._name_of(one) == benchmark and one.benchmark is not None:
                calls = planned_calls(one.run, [item.id])
                stored = StoredResponses(one.run.path)
                cases += item_cases(one.run, one.benchmark, item, calls, stored.get, self._scorer)
                planned += len(calls)
        return cases, planned - len(cases)

    def _name_of(self, one: RunSource) -> str:
        if one.benchmark is None:
            return one.run.path.resolve().name
        mark = one.benchmark.manifest.fingerprint
        return next(name for name, benchmark in self._benchmarks.items() if benchmark.manifest.fingerprint == mark)

    def _scores(self, one: RunSource, tell: Tell) -> pl.LazyFrame:
        frame, notes = scores_if_known(one.run, one.benchmark, self._scorer, tell)
        self.notes += notes
        return frame.select("item", *_SCORED)

    def _collected(self, frame: pl.LazyFrame) -> pl.DataFrame:
        with one_line_if_damaged(Path(self.name)):
            return frame.select("position", *_SCORED).collect()

    def _judged(self, table: pl.DataFrame) -> Judgements:
        by_name: dict[str, dict[str, int]] = {}
        for position, name, item in table.select("position", "benchmark", "item").iter_rows():
            by_name.setdefault(name, {})[item] = position
        marks = {name: benchmark.manifest.fingerprint for name, benchmark in self._benchmarks.items()}
        positions = {marks.get(name, name): items for name, items in by_name.items()}
        return judgements(self._sources.judged, positions, len(table))


def _no_scores() -> pl.DataFrame:
    texts = dict.fromkeys(_SCORED[:-1], pl.String)
    return pl.DataFrame(schema={"position": pl.Int64, **texts, "score": pl.Float64})


def _named(benchmarks: Sequence[Benchmark]) -> dict[str, Benchmark]:
    """Benchmarks by their names; two versions of one are told apart by their folders."""
    names = [one.manifest.name for one in benchmarks]
    return {
        name if names.count(name) == 1 else f"{name} ({one.path.resolve().parent.name}{number or ''})": one
        for number, (name, one) in enumerate(zip(names, benchmarks, strict=True))
    }
