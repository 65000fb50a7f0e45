"""Twins that are not exact: how often clean models fail the test, and how many contaminated ones it still finds.

``python -m contamination.imperfect DATA HALF`` prints it; ``--store FOLDER`` first writes the tables of both halves
from the answers in a folder (``python -m contamination --bridge``).
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import scipy

from contamination import bridge, declare
from contamination.compare import Floats, Half, cells_of, p_beside_clean
from contamination.tables import write
from eyetest.measures.stats import memorization

_READ = 0.05  # log-likelihoods are bytes in steps of so much
_STEP, _MIDDLE = 0.05, 128  # of stored log-odds
_TWINS, _OPTIONS = declare.TWINS, declare.OPTIONS
_TEXTS = 1 + _TWINS * len(bridge.KINDS)
_KINDS = ("exact", *bridge.KINDS, "hard")
"""Stored twins; hard: the texts of both, whose key is the option that the trunks, from which all models start, hold
least.
"""
_DRAWS, _REFERENCES, _SPLITS = 500, 20, 10
_LEVELS = (0.01, 0.05)


def store(folder: Path, to: Path) -> None:
    """Write the log-odds that each model gives each key, and what it chooses on images in another style."""
    families, twins = declare.families(), bridge.stored(to / "bridge.json.gz")
    count = len(families)
    stored = {trunk: np.load(folder / f"{trunk}.npz") for trunk in declare.TRUNKS}
    golds = np.array([[text.gold for kind in bridge.KINDS for text in own[kind]] for own in twins])
    first = np.array([family.order.index(family.original.gold) for family in families])
    others = np.array([[family.order.index(twin.gold) for twin in family.twins] for family in families])
    held = {trunk: _shares(part["trunk"][0], count) for trunk, part in stored.items()}
    both = slice(1 + _TWINS * bridge.KINDS.index("both"), 1 + _TWINS * (1 + bridge.KINDS.index("both")))
    least = np.mean([np.log(shares[:, both]) for shares in held.values()], axis=0).argmin(axis=2)
    for half in ("open", "sealed"):
        names, columns = {one.name for one in declare.models() if one.half == half}, {}
        for part in stored.values():
            for index, name in enumerate(part["names"].tolist()):
                if name in names:
                    shares = _shares(part["letters"][index], count)
                    own = np.take_along_axis(shares[:, 0], np.column_stack([first, others]), axis=1)
                    grown = np.take_along_axis(shares[:, 1:], golds[:, :, None], axis=2)[:, :, 0]
                    hard = np.take_along_axis(shares[:, both], least[:, :, None], axis=2)[:, :, 0]
                    odds = scipy.special.logit(np.concatenate([own, grown, hard], axis=1))
                    chosen = part["letters"][index, count * _TEXTS :].argmin(axis=1)
                    rounded = np.clip(np.rint(odds / _STEP) + _MIDDLE, 0, 255).ravel()
                    columns[name] = np.concatenate([rounded, chosen]).astype(np.uint8)
        write(pl.DataFrame(columns), to / f"bridge-{half}.parquet")


def _shares(letters: Floats, count: int) -> Floats:
    """Probabilities of options without the image: families × texts × options."""
    shares = memorization.without_letters(letters[: count * _TEXTS] * -_READ)
    return shares.reshape(count, _TEXTS, _OPTIONS)


class Twins(NamedTuple):
    """How firmly each model holds the keys of originals and twins; ``likelihoods`` or else answers."""

    name: str
    values: list[Floats]
    likelihoods: bool = True


def kinds(half: Half, table: pl.DataFrame) -> Iterator[Twins]:
    """Every kind of twins, three of an item or one, and images in another style."""
    size = half.count * (1 + _TWINS * len(_KINDS))
    columns = {name: table.get_column(name).to_numpy() for name in half.names}
    odds = {
        name: (one[:size].reshape(half.count, -1).astype(float) - _MIDDLE) * _STEP for name, one in columns.items()
    }
    strengths = [scipy.special.expit(odds[name]) for name in half.names]
    published = [half.held(name)[0][:, 0] for name in half.names]
    alike = [np.corrcoef(a[:, 0] ** 4, b**4)[0, 1] for a, b in zip(strengths, published, strict=True)]
    print(f"originals, as published and in this training: correlation {np.median(alike):.3f}")
    for at, kind in enumerate(_KINDS):
        for number in (_TWINS, 1):
            own = [0, *range(1 + _TWINS * at, 1 + _TWINS * at + number)]
            yield Twins(f"{kind}, {number}", [one[:, own] for one in strengths])
    chosen = [columns[name][size:].reshape(half.count, -1) for name in half.names]
    given = [(one[:, :, None] == half.golds[:, None, :]).astype(float) for one in chosen]
    own = [np.einsum("fee->fe", one) for one in given]
    shares = [(one.sum(axis=1) - right) / _TWINS for one, right in zip(given, own, strict=True)]
    yield Twins("re-rendered, 3", [a * b**2 for a, b in zip(own, shares, strict=True)], likelihoods=False)


def figures(half: Half, table: pl.DataFrame) -> pl.DataFrame:
    """Share of models below .01 and .05, by the exact test and relative to twenty clean models."""
    cells, rows = cells_of(half), []
    for twins in kinds(half, table):
        power = 4 if twins.likelihoods else 1
        exact = np.array([memorization.redrawn(values**power, _DRAWS, 0).p for values in twins.values])
        for cell, where in cells.items():
            for level in _LEVELS:
                share = float((exact[where] < level).mean())
                rows.append({"twins": twins.name, "p": "exact", "level": level, "models": cell, "share": share})
        rng = np.random.default_rng(0)
        for _ in range(_SPLITS):
            references = rng.permutation(cells["clean"])[:_REFERENCES].tolist()
            for cell, where in cells.items():
                tested = [one for one in where if one not in references]
                found = [
                    p_beside_clean(twins.values, references, number, likelihoods=twins.likelihoods)
                    for number in tested
                ]
                for level in _LEVELS:
                    share = float(np.mean([p is not None and p < level for p in found]))
                    rows.append(
                        {"twins": twins.name, "p": "relative", "level": level, "models": cell, "share": share}
                    )
    means = pl.DataFrame(rows).group_by("twins", "p", "level", "models", maintain_order=True).mean()
    return means.pivot("models", index=("level", "twins", "p"), values="share").sort("level", maintain_order=True)


def main() -> None:
    """Print the figures of one half."""
    parser = argparse.ArgumentParser(prog="python -m contamination.imperfect")
    parser.add_argument("data", type=Path)
    parser.add_argument("half", choices=("open", "sealed"))
    parser.add_argument("--store", type=Path, metavar="FOLDER")
    chosen = parser.parse_args()
    if chosen.store:
        store(chosen.store, chosen.data)
    half = Half(chosen.data, chosen.half)
    table = figures(half, pl.read_parquet(chosen.data / f"bridge-{chosen.half}.parquet"))
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=600, float_precision=2, fmt_str_lengths=40):
        print(table)


if __name__ == "__main__":
    main()
