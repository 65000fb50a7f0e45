"""In which order people see items: the most suspicious first, spread over a tag's values, the rest by lot."""

from collections.abc import Collection, Iterable

import numpy as np
import polars as pl

from eyetest.errors import InputError, nearest, param, short
from eyetest.measures.results import TAG

_FINDING = 0.5
"""How likely what an audit found is to change something, where nothing else is known."""


def by_suspicion(items: pl.DataFrame, ids: Collection[str], per: str = "", seed: int = 0) -> list[str]:
    """Some items of a collection's table in the order in which people should see them.

    First what a stage sent to people. Then by what looking is worth: how likely it is to change something, by what
    models chose (``doubt``, log odds) and audits found; of equals what more models fail at. The values of a tag
    ``per`` take turns, so that whoever stops early has seen some of each.
    """
    table = items.filter(pl.col("id").is_in(pl.Series(list(ids), dtype=pl.String).implode())).sort("id")
    lots = np.random.default_rng(seed).permutation(len(table))
    findings = pl.col("findings").list.len().fill_null(0)
    doubted = 1 / (1 + pl.col("doubt").exp()) if "doubt" in items.columns else pl.lit(1.0)
    keys = [
        (pl.col("verdict") == "review").fill_null(value=False),
        1 - doubted.fill_null(1.0) * (1 - _FINDING) ** findings,
        *([pl.col("difficulty")] if "difficulty" in items.columns else []),
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
