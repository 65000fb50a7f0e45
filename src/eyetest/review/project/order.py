"""In which order people see items: the most suspicious first, spread over a tag's values, the rest by lot."""

from collections.abc import Collection, Iterable

import numpy as np
import polars as pl

from eyetest.errors import InputError, nearest, param, short
from eyetest.measures.results import TAG

_DOUBTS = ("doubt", "difficulty")
"""Columns in which more is more suspicious, the first of them before the others."""


def by_suspicion(items: pl.DataFrame, ids: Collection[str], per: str = "", seed: int = 0) -> list[str]:
    """Some items of a collection's table in the order in which people should see them.

    First what a stage sent to people, then what audits found most about, then what models doubt or fail at. The
    values of a tag ``per`` take turns, so that whoever stops early has seen some of each.
    """
    table = items.filter(pl.col("id").is_in(pl.Series(list(ids), dtype=pl.String).implode())).sort("id")
    lots = np.random.default_rng(seed).permutation(len(table))
    doubts = [pl.col(name) for name in _DOUBTS if name in items.columns]
    keys = [
        (pl.col("verdict") == "review").fill_null(value=False),
        pl.col("findings").list.len().fill_null(0),
        *doubts,
    ]
    ordered = table.with_columns(pl.Series("__lot", lots)).sort(
        *keys, "__lot", descending=[True] * len(keys) + [False], nulls_last=True
    )
    if per:
        refuse_unknown_tag(items, per)
        turn = pl.int_range(pl.len()).over(TAG + per)
        ordered = ordered.with_columns(__turn=turn).sort("__turn", maintain_order=True)
    return ordered.get_column("id").to_list()


def refuse_unknown_tag(items: pl.DataFrame, tag: str) -> None:
    """Refuse a tag that no item has, with the nearest."""
    tags = [name.removeprefix(TAG) for name in items.columns if name.startswith(TAG)]
    if tag not in tags:
        told = nearest(tag, tags) if tags else "no item has a tag"
        raise InputError(f"{param('per')}: no tag {short(tag)}; {told}")


def drawn(ids: Iterable[str], count: int, seed: int = 0) -> list[str]:
    """So many items by lot, the same for the same seed."""
    every = sorted(ids)
    return [every[number] for number in np.random.default_rng(seed).permutation(len(every))[:count]]
