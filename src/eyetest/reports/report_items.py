"""Which items each number of a report stands for, so that it can lead to them."""

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
from eyetest.pages.plots import named
from eyetest.reports.gallery import Reason
from eyetest.reports.material import Material

Counts = Mapping[str, Sequence[ItemCount]]
"""Columns of a table that count items, and for each row where its number leads."""
_AUDIT = "audit"


@dataclass(frozen=True)
class ReportItems:
    """Numbers become links, where what they stand for can be said; else they stay numbers."""

    material: Material
    benchmarks: Sequence[Benchmark] = ()
    """All that somebody opens who opens what the report was made from."""
    at: ItemsAt = NOWHERE
    links: ChartLinks = field(default_factory=ChartLinks)

    @cached_property
    def _names(self) -> list[str]:
        names = self.material.results.items.get_column("benchmark").unique().to_list()
        return [name for name in names if name is not None]

    def _about(self, benchmark: str | None) -> Query | None:
        """The items of one benchmark, or of all that the results are about; None where no query says that."""
        opened = [one.manifest.name for one in self.benchmarks]
        if benchmark is None and len(opened) <= len(self._names) and self.material.funnel is None:
            return Query()
        name = self._names[0] if benchmark is None and len(self._names) == 1 else benchmark
        return Query(benchmark=name) if name and opened.count(name) == 1 else None

    def count(self, number: int, benchmark: str | None = None, **more: Any) -> ItemCount:
        """Items of a benchmark, or of all, that are so."""
        about = self._about(benchmark)
        return ItemCount(number) if about is None else self.at.count(number, msgspec.structs.replace(about, **more))

    def judged(self, number: int, stage: str, verdict: str = "") -> ItemCount:
        """Items of which a stage said so."""
        return self.at.count(number, Query(stage=stage, verdict=verdict))

    def fallen(self, reason: Reason) -> ItemCount:
        """Items that fell for a reason; what an audit said is a finding."""
        query = Query(stage=reason.stage, verdict=reason.verdict, reason=reason_kind(reason.examples[0]))
        if reason.stage.partition(":")[0] == _AUDIT:
            query = Query(findings=reason.examples)
        return self.at.count(reason.number, query)

    def named(self, ids: Iterable[str]) -> ItemCount:
        """Items by their names, where each is the name of one item."""
        names = list(ids)
        several = len(self.benchmarks) > 1 or self.material.results.items.get_column("item").is_duplicated().any()
        return ItemCount(len(set(names))) if several else self.at.named(names)

    def answered(
        self, row: Mapping[str, Any], kind: AskedKind = "scored", column: str = "n", **more: Any
    ) -> ItemCount:
        """Items that whoever a row is about answered so: ``series`` or ``model``, ``benchmark``, ``sight``."""
        number, benchmark = row[column] or 0, row.get("benchmark")
        who = self._ways.get(row.get("series") or row["model"], ())
        at = [way for way in who if benchmark is None or way[0] == benchmark]
        if row.get("sight"):
            at = [way for way in at if way[2][0] == row["sight"]]
        else:
            at = [way for way in at if way[2] == self._usual.get(way[0])]
        filters = {(model, self._words(protocol)) for _, model, protocol in at}
        if len(filters) != 1:
            return ItemCount(number)
        return self.count(number, self._told_apart(row), answers=(AnswerFilter(kind, *filters.pop()),), **more)

    def asked(self, row: Mapping[str, Any]) -> ItemCount:
        """Items that anybody was asked under a protocol."""
        words = self._words(tuple(row[axis] for axis in PROTOCOL))
        return self.count(row["items"], self._told_apart(row), answers=(AnswerFilter("asked", "", words),))

    def _told_apart(self, row: Mapping[str, Any]) -> str | None:
        return row.get("benchmark") if len(self._names) > 1 else None

    def marks(self, counts: Iterable[ItemCount]) -> pl.Series:
        """A column ``href`` for a chart."""
        return pl.Series("href", [self.links.mark(count) for count in counts], pl.String)

    def _words(self, protocol: Sequence[str]) -> str:
        """A condition in the words in which these results differ."""
        return " ".join(
            value for axis, value in zip(PROTOCOL, protocol, strict=True) if axis == "sight" or axis in self._varied
        )

    @cached_property
    def _varied(self) -> list[str]:
        return self.material.results.varied(PROTOCOL)

    @cached_property
    def _ways(self) -> dict[str, list[tuple[str, str, tuple[str, ...]]]]:
        """By the name of a series: benchmark, model and protocol."""
        told = self.material.results.scores.select(pl.col("benchmark", "model", *PROTOCOL).cast(pl.String)).unique()
        ways: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {}
        for series, benchmark, model, *protocol in (
            named(told.collect()).select("series", "benchmark", "model", *PROTOCOL).iter_rows()
        ):
            ways.setdefault(series, []).append((benchmark, model, tuple(protocol)))
        return ways

    @cached_property
    def _usual(self) -> dict[str, tuple[str, ...]]:
        told = self.material.usual.scores.select(pl.col("benchmark", *PROTOCOL).cast(pl.String)).unique()
        return {benchmark: tuple(protocol) for benchmark, *protocol in told.collect().iter_rows()}
