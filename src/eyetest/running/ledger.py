"""A plan as columns, a few bytes a call: what it holds, what it will take, and what of it is left."""

from array import array as growing
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eyetest.models import Call, Model
from eyetest.records.settings import Price
from eyetest.runs.stored import StoredErrors, encode
from eyetest.tabular.record_files import array, indices, numbers

_ROWS_AT_ONCE = 20_000
_FIRST, _LAST = 1, 2
_KEPT = ("request", "item", "model", "sight", "tokens_in", "tokens_out", "bare")

Mask = NDArray[np.bool_]


class Estimate(msgspec.Struct, kw_only=True):
    """What a plan holds, and about what it will take."""

    rows: int = 0
    requests: int = 0
    stored: int = 0
    """Requests that have an answer already."""
    failed: int = 0
    """Requests that failed before and are not asked again."""
    otherwise: int = 0
    """Rows that were answered before under other settings or another wording, and are asked anew."""
    earlier: int = 0
    """Items that were not chosen, and are asked about because chosen ones go on from the answers."""
    no_picture: int = 0
    """Calls that are to show the picture of an item that has none."""
    by_model: Counter[str] = msgspec.field(default_factory=Counter)
    """Calls to make."""
    by_sight: Counter[str] = msgspec.field(default_factory=Counter)
    not_applicable: Counter[str] = msgspec.field(default_factory=Counter)
    tokens_in: int = 0
    most_tokens_out: int = 0
    money: float = 0.0
    """For the prompts alone."""
    most_money: float = 0.0
    priced: bool = False

    @property
    def calls(self) -> int:
        """Calls to make."""
        return self.by_model.total()

    def add(self, other: "Estimate") -> None:
        """Count what another part of the plan holds."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.priced = bool(self.priced)


class Ledger:
    """All calls of a plan, as columns."""

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = list(models)
        self._indices = {model.name: index for index, model in enumerate(models)}
        self._ids: list[str] = []
        self._chunks: list[pa.Array] = []
        self._sights: dict[str, int] = {}
        self._item, self._model, self._sight = growing("q"), growing("H"), growing("B")
        self._in, self._out, self._bare = growing("q"), growing("q"), growing("B")

    @classmethod
    def empty(cls, models: Sequence[Model]) -> "Ledger":
        """One to which nothing is added."""
        ledger = cls(models)
        ledger.close()
        return ledger

    @classmethod
    def of_table(cls, models: Sequence[Model], table: pa.Table, sights: Mapping[str, int], items: int) -> "Ledger":
        """One that was kept as a table; a `ValueError` where that cannot be one of so many items."""
        ledger = cls(models)
        if table.schema.names != list(_KEPT):
            raise ValueError("its columns are others")
        columns = [numbers(table.column(name).combine_chunks()) for name in _KEPT[1:]]
        ledger._item, ledger._model, ledger._sight, ledger._in, ledger._out, ledger._bare = (
            growing(kind, column.astype(kind).tobytes()) for kind, column in zip("qHBqqB", columns, strict=True)
        )
        ledger._sights = dict(sights)
        for column, most in zip(columns[:3], (items, len(models), len(sights)), strict=True):
            if len(column) and not 0 <= column.min() <= column.max() < most:
                raise ValueError("it leads to nothing that is there")
        if np.any(np.diff(columns[0]) < 0):
            raise ValueError("its rows are in no order")
        ledger._chunks = table.column("request").chunks
        ledger.close()
        return ledger

    def table(self) -> pa.Table:
        """All its rows, as they are kept."""
        columns = (self._item, self._model, self._sight, self._in, self._out, self._bare)
        arrays = [pa.array(np.frombuffer(column, column.typecode)) for column in columns]
        return pa.table([self.requests.take(indices(self.codes)), *arrays], names=list(_KEPT))

    @property
    def sights(self) -> dict[str, int]:
        """What the numbers in the column of sights stand for."""
        return dict(self._sights)

    def add(self, item: int, call: Call, tokens: tuple[int, int]) -> None:
        """Remember a call about the plan's item of that number."""
        asked = call.asked
        self._ids.append(call.id)
        if len(self._ids) >= _ROWS_AT_ONCE:
            self._flush()
        self._item.append(item)
        self._model.append(self._indices[asked.model])
        self._sight.append(self._sights.setdefault(asked.sight, len(self._sights)))
        self._in.append(tokens[0])
        self._out.append(tokens[1])
        self._bare.append(asked.sight == "image" and not call.item.images)

    def _flush(self) -> None:
        self._chunks.append(array(self._ids, pa.string()))
        self._ids.clear()

    def close(self) -> None:
        """Nothing is added any more."""
        self._flush()
        codes, self.requests = encode(pa.chunked_array(self._chunks, pa.string()))
        self._chunks.clear()
        self.codes = codes
        self.items = np.frombuffer(self._item, np.int64)
        self.models = np.frombuffer(self._model, np.uint16)

    def first_rows(self) -> NDArray[np.int64]:
        """By request: the first row that leads to it."""
        first = np.zeros(len(self.requests), np.int64)
        first[self.codes[::-1]] = np.arange(len(self.codes))[::-1]
        return first

    def shared(self) -> frozenset[str]:
        """Requests to which several rows lead."""
        several = np.flatnonzero(np.bincount(self.codes, minlength=len(self.requests)) > 1)
        return frozenset(self.requests.take(indices(several)).to_pylist())

    def most(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """How many tokens each call of some rows may take at most, and how much money."""
        sent, back = np.frombuffer(self._in, np.int64)[rows], np.frombuffer(self._out, np.int64)[rows]
        prices = [model.entry.price or Price() for model in self._models]
        a_token_in, a_token_out = (np.array([price.of(*one) for price in prices]) for one in ((1, 0), (0, 1)))
        models = self.models[rows]
        return sent + back, sent * a_token_in[models] + back * a_token_out[models]

    def count(self, estimate: Estimate, rows: NDArray[np.int64]) -> None:
        """What the calls of some rows will take."""
        sights = np.bincount(np.frombuffer(self._sight, np.uint8)[rows], minlength=len(self._sights))
        estimate.by_sight.update({name: int(sights[index]) for name, index in self._sights.items() if sights[index]})
        sent, back = np.frombuffer(self._in, np.int64)[rows], np.frombuffer(self._out, np.int64)[rows]
        estimate.no_picture += int(np.frombuffer(self._bare, np.uint8)[rows].sum())
        estimate.tokens_in += int(sent.sum())
        estimate.most_tokens_out += int(back.sum())
        for index, model in enumerate(self._models):
            mine = self.models[rows] == index
            if mine.any():
                estimate.by_model[model.name] += int(mine.sum())
                if price := model.entry.price:
                    estimate.money += price.of(int(sent[mine].sum()), 0)
                    estimate.most_money += price.of(int(sent[mine].sum()), int(back[mine].sum()))


class Left:
    """Which rows of a plan are to be asked, and which of them last."""

    def __init__(self, ledger: Ledger, stored: StoredErrors | None, is_asked_again: Callable[[str], bool]) -> None:
        self.ledger = ledger
        self.first = ledger.first_rows()
        self.is_stored = np.zeros(len(ledger.requests), bool)
        self.has_failed = np.zeros(len(ledger.requests), bool)
        again = np.zeros(len(ledger.requests), bool)
        if stored is not None and len(stored.requests):
            index = pc.index_in(ledger.requests, value_set=stored.requests)
            self.is_stored, rows = numbers(index.is_valid()).astype(bool), numbers(index)
            self.has_failed = self.is_stored & stored.are(bool)[rows]
            again = self.is_stored & stored.are(is_asked_again)[rows]
        self.is_settled = self.is_stored & ~again
        self._when = np.zeros(len(ledger.codes), np.uint8)
        self._when[self.first[~self.is_stored]] = _FIRST
        self._when[self.first[again]] = _LAST

    def is_first(self) -> Mask:
        """Of each row, whether it is the one by which its request is asked."""
        return self._when > 0

    def rows(self, model: int) -> Iterator[tuple[int, Mask]]:
        """The rows of a model that are left: first those that were never asked, then those that failed before.

        Questions on which a server breaks would otherwise stand in the way of all others, in every session anew.
        """
        mine = self.ledger.models == model
        items, when = self.ledger.items[mine], self._when[mine]
        for phase in (_FIRST, _LAST):
            yield from _by_item(items, when == phase)

    def calls(self, model: int | None = None) -> list[NDArray[np.int64]]:
        """The same as numbers of the plan's calls, those that were never asked and then the others; of all models."""
        mine = np.ones(len(self._when), bool) if model is None else self.ledger.models == model
        return [np.flatnonzero(mine & (self._when == phase)) for phase in (_FIRST, _LAST)]

    def rows_of(self, requests: Mask) -> Iterator[tuple[int, Mask]]:
        """All rows that lead to some requests."""
        return _by_item(self.ledger.items, requests[self.ledger.codes])


def _by_item(items: NDArray[np.int64], wanted: Mask) -> Iterator[tuple[int, Mask]]:
    """Each item that has a wanted row, and which of all its rows are wanted; rows stand in the order of items."""
    for item in np.unique(items[wanted]).tolist():
        yield item, wanted[slice(*np.searchsorted(items, (item, item + 1)))]
