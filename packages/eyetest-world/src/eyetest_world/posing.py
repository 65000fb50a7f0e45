"""What a kind of question is made of, and how questions are worded.

Options come first, the right one is drawn among them with equal chances, and only then is the scene made in which it
is right. So nothing in the words can tell which option is right: without the image one can only guess.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from random import Random
from typing import Any, NamedTuple, TypeVar

from eyetest.store.handwritten import parse_yaml
from eyetest_world.canvas import Canvas

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


Scene = dict[str, Any]  # everything that an image shows, as JSON: it is drawn from this and nothing else
Value = TypeVar("Value")


class Knobs(NamedTuple):
    """What makes a question harder, or a bad one."""

    clutter: int = 1  # from 0 to 3: how much more than needed there is to see
    rights: int = 1  # how many options are right
    turn: int = 0  # how many options further on the right one is than it would have been: a twin's
    attempt: int = 0  # above 0, whatever follows the options is drawn anew


class Posed(NamedTuple):
    """A question without its wording: the options, which are right, what phrasings need to know, and the scene."""

    options: tuple[str, ...]
    right: tuple[int, ...]
    words: dict[str, str]
    scene: Scene


@dataclass(frozen=True)
class Kind:
    """One kind of question about one kind of image."""

    name: str
    axis: str
    pose: Callable[[Random, Knobs], Posed]
    draw: Callable[[Canvas, Scene], None]
    several: bool = False  # whether scenes can be made in which two options are right


def pick(rng: Random, pool: Sequence[Value], count: int) -> list[Value]:
    """Some of a pool, in any order."""
    return rng.sample(list(pool), count)


def near(rng: Random, low: int, high: int, count: int = 4, step: int = 1) -> list[int]:
    """Numbers close to each other, in order; each is as good a candidate as the others."""
    span = min(count + 1, (high - low) // step + 1)
    start = rng.randint(0, (high - low) // step + 1 - span)
    return sorted(low + step * (start + offset) for offset in rng.sample(range(span), count))


def one_of(rng: Random, options: Sequence[object], knobs: Knobs) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Options as texts, and which of them are right: every choice is equally likely."""
    drawn = rng.sample(range(len(options)), knobs.rights)
    if knobs.attempt:
        rng.seed(f"{rng.random()}/{knobs.attempt}")
    return tuple(map(str, options)), tuple((index + knobs.turn) % len(options) for index in drawn)


def extreme(rng: Random, most: Sequence[str], least: Sequence[str], is_most: bool) -> tuple[dict[str, str], str]:
    """How the largest or the smallest of something is asked for, and what of it the scene notes down."""
    return {"extreme": rng.choice(most if is_most else least)}, "max" if is_most else "min"


def without(values: Iterable[Value], left_out: Value) -> list[Value]:
    """All values but one."""
    return [value for value in values if value != left_out]


def rounded(rng: Random, low: float, high: float) -> float:
    """A number of a range, to one decimal."""
    return round(rng.uniform(low, high), 1)


_FILES = resources.files("eyetest_world") / "data/phrasings"
_OTHERS = ("words", "leads", "facts")


@cache
def phrasings() -> dict[str, list[str]]:
    """The phrasings of every kind of question, those of facts among them."""
    by_kind: dict[str, list[str]] = {}
    for name in sorted(file.name.removesuffix(".yaml") for file in _FILES.iterdir()):
        if name not in _OTHERS:
            by_kind |= read(name)
    facts = read("facts")
    for name, one in facts["properties"].items():
        by_kind[f"fact-{name}"] = [frame.replace("{ask}", one["ask"]) for frame in facts["frames"]]
    return by_kind


@cache
def read(name: str) -> dict[str, Any]:
    """One of the files: ``words`` fill a circumstance, ``leads`` begin questions, the others are phrasings."""
    text = (_FILES / f"{name}.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = parse_yaml(text, name)
    return content


_AN = re.compile(r"\b([Aa]) (?=[aeiouAEIOU])")
Circumstance = dict[str, str]


def circumstance(rng: Random) -> Circumstance:
    """Who, where and when. Two are hardly ever the same."""
    known, leads = read("words"), read("leads")
    name, friend = rng.sample(known["names"], 2)
    details = {"name": name, "friend": friend}
    for one in ("town", "day", "month", "room", "job", "thing"):
        details[one] = rng.choice(known[f"{one}s"])
    details["lead"] = rng.choice(leads["leads"])
    details["it"] = rng.choice(leads["its"]).format(**details)
    return details


def ask(kind: str, posed: dict[str, str], around: Circumstance, phrasing: int) -> str:
    """The whole question. The same circumstance with another phrasing is the same question, put differently."""
    lead = around["lead"].format(**around)
    asked = phrasings()[kind][phrasing].format(**around | posed)
    return _AN.sub(r"\1n ", f"{lead} {asked[0].upper()}{asked[1:]}")


def extra(which: str, answer: str, around: Circumstance, rng: Random) -> str:
    """A sentence that says the answer, or an answer that says more than it has to."""
    lead = rng.choice(read("leads")[which]).format(**around | {"answer": answer})
    return _AN.sub(r"\1n ", lead)


def shuffled(rng: Random, values: list[Value]) -> list[Value]:
    """The same in another order."""
    return rng.sample(values, len(values))
