"""How an item's options are shown: in which order, and under which marks.

Both follow from the item and the condition alone, so whoever reads an answer later finds the same order again.
"""

from collections.abc import Sequence
from hashlib import blake2b
from string import ascii_lowercase

from eyetest.records.condition import Condition, Marks
from eyetest.records.item import Item, letter


def mark(style: Marks, place: int) -> str:
    """The mark of the option shown at a place: B, b or 2 for place 1."""
    if style == "digit":
        return str(place + 1)
    return letter(place) if style == "upper" else ascii_lowercase[place]


def shown_order(item: Item, condition: Condition) -> tuple[int, ...]:
    """Positions of the item's choices in the order in which they are shown.

    Seed 0 is the order as written. Any other seed gives an order of its own to each item, the same everywhere.
    """
    positions = range(len(item.choices))
    if condition.order == 0:
        return tuple(positions)
    return tuple(sorted(positions, key=lambda position: _draw(condition.order, item.id, position)))


def identity(order: Sequence[int], place: int) -> str:
    """Which choice was meant, whatever place it was shown at: its letter in the order as written."""
    return letter(order[place])


def _draw(*key: object) -> bytes:
    return blake2b("\x1f".join(map(str, key)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
