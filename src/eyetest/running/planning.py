"""What is to be asked, of every item under every condition, of every model; and what of it is left.

In: a benchmark, models, conditions. Out: calls in an order in which those that share a picture are neighbours, and
before the first of them a plan on disk with counts and an estimate of what it will take.

What is left are the plan's requests joined with those that are stored. A plan is gone through once and remembered as
columns, a few bytes a call. From then on a call is known by its row, so that whoever asks looks up no id, and makes
no prompt of an item about which nothing is left to ask.
"""

from array import array as growing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from functools import cached_property, partial
from itertools import compress, islice, repeat
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import refuse_gold_list
from eyetest.errors import InputError, heading
from eyetest.models import Call, Model, ProbedModel
from eyetest.prompts import CannotApply, build, tells_history
from eyetest.records import Asked, Condition, GreyPicture, Item, Picture, Prompt, Request, Words
from eyetest.records.tables import Ask
from eyetest.running.dialogues import UNANSWERED, Dialogues, WaitingTurn
from eyetest.running.ledger import Estimate, Ledger, Left, Mask
from eyetest.runs.folder import RecordedRequests
from eyetest.runs.plan import chosen_rows, plan_requests
from eyetest.runs.stored import IdIndex, StoredErrors, key_bytes
from eyetest.tabular.record_files import indices, numbers

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


GoneThrough = tuple[Estimate, Ledger, Ledger]
"""What going through a plan comes to: its calls, and those that wait for answers."""


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
        refuse_gold_list(benchmark, "ask")
        self.benchmark, self.models, self.conditions = benchmark, tuple(models), tuple(conditions)
        self.trials, self.seed = trials, seed
        self.sampling = dict(sampling or {})
        self._settings: dict[tuple[str, str, int], dict[str, Any]] = {}
        self.own: Mapping[str, Mapping[str, Any]] = {}
        """By model: axes on which it is asked otherwise than the conditions say."""
        self.recorded = RecordedRequests()
        """Answers that were brought in from elsewhere, by who was asked what: the ids under which they are stored."""
        self.turn = 0
        """Which turn of the dialogues this plan is for; 0 for whatever tells no own answers."""
        self._earlier: Set[str] = frozenset()
        """Items that are there only because others go on from the answers to them."""
        self.shared: Set[str] | None = None
        """Requests to which several rows lead; None until the plan is estimated."""

    @cached_property
    def positions(self) -> Sequence[int]:
        """Where the items stand in the benchmark, in the order in which they are asked about."""
        return growing("q", self.benchmark.by_picture())

    @property
    def is_joint(self) -> bool:
        """Whether some models are asked in a way of their own, so that conditions do not tell panels apart."""
        return bool(self.own)

    @cached_property
    def dialogues(self) -> Dialogues | None:
        """The dialogues of the benchmark, where some model goes on from its own answers."""
        is_own = any(condition.history == "own" for condition in self.conditions)
        is_own = is_own or any(axes.get("history") == "own" for axes in self.own.values())
        return Dialogues(self.benchmark) if is_own else None

    def by_turn(self) -> list["Plan"]:
        """The plan itself, which holds what waits for no answer, and one for each turn that tells own answers."""
        plans = [self]
        for turn, positions in self.dialogues.telling(self.positions).items() if self.dialogues else ():
            plans.append(plan := copy(self))
            plan.turn, plan.positions = turn, positions
        return plans

    def only(self, limit: int | None = None, ids: Sequence[str] = ()) -> None:
        """Keep to the first items of the benchmark, or to named ones, and to the turns that these go on from."""
        keep: set[int] | None = None
        if ids:
            keep = set(self.benchmark.positions(ids))
        if limit is not None:
            keep = set(islice(sorted(keep if keep is not None else range(len(self.benchmark))), limit))
        if keep is not None:
            before = self.dialogues.before(keep) - keep if self.dialogues else set()
            self._earlier = frozenset(item.id for item in self.taking(sorted(before)))
            keep |= before
            self.positions = growing("q", (position for position in self.positions if position in keep))

    def items(self) -> Iterator[Item]:
        """The items in the order in which they are asked, a few in memory at a time."""
        return self.taking(self.positions)

    def taking(self, positions: Sequence[int]) -> Iterator[Item]:
        """The items at some positions, a few in memory at a time."""
        for start in range(0, len(positions), _CHUNK):
            yield from self.benchmark.take(positions[start : start + _CHUNK])

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

    def calls(self, item: Item, models: Sequence[Model]) -> Iterator[Call | WaitingTurn | tuple[Model, CannotApply]]:
        """The calls about one item, which of them wait for others, and which conditions could not be put to it."""
        for usual in self.conditions:
            prompts: dict[tuple[bool, Condition], Prompt | CannotApply] = {}
            for model in models:
                prefill = model.entry.prefill
                condition = msgspec.structs.replace(usual, **self.own.get(model.name, {}))
                if self.dialogues is not None and condition.history == "own" and tells_history(item, condition):
                    if self.dialogues.number(item) == self.turn:
                        yield from self._own_calls(item, model, condition, self.dialogues)
                    continue
                if self.turn or (item.id in self._earlier and condition.history != "own"):
                    continue
                if (prefill, condition) not in prompts:
                    prompts[prefill, condition] = _build(item, condition, prefill=prefill)
                prompt = _refused(model, condition) or prompts[prefill, condition]
                if isinstance(prompt, CannotApply):
                    yield from repeat((model, prompt), self.trials)
                    continue
                for trial in range(self.trials):
                    asked = Asked(item=item.id, model=model.name, trial=trial, **msgspec.structs.asdict(condition))
                    yield self._call(item, model, asked, prompt)

    def _own_calls(
        self, item: Item, model: Model, condition: Condition, dialogues: Dialogues
    ) -> Iterator[Call | WaitingTurn | tuple[Model, CannotApply]]:
        """The calls of a turn that tells what the model itself said; the gold stands in while that is not known."""
        for trial in range(self.trials):
            asked = Asked(item=item.id, model=model.name, trial=trial, **msgspec.structs.asdict(condition))
            try:
                said = dialogues.answers(item, asked)
            except CannotApply as reason:
                yield WaitingTurn(asked) if reason.reason == UNANSWERED else (model, reason)
                continue
            told = [turn.answer for turn in item.history] if said is None else said
            prompt = _refused(model, condition) or _build(item, condition, prefill=model.entry.prefill, answers=told)
            if isinstance(prompt, CannotApply):
                yield model, prompt
                continue
            call = self._call(item, model, asked, prompt)
            yield WaitingTurn(asked, call) if said is None else call

    def _call(self, item: Item, model: Model, asked: Asked, prompt: Prompt) -> Call:
        settings = self._sent(model, asked.ask, asked.trial)
        if model.knows_items:
            settings = settings | {"item": item.id}
        request = Request(model=model.name, prompt=prompt, settings=settings, trial=asked.trial)
        return Call(asked, item, request, self._id(asked, request))

    def _id(self, asked: Asked, request: Request) -> str:
        return (self.recorded.get(asked.key) if self.recorded else None) or request.id

    def estimate(
        self,
        stored: StoredErrors | None = None,
        *,
        retry_failed: bool = False,
        before: Path | None = None,
        write: Callable[[Asked, str], None] | None = None,
        known: GoneThrough | None = None,
    ) -> tuple[Estimate, Left]:
        """Go through the plan once: count it, hand each row to ``write``, and find what is left to ask.

        ``stored`` is what the run holds, ``before`` the folder of the earlier plan; with ``known`` it is not gone
        through again.
        """
        estimate, ledger, held = known or self._gone_through(write)
        left = Left(ledger, stored, partial(is_asked_again, retry_failed=retry_failed))
        self.shared = ledger.shared()
        estimate.rows = len(ledger.codes) + len(held.codes) + estimate.not_applicable[UNANSWERED]
        estimate.requests = len(ledger.requests) + len(held.codes)
        estimate.earlier = 0 if self.turn else len(self._earlier)
        estimate.stored = int((left.is_settled & ~left.has_failed).sum())
        estimate.failed = int((left.is_settled & left.has_failed).sum())
        ledger.count(estimate, left.first[~left.is_settled])
        held.count(estimate, np.arange(len(held.codes)))
        if before is not None and stored is not None and len(stored.requests):
            estimate.otherwise = self._otherwise(ledger.requests, left, stored, before)
        return estimate, left

    def new_estimate(self) -> Estimate:
        """One in which nothing is counted."""
        return Estimate(priced=any(model.entry.price for model in self.models))

    def _gone_through(self, write: Callable[[Asked, str], None] | None) -> GoneThrough:
        estimate, ledger, held = self.new_estimate(), Ledger(self.models), Ledger(self.models)
        for number, item in enumerate(self.items()):
            for call in self.calls(item, self.models):
                if isinstance(call, tuple):
                    estimate.not_applicable[str(call[1])] += 1
                    continue
                if write:
                    write(call.asked, call.id if isinstance(call, Call) else "")
                if isinstance(call, Call):
                    ledger.add(number, call, tokens(call))
                elif call.like:
                    held.add(number, call.like, tokens(call.like))
                else:
                    estimate.not_applicable[UNANSWERED] += 1
        ledger.close()
        held.close()
        return estimate, ledger, held

    def _otherwise(self, requests: pa.Array, left: Left, stored: StoredErrors, before: Path) -> int:
        """How many rows were planned before under another request, which has been answered."""
        earlier = plan_requests(before).combine_chunks()
        is_gone = ~_are_in(earlier, requests)
        if is_gone.any():
            is_gone &= _are_in(earlier, stored.requests.take(indices(np.flatnonzero(~stored.are(bool)))))
        if not is_gone.any():
            return 0
        gone = IdIndex(key_bytes(row.key for row in chosen_rows(before, is_gone)))
        is_new = ~_are_in(requests, earlier)
        calls = self.chosen(left.rows_of(is_new), self.models)
        return sum(gone.row(call.asked.key) is not None for call in calls)

    def _sent(self, model: Model, ask: Ask, trial: int) -> dict[str, Any]:
        key = (model.name, ask, trial)
        if key not in self._settings:
            settings: dict[str, Any] = {"temperature": 0, **model.settings}
            limit = next((name for name in _TOKEN_LIMITS if name in settings), _TOKEN_LIMITS[0])
            settings.setdefault(limit, _DIRECT_TOKENS if ask == "direct" else _REASONING_TOKENS)
            settings |= {limit if name in _TOKEN_LIMITS else name: value for name, value in self.sampling.items()}
            if settings["temperature"]:
                settings.setdefault("seed", self.seed + trial)
            self._settings[key] = {name: value for name, value in settings.items() if value is not None}
        return self._settings[key]


def _are_in(requests: pa.Array, others: pa.Array) -> Mask:
    return numbers(pc.is_in(requests, value_set=others)).astype(bool)


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


def _refused(model: Model, condition: Condition) -> CannotApply | None:
    if condition.method == "generate":
        return None
    if isinstance(model, ProbedModel) and (why := model.refusals.get(condition.method)):
        return CannotApply(f"{model.name}: {why}")
    return None if model.likelihoods else CannotApply(f"{model.name} gives no likelihoods")


def _build(
    item: Item, condition: Condition, *, prefill: bool, answers: Sequence[str] | None = None
) -> Prompt | CannotApply:
    try:
        return build(item, condition, prefill=prefill, answers=answers)
    except CannotApply as reason:
        return reason
