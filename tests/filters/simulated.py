"""Panels that are drawn: items of which some are answerable blind, inspectors that mostly know those and else guess.

Guessers have tastes: a distribution over an item's options that stays the same in all samples, whatever the order.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.filters import FILTERS, Evidence
from eyetest.records import Item, Stage, letter
from eyetest.running.execution import Waves
from tests.filters.answers import item, seats

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Taste = Callable[[np.random.Generator, int, int, int], Floats]
"""Generator, items, inspectors, options → how likely each inspector takes each option where it does not know."""


class Drawn(NamedTuple):
    """Which items are answerable blind, and each choice: items × seats × samples. The gold is option 0."""

    leaky: Bools
    chosen: Ints

    @property
    def right(self) -> Bools:
        return np.asarray(self.chosen == 0)

    @property
    def names(self) -> list[str]:
        return [f"q{number:05}" for number in range(len(self.leaky))]

    def items(self, options: int = 4) -> list[Item]:
        return [item(name, options) for name in self.names]

    def evidence(self, received: Bools | None = None, *, with_choices: bool = True) -> Evidence:
        """Answers of the panel; ``received``: only these samples. Without choices only right and wrong are known."""
        places = np.argwhere(np.ones_like(self.right) if received is None else received)
        names, models = np.array(self.names), np.array(seats(self.chosen.shape[1]))
        chosen = self.chosen[tuple(places.T)]
        letters = np.array([letter(place) for place in range(26)])
        frame = pl.DataFrame(
            {
                "item": names[places[:, 0]],
                "model": models[places[:, 1]],
                "order": np.zeros(len(places), int),
                "sample": places[:, 2],
                "score": (chosen == 0).astype(float),
                "choice": letters[chosen] if with_choices else pl.Series([None] * len(places), dtype=pl.String),
            }
        ).with_columns(
            pl.concat_str("item", pl.lit("/"), "model", pl.lit("/"), "sample").alias("request"),
            *(pl.lit(value).alias(name) for name, value in (("outcome", "answered"), ("reading", "chosen"))),
            pl.lit("accuracy").alias("metric"),
        )
        return Evidence(frame, seats(self.chosen.shape[1]), self.chosen.shape[2])


def coins(rng: np.random.Generator, items: int, inspectors: int, options: int) -> Floats:
    """No taste at all."""
    return np.full((items, inspectors, options), 1 / options)


def own_tastes(evenness: float) -> Taste:
    """Each inspector has its own, item by item (Dirichlet)."""
    return lambda rng, items, inspectors, options: _dirichlet(rng, evenness, (items, inspectors, options))


def shared_tastes(evenness: float) -> Taste:
    """All inspectors have the same."""

    def draw(rng: np.random.Generator, items: int, inspectors: int, options: int) -> Floats:
        return np.repeat(_dirichlet(rng, evenness, (items, 1, options)), inspectors, axis=1)

    return draw


def leaning_tastes(evenness: float, closeness: float) -> Taste:
    """Each has its own, drawn around one that all share: what real panels are like."""

    def draw(rng: np.random.Generator, items: int, inspectors: int, options: int) -> Floats:
        around = _dirichlet(rng, evenness, (items, 1, options)) * closeness
        return _dirichlet(rng, np.maximum(around, 1e-3), (items, inspectors, options))

    return draw


def beliefs(share: float, strength: float = 0.9, evenness: float = 1.0) -> Taste:
    """All are nearly sure of the same option on some items, whatever is right; else each has a taste of its own."""

    def draw(rng: np.random.Generator, items: int, inspectors: int, options: int) -> Floats:
        likely = _dirichlet(rng, evenness, (items, inspectors, options))
        believed = rng.random(items) < share
        firm = np.full((items, options), (1 - strength) / (options - 1))
        firm[np.arange(items), rng.integers(options, size=items)] = strength
        likely[believed] = firm[believed, None, :]
        return likely

    return draw


def draw_panel(
    rng: np.random.Generator,
    *,
    items: int,
    inspectors: int,
    samples: int,
    options: int = 4,
    leaky: float = 0.2,
    taste: Taste = coins,
) -> Drawn:
    """An inspector knows a leaky item with probability .95 and is then right in .85 of samples; else it guesses."""
    is_leaky = np.arange(items) < round(leaky * items)
    rng.shuffle(is_leaky)
    knows = is_leaky[:, None] & (rng.random((items, inspectors)) < 0.95)
    known = np.full(options, 0.15 / (options - 1))
    known[0] = 0.85
    likely = np.where(knows[:, :, None], known, taste(rng, items, inspectors, options))
    drawn = rng.random((items, inspectors, samples))[..., None] > likely.cumsum(axis=2)[:, :, None, :-1]
    return Drawn(is_leaky, drawn.sum(axis=3))


def _dirichlet(rng: np.random.Generator, evenness: float | Floats, shape: tuple[int, ...]) -> Floats:
    drawn = rng.standard_gamma(np.broadcast_to(evenness, shape)) + 1e-300
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))


TASTES: dict[str, Taste] = {
    "coins": coins,
    "own": own_tastes(1.0),
    "own, strong": own_tastes(0.3),
    "shared": shared_tastes(2.0),
    "leaning": leaning_tastes(2.0, 6.0),
    "beliefs on a tenth": beliefs(0.1),
    "beliefs on a fiftieth": beliefs(0.02, 0.95, 2.0),
}
POWER = {
    (2, "coins"): 0.9,
    (4, "coins"): 0.98,
    (4, "own"): 0.95,
    (4, "own, strong"): 0.85,
    (4, "shared"): 0.85,
    (4, "leaning"): 0.7,
    (4, "beliefs on a fiftieth"): 0.95,
    **{(10, taste): 0.9 for taste in TASTES},
}
"""Which share of the leaky items is found at least, where one in five is leaky. Two options and shared tastes leave
nothing to be found: what is known and what is believed look alike."""


def received_early(stage: Stage, right: Bools) -> Bools:
    """The samples that a run asks which stops as soon as it may."""
    items, inspectors, samples = right.shape
    rule = FILTERS[stage.filter or ""].rule(stage, inspectors, inspectors, samples)
    assert rule is not None
    received = np.zeros_like(right)
    for number in range(items):
        waves = Waves(rule, [samples] * inspectors)
        while wave := waves.wave():
            for seat, sample in wave:
                waves.observed[seat].append(bool(right[number, seat, sample]))
                received[number, seat, sample] = True
    return received
