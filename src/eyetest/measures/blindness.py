"""Not seeing has several ways: no picture and no word of it, no picture and a word to guess, a grey picture.

They are one family, and give different scores: who is not told to guess may refuse. Where a model was asked in
several ways, the strictest counts, the one in which it answers most: what can be answered blind at all.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.records import BLIND_SIGHTS
from eyetest.wording import listed

ANY = "any"
BLIND_SETTING = (ANY, f"the sight that counts as not seeing: {', '.join(BLIND_SIGHTS)}, or the strictest of any")
_NEARLY_ALL = 0.9
"""A sight under which a model answered fewer items than this share of another's is no rival to it."""


def blind_sights(said: str) -> tuple[str, ...]:
    """The sights that count as not seeing: all of the family, or those that the user names."""
    return BLIND_SIGHTS if said == ANY else tuple(word.strip() for word in said.split(","))


def strictest(columns: Mapping[str, NDArray[np.float64]]) -> str:
    """Of several sights the one under which most is answered, on the items that all have; nan where one has not."""
    counts = {sight: np.count_nonzero(~np.isnan(column)) for sight, column in columns.items()}
    most = max(counts.values())
    rivals = sorted((sight for sight, n in counts.items() if n >= _NEARLY_ALL * most), key=_place)
    table = np.column_stack([columns[sight] for sight in rivals])
    shared = table[~np.isnan(table).any(axis=1)]
    if not len(shared):
        return max(rivals, key=lambda sight: counts[sight])
    return rivals[int(np.argmax(shared.mean(axis=0)))]


def strictest_sights(scores: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """``*keys, sight``: under which sight each answered most; of scores by item, each once a sight."""
    rows = []
    for key, part in scores.group_by(keys, maintain_order=True):
        if part.get_column("sight").n_unique() == 1:
            rows.append((*key, part.item(0, "sight")))
            continue
        wide = part.pivot("sight", index=["item"], values="score", aggregate_function="mean")
        columns = {name: wide.get_column(name).cast(pl.Float64).to_numpy() for name in wide.columns if name != "item"}
        rows.append((*key, strictest(columns)))
    return pl.DataFrame(rows, schema={name: scores.schema[name] for name in (*keys, "sight")}, orient="row")


def told_choice(asked: Iterable[tuple[str, ...]], taken: Iterable[str]) -> tuple[str, ...]:
    """What has to be said where models were asked in several ways without the picture: in which, which counts."""
    ways = [sights for sights in asked if len(sights) > 1]
    if not ways:
        return ()
    names = listed(sorted({sight for sights in ways for sight in sights}, key=_place))
    each = [name for name, several in zip(taken, asked, strict=True) if len(several) > 1]
    counts = listed([f"{name} {each.count(name):,}" for name in sorted(set(each), key=_place)])
    return (f"asked without the picture in several ways ({names}): the higher score counts, {counts}",)


def _place(sight: str) -> int:
    return BLIND_SIGHTS.index(sight) if sight in BLIND_SIGHTS else len(BLIND_SIGHTS)
