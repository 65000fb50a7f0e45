"""What a recipe leaves to people: in which rounds, and in which order."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from eyetest.errors import InputError, nearest, param, short
from eyetest.measures.results import TAG
from eyetest.records import Decision, Recipe, Stage
from eyetest.studio.decisions import Decided, decide

_FINDING = 0.5  # how likely a finding of an audit is to change something


class Rounds:
    """The rounds of a recipe (each review stage after the first begins one); later decisions count in the last."""

    def __init__(self, recipe: Recipe, decisions: Mapping[str, Sequence[Decision]]) -> None:
        self._decisions = decisions
        self._last = 1
        self.asked: dict[str, tuple[int, str]] = {}  # by the title of a stage: its round, and the question to people
        reviews = 0
        for stage in recipe.stages:
            reviews += stage.review is not None
            self._last = max(reviews, 1)
            self.asked[stage.title] = (self._last, recipe.rounds[self._last - 1].form)

    def decided(self, stage: Stage, item: str) -> Decided:
        """The outcome of an item in the round of a stage."""
        rows = self._decisions.get(item, ())
        mine = [row for row in rows if min(max(row.round, 1), self._last) == self.asked[stage.title][0]]
        return decide(mine, stage.review.reviewers if stage.review else 1)


def by_suspicion(items: pl.DataFrame, ids: Collection[str], seed: int = 0, per: str = "") -> list[str]:
    """Items by need of review: sent by a stage, ``doubt`` (log ratio), findings, difficulty; ``per`` alternates."""
    table = items.filter(pl.col("id").is_in(pl.Series(list(ids), dtype=pl.String).implode())).sort("id")
    shuffled = np.random.default_rng(seed).permutation(len(table))
    findings = pl.col("findings").list.len().fill_null(0)
    doubted = 1 / (1 + pl.col("doubt").exp()) if "doubt" in items.columns else pl.lit(1.0)
    keys = [
        (pl.col("verdict") == "review").fill_null(value=False),
        1 - doubted.fill_null(1.0) * (1 - _FINDING) ** findings,
        *([pl.col("difficulty")] if "difficulty" in items.columns else []),
    ]
    ordered = table.with_columns(pl.Series("__random", shuffled)).sort(
        *keys, "__random", descending=[True] * len(keys) + [False], nulls_last=True
    )
    if per:
        tags = [name.removeprefix(TAG) for name in items.columns if name.startswith(TAG)]
        if per not in tags:
            hint = nearest(per, tags) if tags else "no item has a tag"
            raise InputError(f"{param('per')}: no tag {short(per)}; {hint}")
        turn = pl.int_range(pl.len()).over(TAG + per)
        ordered = ordered.with_columns(__turn=turn).sort("__turn", maintain_order=True)
    return ordered.get_column("id").to_list()


def drawn(ids: Iterable[str], count: int, seed: int = 0) -> list[str]:
    """A random sample of items, fixed by the seed."""
    every = sorted(ids)
    return [every[number] for number in np.random.default_rng(seed).permutation(len(every))[:count]]
