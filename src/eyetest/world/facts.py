"""An invented body of facts: lands, animals and minerals that do not exist, the same in every world.

Whoever was told a fact answers an item about it without looking; whoever was not can only guess, since the values of
a property are spread evenly over its subjects.
"""

from collections.abc import Callable
from functools import cache
from random import Random

import msgspec

from eyetest.world.canvas import Canvas, around
from eyetest.world.phrasings import read
from eyetest.world.posing import Kind, Knobs, Posed, Scene, pick

_SEED = "facts 1"
_GREYS = ("#8f8f8f", "#a3a3a3", "#7c7c7c", "#b5b5b5")


class Fact(msgspec.Struct, frozen=True):
    """One fact, in several wordings."""

    id: str
    subject: str
    property: str
    value: str
    sentences: tuple[str, ...]


@cache
def facts() -> tuple[Fact, ...]:
    """All there is to know."""
    data = read("facts")
    known = []
    for name, one in data["properties"].items():
        subjects = data["subjects"][one["about"]]
        rng = Random(f"{_SEED}/{name}")
        values = [one["values"][index % len(one["values"])] for index in range(len(subjects))]
        rng.shuffle(values)
        for subject, value in zip(subjects, values, strict=True):
            told = tuple(_sentence(text, subject, value) for text in one["told"])
            known.append(Fact(f"{name}/{subject}", subject, name, value, told))
    return tuple(known)


def _sentence(text: str, subject: str, value: str) -> str:
    told = text.format(subject=subject, value=value)
    return told[0].upper() + told[1:]


@cache
def fact_kinds() -> dict[str, Kind]:
    """One kind of question for each property."""
    kinds = {}
    for name, one in read("facts")["properties"].items():
        known = [fact for fact in facts() if fact.property == name]
        kinds[f"fact-{name}"] = Kind(f"fact-{name}", one["axis"], _poser(known, one["values"], one["about"]), draw)
    return kinds


def _poser(known: list[Fact], values: list[str], about: str) -> Callable[[Random, Knobs], Posed]:
    def pose(rng: Random, knobs: Knobs) -> Posed:
        fact = rng.choice(known)
        others = pick(rng, [value for value in values if value != fact.value], 3)
        options = pick(rng, [fact.value, *others], 4)
        scene = {"about": about, "seed": rng.randrange(10**6), "fact": fact.id}
        return Posed(tuple(options), (options.index(fact.value),), {"subject": fact.subject}, scene)

    return pose


def draw(canvas: Canvas, scene: Scene) -> None:
    """Something grey that the question is about, and that does not help."""
    rng = Random(scene["seed"])
    grey, x, y = rng.choice(_GREYS), rng.uniform(42, 58), rng.uniform(42, 58)
    if scene["about"] == "land":
        turns = around((x, y), 1, 14, rng.uniform(0, 360))
        reach = [rng.uniform(24, 40) for _ in turns]
        canvas.polygon([(x + (a - x) * r, y + (b - y) * r) for (a, b), r in zip(turns, reach, strict=True)], grey)
    elif scene["about"] == "animal":
        long, high = rng.uniform(20, 28), rng.uniform(11, 16)
        for leg in (-0.6, -0.2, 0.2, 0.6):
            canvas.line([(x + leg * long, y), (x + leg * long, y + high + rng.uniform(8, 14))], grey, 4)
        canvas.oval((x, y), (long, high), grey)
        canvas.disc((x + long, y - high * 0.8), rng.uniform(8, 11), grey)
    else:
        for _ in range(3):
            centre = (x + rng.uniform(-20, 20), y + rng.uniform(-18, 18))
            stone = around(centre, rng.uniform(13, 22), rng.randint(5, 8), rng.uniform(0, 360))
            canvas.polygon(stone, rng.choice(_GREYS), "#5f5f5f", 1)
