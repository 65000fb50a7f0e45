"""What is asked, of every item under every condition, of every model; and which of it is left.

A plan is kept as columns, a few bytes per call, and joined with the stored requests. Calls are known by their rows.
"""

from array import array as growing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import compress, islice, repeat
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, heading, listed
from eyetest.models import Call, Model, ProbedModel
from eyetest.prompts import CannotApply, build, tells_history
from eyetest.prompts.sent import named_by_what_is_sent, refuse_idle_axes, refuse_unsent
from eyetest.records import (
    DIALOGUE,
    MEDIA_KINDS,
    TURN,
    Asked,
    Condition,
    GrayImage,
    ImagePart,
    Item,
    Prompt,
    Request,
    Response,
    Words,
    tag_word,
)
from eyetest.records.tables import Ask
from eyetest.running.limits import Asking
from eyetest.runs.stored import is_asked_again

UNANSWERED = "no answer to an earlier turn"
Write = Callable[[Asked, str], None]  # takes a row of a plan: what is asked, and its request
Stored = Callable[[str], Response | None]  # the stored response to a request
_Turn = tuple[str, int]  # a dialogue, and its turn from 1


class WaitingTurn(msgspec.Struct, frozen=True):
    """A turn without a request as yet, because the earlier answers are unknown."""

    asked: Asked
    like: Call | None = None  # a call of about its size; None if an earlier turn failed, so that none will be made


class Dialogues:
    """The turns of a benchmark's dialogues, and each model's answers to them so far."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._positions: dict[_Turn, list[int]] = {}
        self._names: dict[_Turn, str] = {}
        self._turns: list[_Turn | None] = []
        self._shown: list[int] = []
        for position, item in enumerate(items):
            self._turns.append(turn := _turn_of(item))
            self._shown.append(len(item.history))
            if turn is not None:
                self._positions.setdefault(turn, []).append(position)
                self._names[turn] = item.id
        self.longest = max((number for _, number in self._names), default=0)  # the most turns of a dialogue
        self.replies: dict[Asked, str] = {}  # the answer to a turn; empty if settled without one, absent while open

    def number(self, position: int) -> int:
        """The number of the turn at a position of the benchmark; 0 outside of dialogues."""
        turn = self._turns[position]
        return turn[1] if turn else 0

    def note(self, call: Call, answer: Response) -> None:
        """Keep an answer that a later turn may continue."""
        if call.asked.history == "own" and _turn_of(call.item):
            from eyetest.scoring import quoted  # noqa: PLC0415 (slow to load, and few items have earlier turns)

            self.replies[call.asked] = quoted(call.item, call.asked.condition, answer)

    def before(self, positions: Iterable[int]) -> set[int]:
        """The items whose answers some others continue, and those before them."""
        needed, waiting = set[int](), list(positions)
        while waiting:
            position = waiting.pop()
            if (turn := self._turns[position]) is None:
                continue
            earlier = [(turn[0], number) for number in range(turn[1] - self._shown[position], turn[1])]
            new = {index for key in earlier for index in self._positions.get(key, ())} - needed
            needed |= new
            waiting += new
        return needed

    def _reply(self, asked: Asked) -> str | None:
        """The answer to an earlier turn, which may have an image where this one has none, or the reverse."""
        twins = {"image": "no-image", "no-image": "image"}
        other = msgspec.structs.replace(asked, modality=twins.get(asked.modality, asked.modality))
        return self.replies.get(asked, self.replies.get(other))

    def answers(self, item: Item, asked: Asked) -> Sequence[str] | None:
        """The answers to the turns before an item, with golds for turns that are no items; None while unknown."""
        turn = _turn_of(item)
        if turn is None:
            raise CannotApply("no dialogue")
        replies: list[str | None] = []
        for number, gold in enumerate(item.history, turn[1] - len(item.history)):
            positions = self._positions.get((turn[0], number), ())
            if len(positions) > 1:
                raise CannotApply("an earlier turn is there twice")
            if not positions:
                replies.append(gold.answer)
                continue
            replies.append(self._reply(msgspec.structs.replace(asked, item=self._names[turn[0], number])))
            if replies[-1] == "":
                raise CannotApply(UNANSWERED)
        known = [answer for answer in replies if answer is not None]
        return known if len(known) == len(replies) else None


def _turn_of(item: Item) -> _Turn | None:
    dialogue, number = (tag_word(item.tags.get(name)) for name in (DIALOGUE, TURN))
    return (dialogue, int(number)) if dialogue and number and number.isdecimal() else None


_ROWS_AT_ONCE = 20_000
_CALLS = {"request": pl.String, "item": pl.Int64, "model": pl.UInt16}  # a turn that waits has no request
_CALLS |= {"sent": pl.Int64, "back": pl.Int64, "bare": pl.Boolean}  # tokens; without an image

Mask = NDArray[np.bool_]


class Estimate(msgspec.Struct, kw_only=True):
    """The size of a plan and its approximate cost."""

    rows: int = 0
    requests: int = 0
    stored: int = 0  # requests with an answer already
    failed: int = 0  # requests that failed before and are not repeated
    no_image: int = 0  # calls about items without any medium, where the image was to be shown
    by_model: Counter[str] = msgspec.field(default_factory=Counter)
    not_applicable: Counter[str] = msgspec.field(default_factory=Counter)
    tokens_in: int = 0
    most_tokens_out: int = 0
    money: float = 0.0  # for the prompts alone
    most_money: float = 0.0
    priced: bool = False

    @property
    def calls(self) -> int:
        """Calls to make."""
        return self.by_model.total()

    def count(self, calls: pl.DataFrame, models: Sequence[Model]) -> None:
        """Add the cost of some calls."""
        for number, count, sent, back in (
            calls.group_by("model").agg(pl.len(), pl.col("sent", "back").sum()).sort("model").iter_rows()
        ):
            self.by_model[models[number].name] += count
            self.tokens_in += sent
            self.most_tokens_out += back
            if price := models[number].entry.price:
                self.money += price.of(sent, 0)
                self.most_money += price.of(sent, back)


class Ledger:
    """Collects the calls of a plan as columns."""

    def __init__(self, models: Sequence[Model]) -> None:
        self._numbers = {model.name: number for number, model in enumerate(models)}
        self._rows: list[tuple[Any, ...]] = []
        self._chunks: list[pl.DataFrame] = []

    def add(self, item: int, call: Call, tokens: tuple[int, int], *, waits: bool = False) -> None:
        """Add a call about the plan's item of that number; one that ``waits`` is only like this."""
        number = self._numbers[call.asked.model]
        is_bare = not (call.item.images or call.item.media)
        self._rows.append((None if waits else call.id, item, number, *tokens, is_bare))
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        self._chunks.append(pl.DataFrame(self._rows, schema=_CALLS, orient="row"))
        self._rows = []

    def left(self, stored: pl.DataFrame | None, *, retry_failed: bool) -> pl.DataFrame:
        """The calls, and what is left of them: ``new`` ones to ask, and those to ask ``again`` after a failure.

        ``first``: the first row that leads to its request; ``settled``: not asked again; ``failed``: stored so.
        """
        self._flush()
        calls = pl.concat(self._chunks)
        stored = pl.DataFrame(schema={"request": pl.String, "error": pl.String}) if stored is None else stored
        request, error = pl.col("request"), pl.col("error")
        again = is_asked_again(error, retry_failed=retry_failed).fill_null(value=False)
        is_first = request.is_first_distinct() | request.is_null()
        return calls.join(stored, on="request", how="left", maintain_order="left").select(
            *_CALLS,
            first=is_first,
            settled=error.is_not_null() & ~again,
            failed=(error != "").fill_null(value=False),
            new=is_first & error.is_null() & request.is_not_null(),
            again=is_first & again,
        )


def open_rows(left: pl.DataFrame, model: int) -> Iterator[tuple[int, Mask]]:
    """Each item with calls of a model to make, and which of its calls; what failed before comes last."""
    mine = left.filter(pl.col("model") == model, pl.col("request").is_not_null()).select("item", "new", "again")
    items, *phases = (column.to_numpy() for column in mine)
    for wanted in phases:
        for item in dict.fromkeys(items[wanted].tolist()):  # rows are in the order of items
            yield item, wanted[slice(*np.searchsorted(items, (item, item + 1)))]


_CHUNK = 2_000
_DIRECT_TOKENS = 512
_REASONING_TOKENS = 2_048
_TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")  # the limit's names; a model's entry says which it takes
_LETTERS_A_TOKEN = 4
_PIXELS_A_TOKEN = 750
_IMAGE_TOKENS = (85, 1_600)


class Plan:
    """Which calls go to which models. Pure: the same plan always gives the same calls."""

    def __init__(self, benchmark: Benchmark, models: Sequence[Model], asking: Asking) -> None:
        """``asking``: the settings of the run; its selection of items is applied by `only`."""
        if asking.samples < 1:
            raise InputError(f"{heading('samples', asking.samples)}: at least one")
        self.benchmark, self.models, self.conditions = benchmark, tuple(models), asking.conditions
        self.samples, self.seed, self.sampling = asking.samples, asking.seed, asking.sampling
        self._settings: dict[tuple[str, str, int], dict[str, Any]] = {}
        self.recorded: Mapping[bytes, str] = {}  # ids of imported answers, by `Asked`
        self._earlier: Set[str] = frozenset()  # items included only because others continue them
        self.shared: Set[str] = frozenset()  # requests to which several rows lead; known with the estimate
        self._first: dict[int, list[Call]] = {}  # calls about the first items, kept from planning them to asking them

    @cached_property
    def positions(self) -> Sequence[int]:
        """Positions of the items in the benchmark, in the order of asking: turns after those before them."""
        positions = self.benchmark.by_image()
        return growing("q", sorted(positions, key=self.dialogues.number) if self.dialogues else positions)

    @cached_property
    def dialogues(self) -> Dialogues | None:
        """The dialogues of the benchmark, where a model continues its own answers."""
        return Dialogues(self.benchmark) if any(condition.history == "own" for condition in self.conditions) else None

    def only(self, limit: int | None = None, ids: Sequence[str] = ()) -> None:
        """Restrict to the first items of the benchmark, or to named ones, and to the turns that these continue."""
        if not ids and limit is None:
            return
        among = set(self.benchmark.positions(ids)) if ids else range(len(self.benchmark))
        keep = set(islice(sorted(among), limit))
        before = self.dialogues.before(keep) - keep if self.dialogues else set()
        self._earlier = frozenset(item.id for item in self.taking(sorted(before)))
        keep |= before
        self.positions = growing("q", (position for position in self.positions if position in keep))

    def items(self) -> Iterator[Item]:
        """The items in the order of asking, a few in memory at a time."""
        return self.taking(self.positions)

    def taking(self, positions: Sequence[int]) -> Iterator[Item]:
        """The items at some positions, a few in memory at a time."""
        for start in range(0, len(positions), _CHUNK):
            yield from self.benchmark.take(positions[start : start + _CHUNK])

    def chosen(self, rows: Iterable[tuple[int, Mask]], models: Sequence[Model]) -> Iterator[Call]:
        """The wanted calls of some items, by number."""
        rows, names = iter(rows), {model.name for model in models}
        while batch := list(islice(rows, _CHUNK)):
            later = [self.positions[number] for number, _ in batch if number not in self._first]
            items = iter(self.benchmark.take(later) if later else ())
            for number, wanted in batch:
                known = self._first.get(number)
                mine = [call for call in known or () if call.asked.model in names]
                yield from compress(mine if known else self.applicable(next(items), models), wanted.tolist())

    def refuse_unsent(self, remedy: str = "") -> None:
        """Refuse conditions that promise a medium of an item that is not sent."""
        no_media = not self.benchmark.manifest.counts.media
        asks_for_one = any(condition.modality in MEDIA_KINDS for condition in self.conditions)
        if asks_for_one or not no_media:
            refuse_unsent(self.items(), self.conditions, remedy)

    def refuse_idle_axes(self) -> None:
        """Refuse conditions with an axis that changes nothing of any item."""
        refuse_idle_axes(self.items(), self.conditions)

    def refuse_unaskable(self) -> None:
        """Refuse a condition under which no item can be asked, with the reasons."""
        for condition in self.conditions:
            if condition.history == "own":
                continue  # what can be asked depends on answers that are still to come
            reasons = self._reasons_against(condition)
            if reasons:
                why = listed([f"{reason} ({number:,})" for reason, number in reasons.most_common()])
                raise InputError(f"{heading('condition', condition.modality)}: no item can be asked so: {why}")

    def _reasons_against(self, condition: Condition) -> Counter[str]:
        """Why each item cannot be asked under a condition, with counts; empty where one can."""
        reasons: Counter[str] = Counter()
        for item in self.items():
            prompt = _build(item, named_by_what_is_sent(item, condition), prefill=False)
            if not isinstance(prompt, CannotApply):
                return Counter()
            reasons[str(prompt)] += 1
        return reasons

    def conditions_of(self, item: Item) -> Iterable[Condition]:
        """The conditions under which an item is asked, each once, by the names of what is sent."""
        return dict.fromkeys(named_by_what_is_sent(item, condition) for condition in self.conditions)

    def applicable(self, item: Item, models: Sequence[Model]) -> Iterator[Call]:
        """The calls about an item that can be made."""
        return (call for call in self.calls(item, models) if isinstance(call, Call))

    def calls(self, item: Item, models: Sequence[Model]) -> Iterator[Call | WaitingTurn | CannotApply]:
        """The calls about an item, which of them wait for others, and which conditions do not apply."""
        for condition in self.conditions_of(item):
            prompts: dict[bool, Prompt | CannotApply] = {}
            for model in models:
                prefill = model.entry.prefill
                if self.dialogues is not None and condition.history == "own" and tells_history(item, condition):
                    yield from self._own_calls(item, model, condition, self.dialogues)
                    continue
                if item.id in self._earlier and condition.history != "own":
                    continue
                if prefill not in prompts:
                    prompts[prefill] = _build(item, condition, prefill=prefill)
                prompt = _refused(model, condition) or prompts[prefill]
                if isinstance(prompt, CannotApply):
                    yield from repeat(prompt, self.samples)
                    continue
                for sample in range(self.samples):
                    asked = Asked(item=item.id, model=model.name, sample=sample, **msgspec.structs.asdict(condition))
                    yield self._call(item, model, asked, prompt)

    def _own_calls(
        self, item: Item, model: Model, condition: Condition, dialogues: Dialogues
    ) -> Iterator[Call | WaitingTurn | CannotApply]:
        """The calls of a turn with own history; the gold stands in while that is unknown."""
        for sample in range(self.samples):
            asked = Asked(item=item.id, model=model.name, sample=sample, **msgspec.structs.asdict(condition))
            try:
                earlier = dialogues.answers(item, asked)
            except CannotApply as reason:
                yield WaitingTurn(asked) if reason.reason == UNANSWERED else reason
                continue
            shown = [turn.answer for turn in item.history] if earlier is None else earlier
            prompt = _refused(model, condition) or _build(item, condition, prefill=model.entry.prefill, answers=shown)
            if isinstance(prompt, CannotApply):
                yield prompt
                continue
            call = self._call(item, model, asked, prompt)
            yield WaitingTurn(asked, call) if earlier is None else call

    def _call(self, item: Item, model: Model, asked: Asked, prompt: Prompt) -> Call:
        settings = self._sent(model, asked.ask, asked.sample)
        if model.knows_items:
            settings = settings | {"item": item.own_id}
        request = Request(model=model.name, prompt=prompt, settings=settings, sample=asked.sample)
        recorded = self._recorded(item, asked) if self.recorded else None
        return Call(asked, item, request, recorded or request.id)

    def _recorded(self, item: Item, asked: Asked) -> str | None:
        """The id of an imported answer, which may have been imported by the name of the condition as requested."""
        for condition in (asked.condition, *self.conditions):
            if named_by_what_is_sent(item, condition) == asked.condition:
                as_named = msgspec.structs.replace(asked, modality=condition.modality)
                if found := self.recorded.get(as_named.key):
                    return found
        return None

    def estimate(
        self,
        stored: pl.DataFrame | None = None,
        *,
        retry_failed: bool = False,
        write: Write | None = None,
        answers: Stored | None = None,
    ) -> tuple[Estimate, pl.DataFrame]:
        """Count the plan, pass each row to ``write``, and find what is left to ask.

        ``stored``: the errors of the stored requests. ``answers``: reads one, for turns that continue it.
        """
        estimate = Estimate(priced=any(model.entry.price for model in self.models))
        left = self._gone_through(estimate, write, answers).left(stored, retry_failed=retry_failed)
        requests = left["request"].drop_nulls()
        self.shared = frozenset(requests.filter(requests.is_duplicated()))
        estimate.rows = len(left) + estimate.not_applicable[UNANSWERED]
        once = left.filter("first")
        estimate.requests = len(once)
        estimate.stored = int((once["settled"] & ~once["failed"]).sum())
        estimate.failed = int((once["settled"] & once["failed"]).sum())
        to_ask = once.filter(~pl.col("settled"))
        estimate.count(to_ask, self.models)
        if any(condition.modality == "image" for condition in self.conditions):
            estimate.no_image = int(to_ask["bare"].sum())
        return estimate, left

    def _gone_through(self, estimate: Estimate, write: Write | None, answers: Stored | None) -> Ledger:
        """Collect the calls of the plan, also those that wait for answers to earlier turns."""
        ledger = Ledger(self.models)
        self._first, kept = {}, 0
        for number, item in enumerate(self.items()):
            calls = list(self.calls(item, self.models))
            if (kept := kept + len(calls)) <= _CHUNK:
                self._first[number] = [call for call in calls if isinstance(call, Call)]
            for call in calls:
                if isinstance(call, CannotApply):
                    estimate.not_applicable[str(call)] += 1
                    continue
                if write:
                    write(call.asked, call.id if isinstance(call, Call) else "")
                if isinstance(call, Call):
                    ledger.add(number, call, tokens(call))
                    if self.dialogues and answers and (answer := answers(call.id)):
                        self.dialogues.note(call, answer)
                elif call.like:
                    ledger.add(number, call.like, tokens(call.like), waits=True)
                else:
                    estimate.not_applicable[UNANSWERED] += 1
        return ledger

    def _sent(self, model: Model, ask: Ask, sample: int) -> dict[str, Any]:
        key = (model.name, ask, sample)
        if key not in self._settings:
            settings: dict[str, Any] = {"temperature": 0, **model.settings}
            limit = next((name for name in _TOKEN_LIMITS if name in settings), _TOKEN_LIMITS[0])
            settings.setdefault(limit, _DIRECT_TOKENS if ask == "direct" else _REASONING_TOKENS)
            settings |= {limit if name in _TOKEN_LIMITS else name: value for name, value in self.sampling.items()}
            if settings["temperature"]:
                settings.setdefault("seed", self.seed + sample)
            self._settings[key] = {name: value for name, value in settings.items() if value is not None}
        return self._settings[key]


def tokens(call: Call) -> tuple[int, int]:
    """Approximate tokens of a call, and the most that its answer can have."""
    parts = (part for message in call.request.prompt.messages for part in message.parts)
    limits = (call.request.settings.get(name) for name in _TOKEN_LIMITS)
    return sum(map(_part_tokens, parts)), int(next(filter(None, limits), 0))


def _part_tokens(part: Words | ImagePart | GrayImage) -> int:
    if isinstance(part, Words):
        return len(part.text) // _LETTERS_A_TOKEN
    size = part.image if isinstance(part, ImagePart) else part
    least, most = _IMAGE_TOKENS
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
