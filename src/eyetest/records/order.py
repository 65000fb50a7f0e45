"""In which order an item's options are shown, under which marks, and an order as one number.

Both follow from the item and the condition alone, so whoever reads an answer later finds the same order again. Small
numbers are seeds of eyetest's own shuffling, 0 being the order as written. From ``SHOWN`` on a number says by itself
which option stood where: that is how answers come in that somebody else asked for. Whoever writes an order in words
lists the options as they were shown: ``BA``, ``B,A`` and ``1,0`` all put the second option first.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from math import factorial
from string import ascii_lowercase

from eyetest.errors import InputError, short
from eyetest.records.item import Item, letter
from eyetest.records.tables import Condition, Marks

SHOWN = 2**62
"""From here on an order is no seed; no seed that a user may name is as large."""
REVERSED = SHOWN
"""The last option first, however many there are."""
LONGEST_ORDER = 20
"""Orders of more options than this do not fit into the column."""
_ORIGINAL_WORDS = ("", "0", "original", "as written")
_REVERSED_WORDS = ("reversed", "reverse")
_SEED = re.compile(r"seed\s?(\d{1,18})")
_BETWEEN = re.compile(r"[\s,;|/>()\[\]'\"-]+")


def order_shown(positions: Sequence[int]) -> int:
    """The number of an order; ``positions`` are those of the options as written, in the order as shown."""
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
    """What an order says by itself; None for a seed and for what does not depend on how many options there are."""
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
    """An order as people read it: a seed by its number, any other by what was shown."""
    if order == REVERSED:
        return _REVERSED_WORDS[0]
    positions = positions_shown(order)
    return str(order) if positions is None else "".join(map(letter, positions))


@lru_cache(maxsize=4_096)
def read_order(words: str) -> int:
    """The order that somebody's words mean: ``original``, ``reversed``, ``BADC``, ``1,0,3,2``, ``seed 7``."""
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
    """The options as shown, by their positions, where somebody lists them: ``BADC``, ``1,0,3,2``, ``2,1,4,3``."""
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
    """How many orders there are of two options, three, and so on up to one less than so many."""
    return sum(factorial(n) for n in range(2, count))


def mark(style: Marks, position: int) -> str:
    """The mark of the option shown at a position: B, b or 2 for position 1."""
    if style == "digit":
        return str(position + 1)
    return letter(position) if style == "upper" else ascii_lowercase[position]


def shown_order(item: Item, condition: Condition) -> tuple[int, ...]:
    """Positions of the item's choices in the order in which they are shown."""
    return order_of(item.id, len(item.choices), condition.order)


def order_of(item: str, options: int, order: int) -> tuple[int, ...]:
    """Positions of so many options of an item, by its id, in the order in which they are shown.

    Seed 0 is the order as written. Any other seed gives an order of its own to each item, the same everywhere. An
    order that says by itself what was shown is that order (see ``eyetest.records.order``).
    """
    positions = range(options)
    if order == 0:
        return tuple(positions)
    if order == REVERSED:
        return tuple(reversed(positions))
    if (shown := positions_shown(order)) is not None and positions:
        if len(shown) != options:
            raise InputError(
                f"item {short(item)}: an answer says that {len(shown)} options were shown "
                f"({order_word(order)}), and it has {options}"
            )
        return shown
    return tuple(sorted(positions, key=lambda position: _draw(order, item, position)))


def identity(order: Sequence[int], position: int) -> str:
    """Which choice was meant, wherever it was shown: its letter in the order as written."""
    return letter(order[position])


def _draw(*key: object) -> bytes:
    return blake2b("\x1f".join(map(str, key)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
