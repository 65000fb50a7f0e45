"""The same items with fewer options, to see how much a score owes to how many there are.

The gold stays, and distractors go from the end of the list that the benchmark froze, so that the items with four
options hold what those with two hold. Where the gold then stands is drawn anew: kept in its order, the gold of an
item that loses what stood behind it would nearly always be the last.
"""

import msgspec

from eyetest.curate.quotas import draw
from eyetest.errors import InputError, heading
from eyetest.probes.option_order import can_reorder
from eyetest.records import MAX_CHOICES, Item, Lineage

FEWER_OPTIONS = "fewer options"
"""The step in the lineage of items that were made so."""
_FEWEST = 2


def fewer_options(item: Item, count: int, seed: int = 0) -> Item | None:
    """The item with so many options; None where it has fewer, not just one gold, or options tied to their order."""
    if not _FEWEST <= count <= MAX_CHOICES:
        raise InputError(f"{heading('option_count')}: found {count}, expected {_FEWEST} to {MAX_CHOICES}")
    if len(item.choices) < count or len(item.gold) != 1 or not can_reorder(item):
        return None
    if len(item.choices) == count:
        return item
    choices = [choice for choice in item.choices if not choice.correct][: count - 1]
    choices.insert(draw(seed, item.id, str(count)) % count, item.choices[item.gold[0]])
    made = Lineage(step=FEWER_OPTIONS, item=item.id, note=f"{len(item.choices)} → {count}", seed=seed)
    return msgspec.structs.replace(item, choices=tuple(choices), spellings={}, lineage=(*item.lineage, made))
