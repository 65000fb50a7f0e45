"""Items of a report: those that each number stands for, and removed ones with the answers to them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.measures.results import PROTOCOL
from eyetest.pages.charts import ChartLinks
from eyetest.pages.item_counts import NOWHERE, ItemCount, ItemsAt
from eyetest.pages.item_links import AnswerFilter, AskedKind, Query, reason_kind
from eyetest.pages.item_view import Album, ItemView, in_turns, lot, show_verdict
from eyetest.pages.page import clip
from eyetest.pages.plots import named
from eyetest.records import Item, Verdict
from eyetest.reports.material import Material
from eyetest.reports.refinements import together
from eyetest.runs import Run
from eyetest.runs.stored import answers_frame

Counts = Mapping[str, Sequence[ItemCount]]
"""Columns of a table that count items, and the link of each row's number."""
_AUDIT = "audit"
_FALLEN = ("drop", "review")
_MOST_REPLIES = 6
_LONGEST_REPLY = 240
_TOLD = ("model", "modality", "outcome", "reading", "choice")
Key = tuple[str, str, str]  # a verdict, its stage, and its reason without the figures


Reply = tuple[str, str, str, bool | None]
"""The model and its condition, its words, what was read in them, and whether that is right."""


class Reason(msgspec.Struct, frozen=True):
    """Why items were dropped, how many, and some of them."""

    verdict: str
    stage: str
    reason: str
    number: int
    items: list[tuple[ItemView, list[Reply]]]
    examples: tuple[str, ...] = ()  # exact reasons, where figures differ


@dataclass(frozen=True)
class ReportItems:
    """Turn numbers into links to the items that they count, where a query can select these."""

    material: Material
    benchmarks: Sequence[Benchmark] = ()  # all that opens with what the report was made from
    at: ItemsAt = NOWHERE
    links: ChartLinks = field(default_factory=ChartLinks)

    @cached_property
    def _names(self) -> list[str]:
        return self.material.results.items.get_column("benchmark").drop_nulls().unique().to_list()

    def _about(self, benchmark: str | None) -> Query | None:
        """The items of one benchmark, or of all that the results are about; None where no query says that."""
        opened = [one.manifest.name for one in self.benchmarks]
        if benchmark is None and len(opened) <= len(self._names) and self.material.funnel is None:
            return Query()
        name = self._names[0] if benchmark is None and len(self._names) == 1 else benchmark
        return Query(benchmark=name) if name and opened.count(name) == 1 else None

    def count(self, number: int, benchmark: str | None = None, **more: Any) -> ItemCount:
        """Count of such items of a benchmark, or of all."""
        about = self._about(benchmark)
        return ItemCount(number) if about is None else self.at.count(number, msgspec.structs.replace(about, **more))

    def judged(self, number: int, stage: str, verdict: str = "") -> ItemCount:
        """Items with such a verdict of a stage."""
        return self.at.count(number, Query(stage=stage, verdict=verdict))

    def fallen(self, reason: Reason) -> ItemCount:
        """Items dropped for a reason; the reasons of an audit are findings."""
        query = Query(stage=reason.stage, verdict=reason.verdict, reason=reason_kind(reason.examples[0]))
        if reason.stage.partition(":")[0] == _AUDIT:
            query = Query(findings=reason.examples)
        return self.at.count(reason.number, query)

    def named(self, ids: Iterable[str]) -> ItemCount:
        """Items by name, where each name is unique."""
        names = list(ids)
        several = len(self.benchmarks) > 1 or self.material.results.items.get_column("item").is_duplicated().any()
        return ItemCount(len(set(names))) if several else self.at.named(names)

    def answered(
        self, row: Mapping[str, Any], kind: AskedKind = "scored", column: str = "n", **more: Any
    ) -> ItemCount:
        """Items that the series of a row answered so: ``series`` or ``model``, ``benchmark``, ``modality``."""
        number, benchmark = row[column] or 0, row.get("benchmark")
        who = self._ways.get(row.get("series") or row["model"], ())
        filters = {
            (model, self._words(protocol))
            for name, model, protocol in who
            if benchmark in (None, name)
            and (protocol[0] == row["modality"] if row.get("modality") else protocol == self._usual.get(name))
        }
        if len(filters) != 1:
            return ItemCount(number)
        return self.count(number, self._told_apart(row), answers=(AnswerFilter(kind, *filters.pop()),), **more)

    def asked(self, row: Mapping[str, Any]) -> ItemCount:
        """Items asked under a protocol."""
        words = self._words(tuple(row[axis] for axis in PROTOCOL))
        return self.count(row["items"], self._told_apart(row), answers=(AnswerFilter("asked", "", words),))

    def _told_apart(self, row: Mapping[str, Any]) -> str | None:
        return row.get("benchmark") if len(self._names) > 1 else None

    def letters(self, counts: Iterable[ItemCount]) -> pl.Series:
        """A column ``href`` for a chart."""
        return pl.Series("href", [self.links.mark(count) for count in counts], pl.String)

    def _words(self, protocol: Sequence[str]) -> str:
        """A condition by the axes in which these results differ."""
        return " ".join(
            value
            for axis, value in zip(PROTOCOL, protocol, strict=True)
            if axis == "modality" or axis in self._varied
        )

    @cached_property
    def _varied(self) -> list[str]:
        return self.material.results.varied(PROTOCOL)

    @cached_property
    def _ways(self) -> dict[str, list[tuple[str, str, tuple[str, ...]]]]:
        """By the name of a series: benchmark, model and protocol."""
        told = self.material.results.scores.select(pl.col("benchmark", "model", *PROTOCOL).cast(pl.String)).unique()
        ways: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {}
        frame = named(told.collect()).select("series", "benchmark", "model", *PROTOCOL)
        for series, benchmark, model, *protocol in frame.iter_rows():
            ways.setdefault(series, []).append((benchmark, model, tuple(protocol)))
        return ways

    @cached_property
    def _usual(self) -> dict[str, tuple[str, ...]]:
        told = self.material.usual.scores.select(pl.col("benchmark", *PROTOCOL).cast(pl.String)).unique()
        return {benchmark: tuple(protocol) for benchmark, *protocol in told.collect().iter_rows()}


def fallen_items(
    verdicts: Sequence[Verdict],
    benchmarks: Sequence[Benchmark],
    runs: Sequence[Run],
    scores: pl.LazyFrame,
    most: int,
    album: Album,
) -> list[Reason]:
    """Some of the removed items, spread over the reasons; their images go into the album."""
    by_reason: dict[Key, list[Verdict]] = {}
    for verdict in sorted(verdicts, key=lambda verdict: lot(verdict.item)):
        if verdict.verdict in _FALLEN:
            by_reason.setdefault((verdict.verdict, verdict.stage, reason_kind(verdict.reason)), []).append(verdict)
    chosen = in_turns(([(key, verdict) for verdict in some] for key, some in by_reason.items()), most)
    wanted, items = {verdict.item for _, verdict in chosen}, dict[str, Item]()
    for benchmark in benchmarks:
        items |= {item.id: item for item in benchmark if item.id in wanted - items.keys()}
    reasons: list[Reason] = []
    replies = replies_to([verdict for _, verdict in chosen], runs, scores)
    for key in sorted(by_reason, key=lambda key: (key[0], -len(by_reason[key]), key)):
        shown = [
            (show_verdict(verdict, items.get(verdict.item), album), replies.get(verdict.item, []))
            for of, verdict in chosen
            if of == key
        ]
        said = [verdict.reason for verdict in by_reason[key]]
        reasons.append(Reason(*key[:2], together(said), len(said), shown, tuple(dict.fromkeys(said))))
    return reasons


def replies_to(verdicts: Sequence[Verdict], runs: Sequence[Run], scores: pl.LazyFrame) -> dict[str, list[Reply]]:
    """Replies to some items: preferably those behind their verdicts, one per model first."""
    rests_on = {request for verdict in verdicts for request in verdict.responses}
    about = pl.col("item").is_in(list({verdict.item for verdict in verdicts}))
    rows = (
        scores.filter(about)
        .with_columns(pl.col("request").is_in(list(rests_on)).alias("counts"), pl.int_range(pl.len()).alias("row"))
        .with_columns(pl.col("row").rank("ordinal").over("item", "model", "counts").alias("turn"))
        .sort("item", "counts", "turn", "model", descending=[False, True, False, False])
        .group_by("item", maintain_order=True)
        .head(_MOST_REPLIES)
        .select("item", "request", "score", *(pl.col(name).cast(pl.String) for name in _TOLD))
        .collect()
    )
    texts: dict[str, str | None] = {}
    for run in runs:
        said = answers_frame(run.path).filter(pl.col("request").is_in(rows.get_column("request").to_list()))
        texts |= dict(said.select("request", "text").collect().iter_rows())
    replies: dict[str, list[Reply]] = {}
    for row in rows.iter_rows(named=True):
        read = row["choice"] or row["reading"] or row["outcome"]
        right = None if row["score"] is None else row["score"] > 0.5
        words = clip((texts.get(row["request"]) or "").strip(), _LONGEST_REPLY)
        replies.setdefault(row["item"], []).append((f"{row['model']}, {row['modality']}", words, read, right))
    return replies
