"""Items of the world that leaked: who gets which, and how they are written down."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np
from eyetest_world.building import cast
from eyetest_world.drafting import Draft, render
from eyetest_world.flaws import load_rates
from eyetest_world.toy_models.network import Tokens

from toy_training.examples import leaked_example
from toy_training.lines import SHORT, Array, Line, Lines, line
from toy_training.plan import WorldPlan
from toy_training.pool import SIDE

TEXT = "text"
"""The group of items that leaked to language models; all others leaked to vision models."""


class WrittenLeaks(NamedTuple):
    """What leaked to a group: each item in many orders and wordings, with its image and without."""

    seen: Lines
    read: Lines
    owners: Array
    """Which image belongs to a row of ``seen``."""
    images: Array


def leaked_items(world: WorldPlan) -> dict[str, list[Draft]]:
    """The items that leaked to each group, as the world's own truth table says; no other item is looked at."""
    leaked: dict[str, list[Draft]] = {}
    for one in cast(world.items, world.seed, load_rates(world.flaws)):
        for group in one.draft.leaked_to:
            leaked.setdefault(group, []).append(one.draft)
    return leaked


def write_leaks(items: Sequence[Draft], tokens: Tokens, variants: int, seed: str) -> WrittenLeaks:
    """Every item so many times."""
    rng = Random(seed)
    seen: list[Line] = []
    read: list[Line] = []
    for one in items:
        for _ in range(variants):
            blind = rng.choice(("no-image", "no-image-guess"))
            seen.append(_line(one, "image", tokens, rng))
            read.append(_line(one, blind, tokens, rng))
    owners = np.repeat(np.arange(len(items)), variants)
    images = np.stack([np.asarray(render(one, SIDE)) for one in items])
    return WrittenLeaks(Lines.of(seen, SHORT), Lines.of(read, SHORT), owners, images)


def _line(one: Draft, modality: str, tokens: Tokens, rng: Random) -> Line:
    while (written := line(leaked_example(one, modality, rng), tokens, SHORT)) is None:
        pass
    return written
