"""What is to be asked, of every item under every condition, of every model; and what of it is left.

In: a benchmark, models, conditions. Out: calls in an order in which those that share a picture are neighbours, and
before the first of them a plan on disk with counts and an estimate of what it will take.

What is left are the plan's requests joined with those that are stored. A plan is gone through once and remembered as
columns, a few bytes a call. From then on a call is known by its row, so that whoever asks looks up no id, and makes
no prompt of an item about which nothing is left to ask.
"""

from array import array as growing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import compress, islice
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, heading
from eyetest.models import Call, Model
from eyetest.prompts import CannotApply, build
from eyetest.records import Asked, Condition, GreyPicture, Item, Picture, Prompt, Request, Words
from eyetest.runs.plan import plan_rows
from eyetest.runs.stored import StoredErrors, encode, indices
from eyetest.tabular.record_files import array, numbers

_ROWS_AT_ONCE = 20_000
_FIRST, _LAST = 1, 2

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
        self._ledger = ledger
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

    def rows(self, model: int) -> Iterator[tuple[int, Mask]]:
        """The rows of a model that are left: first those that were never asked, then those that failed before.

        Questions on which a server breaks would otherwise stand in the way of all others, in every session anew.
        """
        mine = self._ledger.models == model
        items, when = self._ledger.items[mine], self._when[mine]
        for phase in (_FIRST, _LAST):
            yield from _by_item(items, when == phase)

    def rows_of(self, requests: Mask) -> Iterator[tuple[int, Mask]]:
        """All rows that lead to some requests."""
        return _by_item(self._ledger.items, requests[self._ledger.codes])


def _by_item(items: NDArray[np.int64], wanted: Mask) -> Iterator[tuple[int, Mask]]:
    """Each item that has a wanted row, and which of all its rows are wanted; rows stand in the order of items."""
    for item in np.unique(items[wanted]).tolist():
        yield item, wanted[slice(*np.searchsorted(items, (item, item + 1)))]


_CHUNK = 2_000
_DIRECT_TOKENS = 512
_REASONING_TOKENS = 2_048
_TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
"""What endpoints call it; a model's entry says which one it takes."""
_LETTERS_A_TOKEN = 4
_PIXELS_A_TOKEN = 750
_PICTURE_TOKENS = (85, 1_600)
PASSED_OVER = ("auth", "not-found", "unreachable", "proxy", "quota", "outage")
"""Failures that say nothing about the question: whoever resumes wants these asked."""


def is_asked_again(error: str, *, retry_failed: bool) -> bool:
    """Whether a request that ended so is asked again when the run goes on; it ended well if there is no error."""
    return error in PASSED_OVER or (retry_failed and bool(error))


class Plan:
    """Who is asked what. Pure: the same plan gives the same calls, however often it is gone through."""

    def __init__(
        self,
        benchmark: Benchmark,
        models: Sequence[Model],
        conditions: Sequence[Condition],
        *,
        trials: int = 1,
        sampling: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        if trials < 1:
            raise InputError(f"{heading('trials', trials)}: at least one")
        self.benchmark, self.models, self.conditions = benchmark, tuple(models), tuple(conditions)
        self.trials, self.seed = trials, seed
        self._sampling = dict(sampling or {})
        self._settings: dict[tuple[str, str, int], dict[str, Any]] = {}
        self.own: Mapping[str, Mapping[str, Any]] = {}
        """By model: axes on which it is asked otherwise than the conditions say."""
        self.recorded: Mapping[bytes, str] = {}
        """Answers that were brought in from elsewhere, by who was asked what: the ids under which they are stored."""
        self.positions: Sequence[int] = benchmark.by_picture()
        self.shared: Set[str] | None = None
        """Requests to which several rows lead; None until the plan is estimated."""

    @property
    def is_joint(self) -> bool:
        """Whether some models are asked in a way of their own, so that conditions do not tell panels apart."""
        return bool(self.own)

    def only(self, limit: int | None = None, ids: Sequence[str] = ()) -> None:
        """Keep to the first items of the benchmark, or to named ones."""
        keep: set[int] | None = None
        if ids:
            keep = set(self.benchmark.positions(ids))
        if limit is not None:
            keep = set(islice(sorted(keep if keep is not None else range(len(self.benchmark))), limit))
        if keep is not None:
            self.positions = [position for position in self.positions if position in keep]

    def items(self) -> Iterator[Item]:
        """The items in the order in which they are asked, a few in memory at a time."""
        for start in range(0, len(self.positions), _CHUNK):
            yield from self.benchmark.take(self.positions[start : start + _CHUNK])

    def chosen(self, rows: Iterable[tuple[int, Mask]], models: Sequence[Model]) -> Iterator[Call]:
        """Some of the calls: of some items, by their number, those that are wanted."""
        rows = iter(rows)
        while batch := list(islice(rows, _CHUNK)):
            items = self.benchmark.take([self.positions[number] for number, _ in batch])
            for item, (_, wanted) in zip(items, batch, strict=True):
                yield from compress(self.applicable(item, models), wanted.tolist())

    def applicable(self, item: Item, models: Sequence[Model]) -> Iterator[Call]:
        """The calls about one item that can be made."""
        return (call for call in self.calls(item, models) if isinstance(call, Call))

    def calls(self, item: Item, models: Sequence[Model]) -> Iterator[Call | tuple[Model, CannotApply]]:
        """The calls about one item, and which conditions could not be put to it."""
        for usual in self.conditions:
            prompts: dict[tuple[bool, Condition], Prompt | CannotApply] = {}
            for model in models:
                prefill = model.entry.prefill
                condition = msgspec.structs.replace(usual, **self.own.get(model.name, {}))
                if (prefill, condition) not in prompts:
                    prompts[prefill, condition] = _build(item, condition, prefill=prefill)
                prompt = prompts[prefill, condition]
                if condition.method == "likelihood" and not model.likelihoods:
                    prompt = CannotApply(f"{model.name} gives no likelihoods")
                if isinstance(prompt, CannotApply):
                    yield model, prompt
                    continue
                for trial in range(self.trials):
                    settings = self._sent(model, condition, trial)
                    if model.knows_items:
                        settings = settings | {"item": item.id}
                    request = Request(model=model.name, prompt=prompt, settings=settings, trial=trial)
                    asked = Asked(item=item.id, model=model.name, trial=trial, **msgspec.structs.asdict(condition))
                    yield Call(asked, item, request, self._id(asked, request))

    def _id(self, asked: Asked, request: Request) -> str:
        return (self.recorded and self.recorded.get(asked.key)) or request.id

    def estimate(
        self,
        stored: StoredErrors | None = None,
        *,
        retry_failed: bool = False,
        before: pa.Table | None = None,
        write: Callable[[Asked, str], None] | None = None,
    ) -> tuple[Estimate, Left]:
        """Go through the plan once: count it, hand each row to ``write``, and find what is left to ask.

        ``stored`` is what the run holds, ``before`` the earlier plan.
        """
        estimate, ledger = Estimate(priced=any(model.entry.price for model in self.models)), Ledger(self.models)
        for number, item in enumerate(self.items()):
            for call in self.calls(item, self.models):
                if isinstance(call, tuple):
                    estimate.not_applicable[str(call[1])] += self.trials
                    continue
                if write:
                    write(call.asked, call.id)
                ledger.add(number, call, tokens(call))
        ledger.close()
        left = Left(ledger, stored, partial(is_asked_again, retry_failed=retry_failed))
        self.shared = ledger.shared()
        estimate.rows, estimate.requests = len(ledger.codes), len(ledger.requests)
        estimate.stored = int((left.is_settled & ~left.has_failed).sum())
        estimate.failed = int((left.is_settled & left.has_failed).sum())
        ledger.count(estimate, left.first[~left.is_settled])
        if before is not None and stored is not None and len(before):
            estimate.otherwise = self._otherwise(ledger.requests, left, stored, before)
        return estimate, left

    def _otherwise(self, requests: pa.Array, left: Left, stored: StoredErrors, before: pa.Table) -> int:
        """How many rows were planned before under another request, which has been answered."""
        answered = stored.requests.take(indices(np.flatnonzero(~stored.are(bool))))
        earlier = before.column("request")
        gone = pc.and_(pc.is_in(earlier, value_set=answered), pc.invert(pc.is_in(earlier, value_set=requests)))
        keys = {row.key for row in plan_rows(before.filter(gone))}
        if not keys:
            return 0
        known = numbers(pc.is_in(requests, value_set=earlier.combine_chunks())).astype(bool)
        return sum(call.asked.key in keys for call in self.chosen(left.rows_of(~known), self.models))

    def _sent(self, model: Model, condition: Condition, trial: int) -> dict[str, Any]:
        key = (model.name, condition.ask, trial)
        if key not in self._settings:
            settings: dict[str, Any] = {"temperature": 0, **model.settings}
            limit = next((name for name in _TOKEN_LIMITS if name in settings), _TOKEN_LIMITS[0])
            settings.setdefault(limit, _DIRECT_TOKENS if condition.ask == "direct" else _REASONING_TOKENS)
            settings |= {limit if name in _TOKEN_LIMITS else name: value for name, value in self._sampling.items()}
            if settings["temperature"]:
                settings.setdefault("seed", self.seed + trial)
            self._settings[key] = {name: value for name, value in settings.items() if value is not None}
        return self._settings[key]


def tokens(call: Call) -> tuple[int, int]:
    """About how many tokens a call sends, and how many it can bring back at most."""
    count = 0
    for message in call.request.prompt.messages:
        for part in message.parts:
            if isinstance(part, Words):
                count += len(part.text) // _LETTERS_A_TOKEN
            else:
                count += _picture_tokens(part)
    settings = call.request.settings
    return count, int(settings.get("max_tokens") or settings.get("max_completion_tokens") or 0)


def _picture_tokens(part: Picture | GreyPicture) -> int:
    size = part.image if isinstance(part, Picture) else part
    least, most = _PICTURE_TOKENS
    return max(least, min(most, size.width * size.height // _PIXELS_A_TOKEN))


def _build(item: Item, condition: Condition, *, prefill: bool) -> Prompt | CannotApply:
    try:
        return build(item, condition, prefill=prefill)
    except CannotApply as reason:
        return reason
