"""How questions are worded: a circumstance of its own, then one of many ways to ask, all of them in files."""

import re
from functools import cache
from importlib import resources
from random import Random
from typing import Any

from eyetest.store.handwritten import parse_yaml
from eyetest.world.posing import Value

_OTHERS = ("words", "leads", "facts")


@cache
def words() -> dict[str, list[str]]:
    """Names, towns, days and whatever else fills a circumstance."""
    content: dict[str, list[str]] = read("words")
    return content


@cache
def leads() -> dict[str, list[str]]:
    """How questions begin, and what flawed ones say too much."""
    content: dict[str, list[str]] = read("leads")
    return content


@cache
def phrasings() -> dict[str, list[str]]:
    """The phrasings of every kind of question, those of facts among them."""
    by_kind: dict[str, list[str]] = {}
    for file in sorted(resources.files(__name__).iterdir(), key=lambda file: file.name):
        name = file.name.removesuffix(".yaml")
        if file.name.endswith(".yaml") and name not in _OTHERS:
            by_kind |= read(name)
    facts = read("facts")
    for name, one in facts["properties"].items():
        by_kind[f"fact-{name}"] = [frame.replace("{ask}", one["ask"]) for frame in facts["frames"]]
    return by_kind


@cache
def read(name: str) -> dict[str, Any]:
    """One of the files."""
    text = (resources.files(__name__) / f"{name}.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = parse_yaml(text, name)
    return content


_AN = re.compile(r"\b([Aa]) (?=[aeiouAEIOU])")
Circumstance = dict[str, str]


def circumstance(rng: Random) -> Circumstance:
    """Who, where and when. Two are hardly ever the same."""
    known = words()
    name, friend = rng.sample(known["names"], 2)
    details = {"name": name, "friend": friend}
    for one in ("town", "day", "month", "room", "job", "thing"):
        details[one] = rng.choice(known[f"{one}s"])
    details["lead"] = rng.choice(leads()["leads"])
    details["it"] = rng.choice(leads()["its"]).format(**details)
    return details


def ask(kind: str, posed: dict[str, str], around: Circumstance, phrasing: int) -> str:
    """The whole question. The same circumstance with another phrasing is the same question, put differently."""
    lead = around["lead"].format(**around)
    asked = phrasings()[kind][phrasing].format(**around | posed)
    return _AN.sub(r"\1n ", f"{lead} {asked[0].upper()}{asked[1:]}")


def other_phrasing(kind: str, rng: Random, but: int) -> int:
    """Another of the ways to ask."""
    return rng.choice([index for index in range(len(phrasings()[kind])) if index != but])


def extra(which: str, answer: str, around: Circumstance, rng: Random) -> str:
    """A sentence that says the answer, or an answer that says more than it has to."""
    told = rng.choice(leads()[which]).format(**around | {"answer": answer})
    return _AN.sub(r"\1n ", told)


def shuffled(rng: Random, values: list[Value]) -> list[Value]:
    """The same in another order."""
    return rng.sample(values, len(values))
