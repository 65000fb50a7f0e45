"""Items that fell, by the reason for which they fell, with what models said to them."""

from collections.abc import Sequence

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.pages.item_links import reason_kind
from eyetest.pages.item_view import Album, ItemView, in_turns, lot, show_verdict
from eyetest.pages.page import clip
from eyetest.records import Item, Verdict
from eyetest.reports.refinements import together
from eyetest.runs import Run
from eyetest.runs.stored import answers_frame

_FALLEN = ("drop", "review")
_MOST_REPLIES = 6
_LONGEST_REPLY = 240
_TOLD = ("model", "sight", "outcome", "reading", "choice")
Key = tuple[str, str, str]
"""A verdict, the stage that gave it, and its reason without the figures."""


class ModelReply(msgspec.Struct, frozen=True):
    """What one model said, and what it was worth."""

    who: str
    said: str
    reading: str
    right: bool | None


class Fallen(msgspec.Struct, frozen=True):
    """One item on the page, and what was said to it."""

    shown: ItemView
    replies: list[ModelReply]


class Reason(msgspec.Struct, frozen=True):
    """Why items fell, how many, and some of them."""

    verdict: str
    stage: str
    reason: str
    number: int
    items: list[Fallen]
    examples: tuple[str, ...] = ()
    """What exactly was said, where it differs in figures."""


def fallen_items(
    verdicts: Sequence[Verdict], benchmarks: Sequence[Benchmark], runs: Sequence[Run], scores: pl.LazyFrame, most: int
) -> tuple[list[Reason], Album]:
    """Some of the items that fell, spread over the reasons, and the pictures they need."""
    by_reason: dict[Key, list[Verdict]] = {}
    for verdict in sorted(verdicts, key=lambda verdict: lot(verdict.item)):
        if verdict.verdict in _FALLEN:
            by_reason.setdefault((verdict.verdict, verdict.stage, reason_kind(verdict.reason)), []).append(verdict)
    chosen = in_turns(([(key, verdict) for verdict in some] for key, some in by_reason.items()), most)
    every = [verdict for _, verdict in chosen]
    wanted, items = {verdict.item for verdict in every}, dict[str, Item]()
    for benchmark in benchmarks:
        items |= {item.id: item for item in benchmark if item.id in wanted - items.keys()}
    replies = replies_to(every, runs, scores)
    album = Album(*benchmarks)
    reasons = []
    for key in sorted(by_reason, key=lambda key: (key[0], -len(by_reason[key]), key)):
        shown = [
            Fallen(show_verdict(verdict, items.get(verdict.item), album), replies.get(verdict.item, []))
            for of, verdict in chosen
            if of == key
        ]
        said = [verdict.reason for verdict in by_reason[key]]
        told = Reason(*key[:2], together(said), len(said), shown, tuple(dict.fromkeys(said)))
        reasons.append(told)
    return reasons, album


def replies_to(verdicts: Sequence[Verdict], runs: Sequence[Run], scores: pl.LazyFrame) -> dict[str, list[ModelReply]]:
    """What was said to some items: by preference what their verdicts rest on, one answer a model first."""
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
    replies: dict[str, list[ModelReply]] = {}
    for row in rows.iter_rows(named=True):
        read = row["choice"] or row["reading"] or row["outcome"]
        right = None if row["score"] is None else row["score"] > 0.5
        words = clip((texts.get(row["request"]) or "").strip(), _LONGEST_REPLY)
        replies.setdefault(row["item"], []).append(ModelReply(f"{row['model']}, {row['sight']}", words, read, right))
    return replies
