"""Damaged and hostile copies of sound files, for tests that read each and expect a value or one clear line."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from eyetest.errors import EyetestError

HOSTILE = (
    b"",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n\n",
    b"\t",
    b'"',
    b'""',
    b"'",
    b"\\",
    b"\x1b[2J",
    b"\xed\xa0\x80",
    b'"\\ud800"',
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"9" * 6_000,
    b"[" * 3_000,
    b'{"a":' * 3_000,
    b"null",
    b"[]",
    b"{}",
    b"true",
    b"x" * 100_000,
    b"2024-13-45",
    b"!!python/object/apply:os.system [exit]",
    b"&a [*a]",
    b"<<: *a",
    b"=1+1",
    b"../../etc/passwd",
    b"<image 1>",
    "\u202e\u2028".encode(),
)
"""What readers stumble over, whatever the format."""


def mutated(data: bytes, seed: int, hostile: Sequence[bytes] = HOSTILE) -> bytes:
    """A copy with one to four changes: bytes flipped, cut out, repeated, exchanged, or something hostile put in."""
    lot = random.Random(seed)
    for _ in range(lot.randint(1, 4)):
        data = lot.choice(_CHANGES)(data, lot, hostile)
    return data


def mutations(data: bytes, number: int) -> Iterator[bytes]:
    """So many different damaged copies, the same at every run."""
    return (mutated(data, seed) for seed in range(number))


def refusals(read: Callable[[Path], object], path: Path, copies: Iterable[bytes]) -> list[str]:
    """What is said of the copies that are refused; each is read from ``path``, or refused in one line."""
    said = []
    for data in copies:
        path.write_bytes(data)
        try:
            read(path)
        except EyetestError as error:
            said.append(str(error))
    assert all(len(line.splitlines()) == 1 for line in said)
    return said


def peak_memory() -> int:
    """The most memory that this process ever held, in bytes: a bound in its own process, else by how much it grew."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _span(data: bytes, lot: random.Random) -> tuple[int, int]:
    """A stretch of the data, mostly short, now and then anything."""
    start = lot.randint(0, len(data))
    length = lot.choice((1, 1, 4, 16, 256, len(data)))
    return start, min(len(data), start + lot.randint(0, length))


def _flip(data: bytes, lot: random.Random, _hostile: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(lot.choice((1, 1, 2, 8)) if data else 0):
        changed[lot.randrange(len(changed))] ^= 1 << lot.randrange(8)
    return bytes(changed)


def _overwrite(data: bytes, lot: random.Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(data, lot)
    return data[:start] + lot.randbytes(end - start) + data[end:]


def _cut(data: bytes, lot: random.Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(data, lot)
    return data[:start] + data[end:]


def _truncate(data: bytes, lot: random.Random, _: Sequence[bytes]) -> bytes:
    return data[: lot.randint(0, len(data))]


def _repeat(data: bytes, lot: random.Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(data, lot)
    return data[:end] + data[start:end] * lot.choice((1, 2, 50)) + data[end:]


def _exchange(data: bytes, lot: random.Random, _: Sequence[bytes]) -> bytes:
    (a, b), (c, d) = sorted((_span(data, lot), _span(data, lot)))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:] if b <= c else data


def _insert(data: bytes, lot: random.Random, hostile: Sequence[bytes]) -> bytes:
    start, end = _span(data, lot)
    return data[:start] + lot.choice(hostile) + data[lot.choice((start, end)) :]


Change = Callable[[bytes, random.Random, Sequence[bytes]], bytes]
_CHANGES: tuple[Change, ...] = (_flip, _overwrite, _cut, _truncate, _repeat, _exchange, *[_insert] * 3)
