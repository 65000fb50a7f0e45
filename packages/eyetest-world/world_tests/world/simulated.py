"""Models that live in a world: what they know, what leaked to them and how well they see is drawn, and so all known.

A language model knows most facts and most of what leaked to its corpus, and guesses otherwise. A vision model sees by
its skill, is built on a language model, and remembers what leaked to its group.
"""

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from eyetest_world import Truth

from world_tests.world.conftest import World

KNOWN, SURE = 0.95, 0.93
"""Which share of what it could know a model knows, and how often it then says so."""
BLIND_TRIALS = 10
LETTERS = "ABCDE"


class Model(NamedTuple):
    """Who answers. ``skill`` is on the scale of logits; ``group`` is that of leaks."""

    name: str
    base: str = ""
    skill: float = 0.0
    group: str = ""


READERS = tuple(Model(f"reader-{number}") for number in range(5))
GROUPS = ("", "few", "some", "many")
SEERS = tuple(
    Model(f"seer-{number}", READERS[number % 5].name, 2.0 - 0.17 * number, GROUPS[number % 4]) for number in range(12)
)
"""To those who see a little less than the one before more has leaked: a spoilt benchmark ranks them wrong."""


def knows(model: Model, truth: Truth) -> bool:
    """Whether a model has the marked answer from elsewhere than the image: what its base has read, it has read."""
    read = "text" in truth.leaked_to or bool(truth.fact)
    shown = "answer-in-question" in truth.flaws or (bool(model.group) and model.group in truth.leaked_to)
    who = (model.base or model.name, read), (model.name, shown)
    return any(could and Random(f"{name}/{truth.item}").random() < KNOWN for name, could in who)


def blind(model: Model, truth: Truth, rng: Random) -> str:
    if knows(model, truth) and rng.random() < SURE:
        return truth.gold
    return rng.choice(LETTERS[: truth.options])


def sighted(model: Model, truth: Truth, rng: Random) -> str:
    if knows(model, truth) and rng.random() < SURE:
        return truth.gold
    if truth.fact or "impossible" in truth.flaws:
        return rng.choice(LETTERS[: truth.options])
    easy = "trivially-easy" in truth.flaws
    axis = Random(f"{model.name}/{truth.axis}").gauss(0, 0.4)
    chance = 0.98 if easy else 1 / (1 + math.exp(-(model.skill + axis - 0.5 * (truth.clutter - 1.5))))
    if rng.random() < chance:
        return rng.choice(truth.right)
    return rng.choice(LETTERS[: truth.options])


def answers(world: World, seed: int = 0) -> Iterator[tuple[str, str, str, int, str]]:
    """item, model, modality, sample, text."""
    for model in (*READERS, *SEERS):
        rng = Random(f"{seed}/{model.name}")
        for truth in world.truths.values():
            for sample in range(BLIND_TRIALS):
                yield truth.item, model.name, "no-image-guess", sample, blind(model, truth, rng)
            if model in SEERS:
                yield truth.item, model.name, "image", 0, sighted(model, truth, rng)


def write_answers(world: World, to: Path, seed: int = 0) -> None:
    with to.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("item", "model", "modality", "sample", "text"))
        writer.writerows(answers(world, seed))
