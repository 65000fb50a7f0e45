"""Ways in which a file is damaged on disks and wires, each a function of a seed."""

import random
from collections.abc import Callable, Sequence


def flipped(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def spliced(data: bytearray, rng: random.Random) -> None:
    """A block taken from elsewhere in the file, put over, before, or in the place of another."""
    size = rng.choice((1, 4, 8, 64, 512, 4096))
    source, target = rng.randrange(len(data)), rng.randrange(len(data))
    end = target + rng.choice((0, size, rng.randrange(1, 2 * size)))
    data[target:end] = data[source : source + size]


def zeroed(data: bytearray, rng: random.Random) -> None:
    page = rng.choice((16, 512, 4096))
    start = rng.randrange(len(data)) // page * page
    data[start : start + page] = bytes(len(data[start : start + page]))


def numbered(data: bytearray, rng: random.Random) -> None:
    """A length or an offset that became another: what formats that point into themselves fear most."""
    value = rng.choice((0, 1, 2, 255, 65_535, 2**31 - 1, 2**32 - 1, rng.randrange(2**32)))
    start = rng.randrange(len(data)) // 4 * 4
    data[start : start + 4] = value.to_bytes(4, "little")


def grown(data: bytearray, rng: random.Random) -> None:
    data += rng.randbytes(rng.choice((1, 8, 100, 5000)))


Way = Callable[[bytearray, random.Random], None]
WAYS: tuple[Way, ...] = (flipped, flipped, cut, spliced, zeroed, numbered, grown)


def damaged(data: bytes, seed: int, others: Sequence[bytes] = ()) -> bytes:
    """A file as it may come back; one in twenty times it is another file altogether."""
    rng = random.Random(seed)
    if others and rng.random() < 0.05:
        return rng.choice(others)
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2))):
        if changed:
            rng.choice(WAYS)(changed, rng)
    return bytes(changed)
