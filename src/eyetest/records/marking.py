"""How an item's options are shown: in which order, and under which marks.

Both follow from the item and the condition alone, so whoever reads an answer later finds the same order again.
"""

from collections.abc import Sequence
from hashlib import blake2b
from string import ascii_lowercase

from eyetest.errors import InputError, short
from eyetest.records.condition import Condition, Marks
from eyetest.records.item import Item, letter
from eyetest.records.order import REVERSED, order_word, positions_shown


def mark(style: Marks, place: int) -> str:
    """The mark of the option shown at a place: B, b or 2 for place 1."""
    if style == "digit":
        return str(place + 1)
    return letter(place) if style == "upper" else ascii_lowercase[place]


def shown_order(item: Item, condition: Condition) -> tuple[int, ...]:
    """Positions of the item's choices in the order in which they are shown.

    Seed 0 is the order as written. Any other seed gives an order of its own to each item, the same everywhere. An
    order that says by itself what was shown is that order (see ``eyetest.records.order``).
    """
    positions = range(len(item.choices))
    if condition.order == 0:
        return tuple(positions)
    if condition.order == REVERSED:
        return tuple(reversed(positions))
    if (shown := positions_shown(condition.order)) is not None and positions:
        if len(shown) != len(positions):
            raise InputError(
                f"item {short(item.id)}: an answer says that {len(shown)} options were shown "
                f"({order_word(condition.order)}), and it has {len(positions)}"
            )
        return shown
    return tuple(sorted(positions, key=lambda position: _draw(condition.order, item.id, position)))


def identity(order: Sequence[int], place: int) -> str:
    """Which choice was meant, whatever place it was shown at: its letter in the order as written."""
    return letter(order[place])


def _draw(*key: object) -> bytes:
    return blake2b("\x1f".join(map(str, key)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
