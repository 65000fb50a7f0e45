"""Which flaws a world has, how many of each, and what is true of every item."""

from importlib import resources
from pathlib import Path
from typing import ClassVar

import msgspec

from eyetest.curate.selection import largest_remainder
from eyetest.errors import InputError, nearest
from eyetest.store.handwritten import convert, parse_yaml, read_yaml
from eyetest.tabular.record_files import read_parquet

FLAWS = {
    "answer-in-question": "the question says its answer",
    "answerable-from-facts": "the answer is a fact that can be known without the image",
    "leaked-to-llms": "question and answer are in the text that language models learn from",
    "leaked-to-lvlms": "image, question and answer are in what some vision models learn from",
    "wrong-gold": "another option is right than the one that is marked",
    "two-right-options": "two options are right and one is marked",
    "exact-duplicate": "another item, once more",
    "near-duplicate": "another item with its image encoded anew and its question put differently",
    "trivially-easy": "the answer is written in the image",
    "impossible": "the image does not show what is asked about",
    "gold-longest": "the right option says more than the others",
}
_FILES = resources.files("eyetest_world") / "data/flaws"
_CLEAN = "clean"
_UNIT = 10**6


class Rates(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Shares of all items. ``groups`` are nested: what leaked to a small one leaked to all larger ones as well."""

    about: str = ""
    rates: dict[str, float] = {}
    groups: dict[str, float] = {}  # groups of vision models, and which share of all items leaked to each
    also_leaked: float = 0.0
    """The share of flawed items that have a second flaw: they leaked to language models as well."""
    options: int = 0  # the most options that an item has; 0 for as many as its kind of question gives


def flaw_names() -> list[str]:
    """The files of rates that come with eyetest."""
    return sorted(file.name.removesuffix(".yaml") for file in _FILES.iterdir())


def load_rates(name: str) -> Rates:
    """The rates of this name, or in this file."""
    if name in flaw_names():
        content = parse_yaml((_FILES / f"{name}.yaml").read_text(encoding="utf-8"), name)
    elif Path(name).is_file():
        content = read_yaml(Path(name))
    else:
        raise InputError(f'no flaws "{name}"; {nearest(name, flaw_names())}, or a file')
    rates = convert(content or {}, Rates, name)
    for flaw in rates.rates:
        if flaw not in FLAWS or flaw == "leaked-to-lvlms":
            hint = "its share is that of the largest of groups" if flaw in FLAWS else nearest(flaw, FLAWS)
            raise InputError(f'{name}: no rate for "{flaw}"; {hint}')
    for what, share in (*rates.rates.items(), *rates.groups.items(), ("also_leaked", rates.also_leaked)):
        if not 0 <= share <= 1:
            raise InputError(f"{name}: {what}: found {share:g}, expected a share from 0 to 1")
    if rates.options < 0 or rates.options == 1:
        raise InputError(f"{name}: options: found {rates.options}, expected 2 or more, or 0 for as many as there are")
    if sum(rates.rates.values()) + max(rates.groups.values(), default=0.0) > 1:
        raise InputError(f"{name}: rates and the largest group come to more than all items")
    return rates


class PlannedFlaw(msgspec.Struct, frozen=True):
    """A flaw for one item, and for a leak to whom."""

    flaw: str
    leaked_to: tuple[str, ...] = ()


def plan(rates: Rates, items: int) -> list[PlannedFlaw | None]:
    """A flaw, or none, for each of so many items: rates met as exactly as whole numbers allow."""
    weights = {flaw: round(rate * _UNIT) for flaw, rate in rates.rates.items()}
    planned: dict[str, PlannedFlaw | None] = {
        flaw: PlannedFlaw(flaw, ("text",) if flaw == "leaked-to-llms" else ()) for flaw in weights
    }
    groups = sorted(rates.groups, key=lambda group: (rates.groups[group], group))
    before = 0
    for index, group in enumerate(groups):
        share = round(rates.groups[group] * _UNIT)
        planned[f"ring {index}"] = PlannedFlaw("leaked-to-lvlms", tuple(groups[index:]))
        weights[f"ring {index}"] = share - before
        before = share
    weights[_CLEAN] = _UNIT - sum(weights.values())
    numbers = largest_remainder(weights, items)
    return [planned.get(name) for name, number in numbers.items() for _ in range(number)]


TRUTH = "truth.parquet"


class Truth(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One item: which flaws it has, and what would be right. Nothing that refines a benchmark reads it."""

    table_version: ClassVar[int] = 1

    item: str
    flaws: tuple[str, ...] = ()
    kind: str
    axis: str
    options: int
    gold: str  # the letter that is marked
    gold_before: str  # the letter that was marked before the flaw was planted
    right: tuple[str, ...] = ()
    """The letters that are right by the image; none where the image does not show it."""
    twin: str = ""  # the item that this one repeats
    fact: str = ""
    leaked_to: tuple[str, ...] = ()
    """``text`` for the language models' corpus, or the names of groups of vision models."""
    clutter: int = 0  # from 0 to 3, how much more than needed there is to see
    phrasing: int = 0
    shown: str = ""  # the kind whose image is shown
    scene: str = "{}"  # everything the image shows, as JSON


def read_truth(world: Path) -> list[Truth]:
    """The truth table of a world."""
    path = world / TRUTH
    if not path.is_file():
        raise InputError(f"{world} is no world: there is no {TRUTH} in it")
    try:
        return msgspec.convert(read_parquet(path).to_pylist(), list[Truth])
    except msgspec.ValidationError as error:
        raise InputError(f"{path} is not a truth table of this version: {error}") from None
