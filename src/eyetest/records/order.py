"""The order in which an item's options are shown, their letters, and an order as one number.

Small numbers are seeds, 0 being the order as written. From ``SHOWN`` on a number encodes a permutation. As text an
order lists the options as shown: ``BA``, ``B,A`` and ``1,0`` all put the second option first.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from math import factorial
from string import ascii_lowercase

from eyetest.errors import InputError, short
from eyetest.records.item import Item, letter
from eyetest.records.tables import Condition, Letters

__all__ = [
    "REVERSED", "identity", "mark", "order_shown", "order_word", "positions_shown", "read_order", "shown_order",
]  # fmt: skip

SHOWN = 2**62  # larger than any seed that a user may give
REVERSED = SHOWN
LONGEST_ORDER = 20  # orders of more options do not fit into the column
_ORIGINAL_WORDS = ("", "0", "original", "as written")
_REVERSED_WORDS = ("reversed", "reverse")
_SEED = re.compile(r"seed\s?(\d{1,18})")
_BETWEEN = re.compile(r"[\s,;|/>()\[\]'\"-]+")


def order_shown(positions: Sequence[int]) -> int:
    """The number of an order; ``positions`` are those of the options as written, in the shown order."""
    count = len(positions)
    if sorted(positions) != list(range(count)):
        raise ValueError("an order names every option once")
    if count > LONGEST_ORDER:
        raise ValueError(f"an order of more than {LONGEST_ORDER} options")
    if list(positions) == sorted(positions):
        return 0
    if list(positions) == sorted(positions, reverse=True):
        return REVERSED
    left, rank = sorted(positions), 0
    for position in positions:
        rank = rank * len(left) + left.index(position)
        left.remove(position)
    return SHOWN + 1 + _orders_of_fewer(count) + rank


@lru_cache(maxsize=4_096)
def positions_shown(order: int) -> tuple[int, ...] | None:
    """The positions that an order encodes; None for a seed and where the number of options does not matter."""
    number = order - SHOWN - 1
    if number < 0:
        return None
    count = next((n for n in range(2, LONGEST_ORDER + 1) if number < _orders_of_fewer(n + 1)), 0)
    rank = number - _orders_of_fewer(count)
    digits: list[int] = []
    for size in range(1, count + 1):
        rank, digit = divmod(rank, size)
        digits.append(digit)
    left = list(range(count))
    return tuple(left.pop(digit) for digit in reversed(digits)) or None


def order_word(order: int) -> str:
    """An order as text: a seed by its number, any other by its options as shown."""
    if order == REVERSED:
        return _REVERSED_WORDS[0]
    positions = positions_shown(order)
    return str(order) if positions is None else "".join(map(letter, positions))


@lru_cache(maxsize=4_096)
def read_order(words: str) -> int:
    """The order that a text means: ``original``, ``reversed``, ``BADC``, ``1,0,3,2``, ``seed 7``."""
    said = " ".join(words.split()).lower()
    if said in _ORIGINAL_WORDS:
        return 0
    if said in _REVERSED_WORDS:
        return REVERSED
    if seed := _SEED.fullmatch(said):
        return int(seed[1])
    return order_shown(read_positions(words))


@lru_cache(maxsize=4_096)
def read_positions(words: str) -> tuple[int, ...]:
    """Positions of the options as shown, from a list: ``BADC``, ``1,0,3,2``, ``2,1,4,3``."""
    said = words.lower()
    parts = [part for part in _BETWEEN.split(said) if part]
    if len(parts) == 1 and parts[0].isalpha():
        parts = list(parts[0])
    if all(len(part) == 1 and "a" <= part <= "z" for part in parts):
        positions = [ord(part) - ord("a") for part in parts]
    elif all(part.isascii() and part.isdigit() and len(part) <= 2 for part in parts):
        first = min(map(int, parts))
        positions = [int(part) - (first == 1) for part in parts]
    else:
        positions = []
    if len(positions) < 2 or sorted(positions) != list(range(len(positions))):
        raise ValueError("no list that names every option once")
    return tuple(positions)


def _orders_of_fewer(count: int) -> int:
    """The number of orders of two options, three, and so on up to ``count`` − 1."""
    return sum(factorial(n) for n in range(2, count))


def mark(style: Letters, position: int) -> str:
    """The letter of the option shown at a position: B, b or 2 for position 1."""
    if style == "digit":
        return str(position + 1)
    return letter(position) if style == "upper" else ascii_lowercase[position]


def shown_order(item: Item, condition: Condition) -> tuple[int, ...]:
    """Positions of the item's choices in the shown order."""
    return order_of(item.id, len(item.choices), condition.order)


def order_of(item: str, options: int, order: int) -> tuple[int, ...]:
    """Positions of an item's options as shown; a seed shuffles each item, by its id, differently."""
    positions = range(options)
    if order == 0:
        return tuple(positions)
    if order == REVERSED:
        return tuple(reversed(positions))
    if (shown := positions_shown(order)) is not None and positions:
        if len(shown) != options:
            said = f"an answer says that {len(shown)} options were shown ({order_word(order)})"
            raise InputError(f"item {short(item)}: {said}, and it has {options}")
        return shown
    keys = [f"{order}\x1f{item}\x1f{position}".encode("utf-8", "surrogatepass") for position in positions]
    return tuple(sorted(positions, key=lambda position: blake2b(keys[position], digest_size=8).digest()))


def identity(order: Sequence[int], position: int) -> str:
    """The letter of a choice in the order as written, wherever it was shown."""
    return letter(order[position])
