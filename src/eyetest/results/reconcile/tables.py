"""A reconciliation as tables: causes, items, ways of counting. Points are hundredths of the score."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

import polars as pl

from eyetest.results.reconcile.attribution import CauseTotal, Reconciled, Share
from eyetest.results.reconcile.causes import CAUSES
from eyetest.results.reconcile.credits import Credit
from eyetest.results.reconcile.published import Reckoning

_CAUSE_TYPES = {
    "cause": pl.String,
    "rows": pl.Int64,
    "up": pl.Int64,
    "down": pl.Int64,
    "points": pl.Float64,
    "meaning": pl.String,
}
_ITEM_TYPES = {
    "item": pl.String,
    "group": pl.String,
    "cause": pl.String,
    "points": pl.Float64,
    **{f"{side}_{name}": kind for name, kind in (("read", pl.String), ("score", pl.Float64)) for side in "ab"},
    **{f"{side}_{name}": pl.String for name in ("gold", "reply") for side in "ab"},
}


def points(share: Fraction) -> float:
    """A share of 1 in points."""
    return float(share * 100)


def causes_table(causes: Iterable[CauseTotal]) -> pl.DataFrame:
    """One row a cause."""
    rows = [(one.cause, one.rows, one.up, one.down, points(one.points), CAUSES[one.cause]) for one in causes]
    return pl.DataFrame(rows, schema=_CAUSE_TYPES, orient="row")


def items_table(shares: Iterable[Share]) -> pl.DataFrame:
    """One row for each item and cause; those that move the score most come first, by cause."""
    order = {cause: place for place, cause in enumerate(CAUSES)}
    rows = [
        (share.item, _group(share), share.cause, points(share.points), *_both(share))
        for share in sorted(shares, key=lambda share: (order[share.cause], -abs(share.points), share.item))
        if share.item
    ]
    return pl.DataFrame(rows, schema=_ITEM_TYPES, orient="row")


def groups_table(groups: Sequence[tuple[str, Reconciled]]) -> pl.DataFrame:
    """One row a model and condition: both scores, the gap, and the points of each cause."""
    found = [(name, one, {cause.cause: cause.points for cause in one.causes}) for name, one in groups]
    causes = [cause for cause in CAUSES if any(cause in by for _, _, by in found)]
    rows = [
        {"group": name, "a": float(one.a.score), "b": float(one.b.score), "gap": points(one.gap)}
        | {cause: points(by.get(cause, Fraction(0))) for cause in causes}
        for name, one, by in found
    ]
    return pl.DataFrame(rows).sort("gap", "group") if rows else pl.DataFrame()


def ways_table(ways: Iterable[Reckoning], number: Fraction) -> pl.DataFrame:
    """One row a way of counting."""
    rows = [
        (way.words, float(way.score), way.reached, way.luck, points(way.score - number), way.account.counted)
        for way in ways
    ]
    schema = {"way": pl.String, "score": pl.Float64, "gives it": pl.String, "luck": pl.Float64, "off": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"counted": pl.Int64}, orient="row")


def _group(share: Share) -> str:
    there = share.a or share.b
    return "" if there is None else there.group


def _both(share: Share) -> tuple[str | float | None, ...]:
    a, b = share.a, share.b
    other = None if b is None or (a is not None and a.says_as(b)) else b.text
    return (
        *(_said(credit) for credit in (a, b)),
        *(None if credit is None or credit.score is None else float(credit.score) for credit in (a, b)),
        *(None if credit is None else credit.gold for credit in (a, b)),
        None if a is None else a.text,
        other,
    )


def _said(credit: Credit | None) -> str | None:
    return None if credit is None else credit.said
