"""What a kind of question is made of.

Options come first, the right one is drawn among them with equal chances, and only then is the scene made in which it
is right. So nothing in the words can tell which option is right: whoever does not look can only guess.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, TypeVar

from eyetest.world.canvas import Canvas

CORES: dict[str, tuple[str, ...]] = {
    "coarse perception": ("scene and topic", "style & quality", "emotion"),
    "fine-grained perception": ("recognition", "counting", "localization"),
    "instance reasoning": ("single-instance", "cross-instance attribute", "cross-instance relation"),
    "logical reasoning": ("diagram", "common", "code & sequence"),
    "science & technology": (
        "biology & chemistry & physics",
        "geography & earth science & agriculture",
        "electronics & energy & mechanical",
    ),
    "math": ("geometry", "statistical", "numeric commonsense and calculation"),
}
CORE_OF = {axis: core for core, axes in CORES.items() for axis in axes}
AXES = tuple(CORE_OF)


Scene = dict[str, Any]
"""Everything that a picture shows, as JSON: it is drawn from this and nothing else."""
Value = TypeVar("Value")


class Knobs(NamedTuple):
    """What makes a question harder, or a bad one."""

    crowd: int = 1
    """From 0 to 3: how much more than needed there is to see."""
    rights: int = 1
    """How many options are right."""
    turn: int = 0
    """How many options further on the right one is than it would have been: a twin's."""
    attempt: int = 0
    """Above 0, whatever follows the options is drawn anew."""


class Posed(NamedTuple):
    """A question without its wording: the options, which are right, what phrasings need to know, and the scene."""

    options: tuple[str, ...]
    right: tuple[int, ...]
    words: dict[str, str]
    scene: Scene


@dataclass(frozen=True)
class Kind:
    """One kind of question about one kind of picture."""

    name: str
    axis: str
    pose: Callable[[Random, Knobs], Posed]
    draw: Callable[[Canvas, Scene], None]
    several: bool = False
    """Whether scenes can be made in which two options are right."""


def pick(rng: Random, pool: Sequence[Value], count: int) -> list[Value]:
    """Some of a pool, in any order."""
    return rng.sample(list(pool), count)


def rights(rng: Random, count: int, knobs: Knobs) -> tuple[int, ...]:
    """Which of so many options are right: every choice is equally likely."""
    drawn = rng.sample(range(count), knobs.rights)
    if knobs.attempt:
        rng.seed(f"{rng.random()}/{knobs.attempt}")
    return tuple((index + knobs.turn) % count for index in drawn)


def near(rng: Random, low: int, high: int, count: int = 4, step: int = 1) -> list[int]:
    """Numbers close to each other, in order; each is as good a candidate as the others."""
    span = min(count + 1, (high - low) // step + 1)
    start = rng.randint(0, (high - low) // step + 1 - span)
    return sorted(low + step * (start + offset) for offset in rng.sample(range(span), count))


def one_of(rng: Random, options: Sequence[str], knobs: Knobs) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Options with those that are right."""
    return tuple(options), rights(rng, len(options), knobs)
