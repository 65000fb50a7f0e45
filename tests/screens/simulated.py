"""Panels that are drawn: items of which some are answerable blind, inspectors that mostly know those."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.records import Item
from eyetest.screens import Evidence
from tests.screens.said import item, seats

Bools = NDArray[np.bool_]


class Drawn(NamedTuple):
    """Which items are answerable blind, and every trial: items × seats × trials."""

    leaky: Bools
    right: Bools

    @property
    def names(self) -> list[str]:
        return [f"q{number:05}" for number in range(len(self.leaky))]

    def items(self, options: int = 4) -> list[Item]:
        return [item(name, options) for name in self.names]

    def evidence(self, heard: Bools | None = None) -> Evidence:
        """What the panel said; ``heard``: only these trials."""
        places = np.argwhere(np.ones_like(self.right) if heard is None else heard)
        names, models = np.array(self.names), np.array(seats(self.right.shape[1]))
        request = np.char.add(np.char.add(names, "/"), "")[places[:, 0]]
        frame = pl.DataFrame(
            {
                "item": names[places[:, 0]],
                "model": models[places[:, 1]],
                "order": np.zeros(len(places), int),
                "trial": places[:, 2],
                "score": self.right[tuple(places.T)].astype(float),
                "request": request,
            }
        ).with_columns(
            pl.concat_str("request", "model", pl.lit("/"), "trial").alias("request"),
            *(pl.lit(value).alias(name) for name, value in (("outcome", "answered"), ("reading", "chosen"))),
            *(pl.lit(None, pl.String).alias("choice"), pl.lit("accuracy").alias("metric")),
        )
        return Evidence(frame, seats(self.right.shape[1]), self.right.shape[2])


def draw_panel(
    rng: np.random.Generator, *, items: int, inspectors: int, trials: int, options: int = 4, leaky: float = 0.2
) -> Drawn:
    """An inspector knows an answerable item with probability .95 and is then right .85 of its trials, else 1/n."""
    is_leaky = np.arange(items) < round(leaky * items)
    rng.shuffle(is_leaky)
    knows = is_leaky[:, None] & (rng.random((items, inspectors)) < 0.95)
    skill = np.where(knows, 0.85, 1 / options)
    return Drawn(is_leaky, rng.random((items, inspectors, trials)) < skill[:, :, None])
