"""The drawn benchmark with flaws planted that published benchmarks have had, and the list of what was planted where.

The real world has none of these: they are about how options and images are written down.
"""

import random
from collections.abc import Callable
from pathlib import Path

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Lineage

Change = Callable[[Item], Item]
_CROWDED = 2
_CROWDED_SHARE = 0.45


def spoil_benchmark(
    clean: Benchmark, to: Path, *, seed: int = 0, overwrite: bool = False
) -> tuple[Benchmark, dict[str, list[str]]]:
    """Write a spoilt copy; returns it with the planted items by flaw."""
    rng = random.Random(f"spoil/{seed}")
    items = list(clean)
    planted: dict[str, list[str]] = {}
    choices = [i for i, item in enumerate(items) if len(item.choices) >= 4 and not item.choices[0].images]
    rng.shuffle(choices)
    for flaw, count, change in _CHANGES:
        for place in (choices.pop() for _ in range(count)):
            items[place] = change(items[place])
            planted.setdefault(flaw, []).append(items[place].id)
    items = [_crowd(item, rng) for item in items]
    for number in range(3):
        original = items[choices.pop()]
        items.append(msgspec.structs.replace(original, id=f"copy-{number}"))
        planted.setdefault("asked twice", []).append(items[-1].id)
    old = clean.manifest
    step = Lineage(step="spoil", source=old.name, note="flaws planted on purpose", seed=seed)
    manifest = msgspec.structs.replace(old, name="spoilt", lineage=(*old.lineage, step))
    with BenchmarkWriter(to, manifest, overwrite=overwrite) as writer:
        for item in items:
            writer.adopt(item, clean)
    return Benchmark(to), planted


def _lose_option(item: Item) -> Item:
    wrong = next(i for i, choice in enumerate(item.choices) if not choice.correct)
    return _with_choice(item, wrong, "nan")


def _repeat_option(item: Item) -> Item:
    first, second = [i for i, choice in enumerate(item.choices) if not choice.correct][:2]
    return _with_choice(item, second, f"{item.choices[first].text} ")


def _name_answer(item: Item) -> Item:
    gold = item.choices[item.gold[0]].text
    return msgspec.structs.replace(item, question=f"{item.question} (They say it is {gold}.)")


def _lose_image(item: Item) -> Item:
    return msgspec.structs.replace(item, question=f"{item.question} Compare with <image {len(item.images) + 1}>.")


_CHANGES: tuple[tuple[str, int, Change], ...] = (
    ("option lost to nan", 4, _lose_option),
    ("option twice", 4, _repeat_option),
    ("answer in the question", 12, _name_answer),
    ("image missing", 3, _lose_image),
)


def _crowd(item: Item, rng: random.Random) -> Item:
    """Most golds at C, as where somebody wrote all options by hand."""
    if len(item.choices) <= _CROWDED or rng.random() > _CROWDED_SHARE:
        return item
    choices = list(item.choices)
    choices.insert(_CROWDED, choices.pop(item.gold[0]))
    return msgspec.structs.replace(item, choices=tuple(choices))


def _with_choice(item: Item, position: int, text: str) -> Item:
    choices = list(item.choices)
    choices[position] = Choice(text)
    return msgspec.structs.replace(item, choices=tuple(choices))
