"""What refinements and audits said of items: by position all of it, and as columns what was said last."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.measures.stats.intervals import Bools
from eyetest.pages.item_links import VERDICTS_TOGETHER, reason_kind
from eyetest.probes.audit import GRAVITY
from eyetest.records import Finding, Severity, Verdict, VerdictKind, columns
from eyetest.review.collection.sources import Judged

_AUDIT = r"^audit(:|$)"
_TYPES = {"position": pl.Int64, **dict.fromkeys(("stage", "verdict", "reason", "evidence"), pl.String)}
_TOLD = ("verdict", "reason", "evidence")
Places = Mapping[str, int]
"""Where the items of a benchmark stand."""


class ItemFinding(NamedTuple):
    """What an audit says of one item."""

    kind: str
    title: str
    evidence: str
    severity: Severity | None = None


class Judgements:
    """Verdicts as a table in the order of positions, and findings by position."""

    def __init__(self, judged: Sequence[Judged], places: Mapping[str, Places], size: int) -> None:
        """``places``: by the fingerprint of a benchmark, or the name of what has none."""
        self._size = size
        self._findings: dict[int, list[ItemFinding]] = {}
        self._suggested: dict[int, VerdictKind] = {}
        tables = [pl.DataFrame(schema=_TYPES)]
        for one in judged:
            about = [places[one.fingerprint]] if one.fingerprint in places else list(places.values())
            for finding in one.findings:
                self._add_finding(finding, about)
            if one.suggested is not None:
                self._add_suggested(one.suggested, about)
            if one.verdicts is not None:
                tables += [self._placed(one.verdicts, place) for place in about]
        every = pl.concat(tables, how="diagonal_relaxed").sort("position", maintain_order=True)
        self._verdicts = every
        self._starts = np.searchsorted(every.get_column("position").to_numpy(), np.arange(size + 1))

    def _add_finding(self, finding: Finding, about: Sequence[Places]) -> None:
        for item in finding.items:
            told = ItemFinding(finding.kind, finding.title, finding.evidence.get(item, ""), finding.severity)
            for position in dict.fromkeys(place[item] for place in about if item in place):
                self._findings.setdefault(position, []).append(told)

    def _add_suggested(self, suggested: Mapping[str, VerdictKind], about: Sequence[Places]) -> None:
        for place in about:
            for item, position in place.items():
                self._suggest(position, suggested.get(item, "keep"))

    def _suggest(self, position: int, verdict: VerdictKind) -> None:
        self._suggested[position] = min(verdict, self._suggested.get(position, "keep"), key=GRAVITY.__getitem__)

    def _placed(self, verdicts: pl.DataFrame, place: Places) -> pl.DataFrame:
        """Verdicts with the positions of their items. One of an audit is a finding, where it is not ``keep``."""
        named = pl.DataFrame({"item": list(place), "position": list(place.values())}, schema_overrides=_POSITION)
        rows = verdicts.join(named, on="item", maintain_order="left")
        audited = rows.filter(pl.col("stage").str.contains(_AUDIT))
        for position, verdict, reason, evidence in audited.select("position", *_TOLD).iter_rows():
            self._suggest(position, verdict)
            if verdict != "keep":
                told = ItemFinding(reason or "", evidence or "", evidence or "")
                self._findings.setdefault(position, []).append(told)
        return rows.filter(~pl.col("stage").str.contains(_AUDIT))

    def verdicts(self, position: int) -> list[Verdict]:
        """What stages said of an item, in their order."""
        rows = self._verdicts[self._starts[position] : self._starts[position + 1]].to_dicts()
        names = columns(Verdict)
        said = ({name: row[name] for name in names if row.get(name) is not None} for row in rows)
        return [msgspec.convert(values, Verdict) for values in said]

    def findings(self, position: int) -> Sequence[ItemFinding]:
        """What audits say of an item."""
        return self._findings.get(position, ())

    def columns(self) -> pl.DataFrame:
        """What was said last, the kinds of findings and what they suggest, a row an item."""
        last = self._verdicts.group_by("position", maintain_order=True).last().select("position", "verdict", "stage")
        kinds = {position: sorted({one.kind for one in some}) for position, some in self._findings.items()}
        kinds_of = pl.DataFrame(
            {"position": list(kinds), "findings": list(kinds.values())},
            schema={"position": pl.Int64, "findings": pl.List(pl.String)},
        )
        suggested = pl.DataFrame(
            {"position": list(self._suggested), "suggested": list(self._suggested.values())},
            schema={"position": pl.Int64, "suggested": pl.String},
        )
        rows = pl.DataFrame({"position": np.arange(self._size)}, schema=_POSITION)
        for table in (last, kinds_of, suggested):
            rows = rows.join(table, on="position", how="left", maintain_order="left")
        return rows.drop("position")

    def judged(self, verdict: str, stage: str, reason: str = "") -> Bools:
        """Items that a stage said something of; without a stage, those of which it was said last."""
        rows = self._verdicts
        if not stage:
            rows = rows.group_by("position", maintain_order=True).last()
        wanted = [pl.col("stage") == stage] if stage else []
        wanted += [_is(verdict)] if verdict else []
        rows = rows.filter(*wanted)
        if reason:
            kinds = [reason_kind(said or "") == reason for said in rows.get_column("reason")]
            rows = rows.filter(pl.Series(kinds, dtype=pl.Boolean))
        return self._mask(rows.get_column("position").to_numpy().tolist())

    def counts(self, positions: NDArray[np.int64], verdict: str, stage: str) -> dict[str, dict[str, int]]:
        """Of some items, how many each ``stage`` and each ``verdict`` would leave, beside the other of the two."""
        rows = self._verdicts.filter(pl.col("position").is_in(pl.Series(positions).implode()))
        last = rows.group_by("position", maintain_order=True).last()
        told = {
            "stage": rows.filter(_is(verdict)) if verdict else rows,
            "verdict": rows.filter(pl.col("stage") == stage) if stage else last,
        }
        return {
            name: dict(some.group_by(name).agg(pl.col("position").n_unique()).iter_rows())
            for name, some in told.items()
        }

    def with_finding(self, kinds: Sequence[str]) -> Bools:
        """Items that are in one of some findings."""
        wanted = set(kinds)
        return self._mask([at for at, some in self._findings.items() if any(one.kind in wanted for one in some)])

    def _mask(self, positions: Sequence[int]) -> Bools:
        mask = np.zeros(self._size, bool)
        mask[list(positions)] = True
        return mask

    @property
    def stages(self) -> dict[str, int]:
        """Stages in the order in which items reach them, and of how many items each said something."""
        within = pl.int_range(pl.len()).over("position")
        rows = self._verdicts.select("position", "stage", turn=within).group_by("stage", maintain_order=True)
        told = rows.agg(pl.col("turn").max(), pl.col("position").n_unique()).sort("turn", maintain_order=True)
        return dict(told.select("stage", "position").iter_rows())


def _is(verdict: str) -> pl.Expr:
    """Whether a verdict is that, or one of those that a word stands for."""
    return pl.col("verdict").is_in(VERDICTS_TOGETHER.get(verdict, (verdict,)))


_POSITION = {"position": pl.Int64}
