"""A question in words: a circumstance of its own, then one of many ways to ask."""

import re
from random import Random

from eyetest.world.phrasings import leads, phrasings, words
from eyetest.world.posing import Value

_AN = re.compile(r"\b([Aa]) (?=[aeiouAEIOU])")
Circumstance = dict[str, str]


def circumstance(rng: Random) -> Circumstance:
    """Who, where and when. Two are hardly ever the same."""
    known = words()
    name, friend = rng.sample(known["names"], 2)
    found = {"name": name, "friend": friend}
    for one in ("town", "day", "month", "room", "job", "thing"):
        found[one] = rng.choice(known[f"{one}s"])
    found["lead"] = rng.choice(leads()["leads"])
    found["it"] = rng.choice(leads()["its"]).format(**found)
    return found


def ask(kind: str, posed: dict[str, str], around: Circumstance, phrasing: int) -> str:
    """The whole question. The same circumstance with another phrasing is the same question, put differently."""
    lead = around["lead"].format(**around)
    asked = phrasings()[kind][phrasing].format(**around | posed)
    return _AN.sub(r"\1n ", f"{lead} {asked[0].upper()}{asked[1:]}")


def other_phrasing(kind: str, rng: Random, but: int) -> int:
    """Another of the ways to ask."""
    return rng.choice([place for place in range(len(phrasings()[kind])) if place != but])


def extra(which: str, answer: str, around: Circumstance, rng: Random) -> str:
    """A sentence that says the answer, or an answer that says more than it has to."""
    told = rng.choice(leads()[which]).format(**around | {"answer": answer})
    return _AN.sub(r"\1n ", told)


def shuffled(rng: Random, values: list[Value]) -> list[Value]:
    """The same in another order."""
    return rng.sample(values, len(values))
