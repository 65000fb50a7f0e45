"""One plan is handed out piece by piece, until nothing of it is left or the run is to stop."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from time import time
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eyetest.errors import EyetestError
from eyetest.records import Asked, Response
from eyetest.running.cluster.pieces import Piece, Portion, Rows, Told, fit
from eyetest.running.cluster.workers import Worker, Workers
from eyetest.running.ledger import Left
from eyetest.running.limits import Budget
from eyetest.running.planning import Plan
from eyetest.running.progress import Progress
from eyetest.tabular.record_files import indices

_AT_ONCE = 2
"""Pieces of one model that a worker has at once, so that the next begins while the last calls of one are out."""
_LOSSES_BY_CHANCE = 2
"""A piece at which so many workers died is under suspicion, and tried by a worker that does nothing else."""
_LOSSES_ALONE = 2
"""A single call at which so many such workers died has failed."""


class Hire(Protocol):
    """Begins a worker."""

    async def __call__(self, *, spare: bool = False) -> Worker:
        """``spare``: one beyond those that share the processors."""


class Lane:
    """Pieces that may be carried out in any order: those of one model, or panels."""

    def __init__(self, model: str, portions: Sequence[Portion]) -> None:
        self.model, self.portions, self.unfinished = model, deque(portions), len(portions)

    def put_back(self, portions: Sequence[Portion]) -> None:
        """A piece is over, and this is left of it."""
        portions = [portion for portion in portions if len(portion.rows)]
        self.portions.extendleft(reversed(portions))
        self.unfinished += len(portions) - 1

    def give_up(self) -> None:
        """Nothing of it is handed out any more."""
        self.portions.clear()
        self.unfinished = 0


class Handing:
    """Hands the pieces of a plan to workers."""

    def __init__(self, plan: Plan, left: Left, lanes: Sequence[Lane], budget: Budget, progress: Progress) -> None:
        self._plan, self._left, self._lanes = plan, left, list(lanes)
        self._budget, self._progress = budget, progress
        self._requests = left.ledger.requests
        self._said: dict[str, list[tuple[Asked, str]]] = defaultdict(list)
        for asked, text in plan.dialogues.said.items() if plan.turn and plan.dialogues else ():
            self._said[asked.item].append((asked, text))
        self._suspects: deque[tuple[Lane, Portion]] = deque()
        self._news = asyncio.Condition()
        self._hiring: set[asyncio.Task[None]] = set()
        self.is_closed = False

    async def carry_out(self, workers: Workers, size: int, hire: Hire, store: Callable[[Response], None]) -> None:
        """Until everything is asked; ``size`` workers at most, beginning with those that are there."""
        self._workers, self._hire, self._store = workers, hire, store
        workers.price = self._price
        if not any(lane.unfinished for lane in self._lanes):
            return
        async with asyncio.TaskGroup() as self._tasks:
            for worker in workers.alive:
                self._employ(worker)
            for _ in range(size - len(workers.alive)):
                self._replace()

    def close(self) -> None:
        """Hand out nothing more."""
        self.is_closed = True
        asyncio.get_running_loop().create_task(self._tell())

    def _replace(self) -> None:
        async def employ() -> None:
            self._employ(await self._hire())

        task = self._tasks.create_task(employ())
        self._hiring.add(task)
        task.add_done_callback(self._hiring.discard)

    def _employ(self, worker: Worker) -> None:
        for lane in self._lanes:
            for _ in range(_AT_ONCE):
                self._tasks.create_task(self._serve(worker, lane))

    async def _serve(self, worker: Worker, lane: Lane) -> None:
        from ray.exceptions import RayError  # noqa: PLC0415 (an extra)

        while (portion := await self._next(worker, lane)) is not None:
            try:
                told = await self._carried_out(worker, lane, portion)
            except RayError as error:
                if self._workers.lose(worker, error) and not self.is_closed:
                    self._replace()
                left = await self._after_loss(worker, portion)
                if len(left.rows) and left.losses >= _LOSSES_BY_CHANCE:
                    self._suspect(lane, left)
                else:
                    lane.put_back([left])
                await self._tell()
                return
            self._heard(worker, lane, portion, told)
            await self._tell()

    async def _carried_out(self, worker: Worker, lane: Lane, portion: Portion) -> Told:
        from ray.exceptions import RayTaskError  # noqa: PLC0415 (an extra)

        try:
            told: Told = await worker.actor.carry_out.remote(self._piece(lane, portion))
        except RayTaskError as error:
            raise EyetestError(f"a fault in a worker: {' '.join(str(error).split())[-500:]}") from None
        return told

    async def _next(self, worker: Worker, lane: Lane) -> Portion | None:
        async with self._news:
            while not self._is_over(worker, lane):
                if lane.portions and (portion := self._afforded(lane)):
                    return portion
                if not self.is_closed:
                    await self._news.wait()
        return None

    def _is_over(self, worker: Worker, lane: Lane) -> bool:
        return (
            self.is_closed or not lane.unfinished or worker.ending is not None or lane.model in worker.told.abandoned
        )

    def _afforded(self, lane: Lane) -> Portion | None:
        """The next portion, or as much of it as may be spent; nothing while what is in flight may make room."""
        portion = lane.portions.popleft()
        most = self._left.ledger.most(portion.rows)
        if number := fit(portion, most, self._budget.room, anywhere=bool(lane.model)):
            if number < len(portion.rows):
                portion, rest = portion.cut(number)
                lane.portions.appendleft(rest)
                lane.unfinished += 1
            portion.held = (int(most[0][:number].sum()), float(most[1][:number].sum()))
            why = self._budget.refuses(*portion.held, calls=number)
            assert not why, why
            return portion
        lane.portions.appendleft(portion)
        if not self._budget.may_change:
            end = 1 if lane.model else int(portion.ends[0])
            why = self._budget.refuses(int(most[0][:end].sum()), float(most[1][:end].sum()), calls=end)
            self._progress.stopped = self._progress.stopped or why
            self.close()
        return None

    def _piece(self, lane: Lane, portion: Portion) -> Piece:
        ledger, plan = self._left.ledger, self._plan
        items = list(dict.fromkeys(ledger.items[portion.rows].tolist()))
        codes = ledger.codes[portion.rows]
        if not lane.model:
            codes = np.unique(codes[np.bincount(ledger.codes)[codes] > 1])
        positions = [plan.positions[item] for item in items]
        return Piece(
            model=lane.model,
            turn=plan.turn,
            positions=positions,
            requests=self._requests.take(indices(codes)).to_pylist(),
            said=self._told(positions),
            losses=self._workers.losses,
        )

    def _told(self, positions: Sequence[int]) -> dict[Asked, str]:
        """What was said to the turns before some items."""
        dialogues = self._plan.dialogues
        if not self._plan.turn or dialogues is None:
            return {}
        earlier = [name for item in self._plan.taking(positions) for name in dialogues.earlier(item)]
        return {asked: text for name in earlier for asked, text in self._said[name]}

    def _heard(self, worker: Worker, lane: Lane, portion: Portion, told: Told) -> None:
        self._workers.hear(worker, told)
        portion.settle(self._budget)
        if told.fault:
            raise EyetestError(told.fault)
        left = (
            self._only(portion, set(told.not_asked))
            if told.not_asked
            else portion.keep(np.zeros(len(portion.rows), bool))
        )
        self._budget.calls -= len(left.rows)
        lane.put_back([left])
        if lane.model in told.abandoned and all(lane.model in one.told.abandoned for one in self._workers.alive):
            self._progress.abandoned[lane.model] = why = told.abandoned[lane.model]
            lane.give_up()
            if all(one.model in self._progress.abandoned for one in self._lanes):
                self._progress.stopped = self._progress.stopped or f"{lane.model} cannot be used: {why}"

    async def _after_loss(self, worker: Worker, portion: Portion) -> Portion:
        """What is left of a piece whose worker died."""
        assert worker.ending is not None
        stored = await worker.ending
        portion.settle(self._budget)
        left = portion.keep(np.array([request not in stored for request in self._ids(portion.rows)], bool))
        self._budget.calls -= len(left.rows)
        left.losses += 1
        return left

    def _suspect(self, lane: Lane, portion: Portion) -> None:
        portion.losses = 0
        self._suspects.append((lane, portion))
        if len(self._suspects) == 1:
            self._tasks.create_task(self._try_alone())

    async def _try_alone(self) -> None:
        """Find by halves the call that kills workers; what only happened to be beside it is answered."""
        from ray.exceptions import RayError  # noqa: PLC0415 (an extra)

        worker = await self._hire(spare=True)
        while self._suspects and not self.is_closed:
            lane, portion = self._suspects[0]
            most = self._left.ledger.most(portion.rows)
            portion.held = (int(most[0].sum()), float(most[1].sum()))
            if self._budget.refuses(*portion.held, calls=len(portion.rows)):
                portion.held = (0, 0.0)
                lane.put_back([])
            else:
                try:
                    self._heard(worker, lane, portion, await self._carried_out(worker, lane, portion))
                except RayError as error:
                    self._workers.lose(worker, error)
                    self._part(lane, await self._after_loss(worker, portion))
                    worker = await self._hire(spare=True)
            self._suspects.popleft()
            await self._tell()

    def _part(self, lane: Lane, portion: Portion) -> None:
        """What is left of a piece that killed a worker alone: two halves, or a call that is to blame."""
        if lane.model:
            portion.groups = np.arange(len(portion.rows))  # questions about one picture may be parted now
        if len(portion.ends) > 1:
            self._suspects.extend((lane, half) for half in portion.cut(int(portion.ends[len(portion.ends) // 2 - 1])))
            lane.unfinished += 1
        elif len(portion.rows) and portion.losses < _LOSSES_ALONE:
            self._suspects.append((lane, portion))
        else:
            self._fail(portion)
            lane.put_back([])

    def _fail(self, portion: Portion) -> None:
        words = "every worker was lost that asked this"
        for request in dict.fromkeys(self._ids(portion.rows)):
            response = Response(
                request=request, outcome="failed", error="worker", detail=words, time=round(time(), 3)
            )
            self._store(response)
            self._progress.answered(response, 0.0)

    def _price(self, stored: pa.Table) -> float:
        """What some answers to calls of this plan cost."""
        ledger = self._left.ledger
        found = pc.index_in(stored.column("request"), value_set=self._requests)
        money = 0.0
        counted = (stored.column(name).to_pylist() for name in ("tokens_in", "tokens_out"))
        for code, sent, back in zip(found.to_pylist(), *counted, strict=True):
            price = self._plan.models[ledger.models[self._left.first[code]]].entry.price if code is not None else None
            money += price.of(sent or 0, back or 0) if price else 0.0
        return money

    def _ids(self, rows: Rows) -> list[str]:
        ids: list[str] = self._requests.take(indices(self._left.ledger.codes[rows])).to_pylist()
        return ids

    def _only(self, portion: Portion, requests: set[str]) -> Portion:
        return portion.keep(np.array([request in requests for request in self._ids(portion.rows)], bool))

    async def _tell(self) -> None:
        """Something has changed: whoever waits looks again, and nobody is hired for work that is done."""
        async with self._news:
            self._news.notify_all()
        if self.is_closed or not any(lane.unfinished for lane in self._lanes):
            for task in self._hiring:
                task.cancel()
