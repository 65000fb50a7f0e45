"""Items and benchmarks for tests of growing options."""

import random
from collections import Counter
from collections.abc import Sequence

from eyetest.harden.options.record import OptionsRecord
from eyetest.records import Choice, Item


def choice_item(
    name: str, options: Sequence[str], gold: int = 0, question: str = "Which is it?", **more: object
) -> Item:
    choices = tuple(Choice(text, index == gold) for index, text in enumerate(options))
    return Item(id=name, question=question, choices=choices)


def numeric_items(count: int, options: int, seed: int) -> list[Item]:
    """Items without any flaw: numbers drawn alike, and any of them may be right."""
    rng = random.Random(seed)
    items = []
    for number in range(count):
        scale = 10 ** rng.uniform(1, 3.5)
        values: list[int] = []
        while len(values) < options:
            value = round(scale * rng.uniform(0.5, 2.5))
            if all(abs(value - other) > 0.06 * max(value, other) for other in values):
                values.append(value)
        texts = [str(value) for value in values]
        items.append(choice_item(f"n{number}", texts, rng.randrange(options), "How much is it?"))
    return items


def places(record: OptionsRecord) -> list[int]:
    """How often the gold has each position."""
    full = [entry for entry in record.items if entry.after == record.settings.options]
    counts = Counter(entry.position for entry in full)
    return [counts[at] for at in range(record.settings.options)]
