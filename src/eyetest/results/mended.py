"""Items that people have mended since a run asked about them: which golds count now, and which answers.

A gold may change under an answer; a question or an option may not: who was asked something else has not answered
this. So a mended wording counts with the answers of those who were shown it, and with no others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.records import Item
from eyetest.runs.folder import MENDED
from eyetest.store.replacing import replacing_file


class Mend(msgspec.Struct, frozen=True, kw_only=True):
    """An item as people left it."""

    item: Item
    requests: tuple[str, ...] | None = None
    """The requests that showed its new wording; None where the wording is the old one and every answer counts."""


class _Mends(msgspec.Struct, frozen=True, kw_only=True):
    version: int = 1
    items: tuple[Mend, ...] = ()


class MendedBenchmark(Benchmark):
    """A benchmark with some of its items as people left them."""

    def __init__(self, path: Path, items: Mapping[str, Item]) -> None:
        super().__init__(path)
        self._mended = items

    def __iter__(self) -> Iterator[Item]:
        return (self._mended.get(item.id, item) for item in super().__iter__())

    def take(self, positions: Sequence[int]) -> list[Item]:
        """The items at some positions, as they are now."""
        return [self._mended.get(item.id, item) for item in super().take(positions)]

    @property
    def mends(self) -> str:
        """A short name for all that was changed."""
        return mends_id(self._mended.values())


def read_mends(folder: Path) -> dict[str, Mend]:
    """What people have changed of a run's items, by item."""
    try:
        text = (folder / MENDED).read_bytes()
    except FileNotFoundError:
        return {}
    try:
        return {mend.item.id: mend for mend in msgspec.json.decode(text, type=_Mends).items}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{folder / MENDED} is damaged: {error}; run eyetest refine again") from None


def write_mends(folder: Path, mends: Sequence[Mend]) -> None:
    """Write them down beside the answers; nothing where nothing was changed."""
    if not mends:
        (folder / MENDED).unlink(missing_ok=True)
        return
    ordered = tuple(sorted(mends, key=lambda mend: mend.item.id))
    with replacing_file(folder / MENDED) as place:
        place.write_bytes(msgspec.json.format(msgspec.json.encode(_Mends(items=ordered)), indent=2) + b"\n")


def mends_id(items: Iterable[Item]) -> str:
    """A short name for what some items were changed to; empty where there are none."""
    texts = sorted(msgspec.json.encode(item, order="sorted") for item in items)
    return blake2b(b"\n".join(texts), digest_size=16).hexdigest() if texts else ""


def wording(item: Item) -> bytes:
    """What a model is shown of an item, as a short name."""
    shown = (item.question, item.hint, [choice.text for choice in item.choices], item.images)
    return blake2b(msgspec.json.encode(shown), digest_size=16).digest()


def about_the_wording(mends: Mapping[str, Mend], items: Iterable[Item]) -> pl.Expr:
    """Which answers are to the wording that items have now."""
    reworded = {name: mend for name, mend in mends.items() if mend.requests is not None}
    other = [pl.lit(value=False)]
    for item in items if reworded else ():
        if (mend := reworded.get(item.id)) is not None:
            showed_new = pl.col("request").is_in(pl.Series(mend.requests, dtype=pl.String).implode())
            is_new = wording(item) == wording(mend.item)
            other.append((pl.col("item") == item.id) & (~showed_new if is_new else showed_new))
    return ~pl.any_horizontal(other)
