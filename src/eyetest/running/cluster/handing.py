"""One plan is handed out piece by piece, until nothing of it is left or the run is to stop."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Sequence
from time import time

import numpy as np

from eyetest.errors import EyetestError
from eyetest.records import Asked, Response
from eyetest.running.cluster.pieces import Piece, Rows, Share, Told, fit
from eyetest.running.cluster.workers import Worker, Workers
from eyetest.running.ledger import Left
from eyetest.running.limits import Budget
from eyetest.running.planning import Plan
from eyetest.running.progress import Progress
from eyetest.tabular.record_files import indices

_AT_ONCE = 2
"""Pieces of one model that a worker has at once, so that the next begins while the last calls of one are out."""
_LOSSES_A_PIECE = 2
"""After so many workers a piece is cut in two."""
_LOSSES_A_CALL = 4
"""After so many at one call alone, it has failed."""


class Lane:
    """Pieces that may be carried out in any order: those of one model, or panels."""

    def __init__(self, model: str, shares: Sequence[Share]) -> None:
        self.model, self.shares, self.unfinished = model, deque(shares), len(shares)

    def put_back(self, shares: Sequence[Share]) -> None:
        """A piece is over, and this is left of it."""
        shares = [share for share in shares if len(share.rows)]
        self.shares.extendleft(reversed(shares))
        self.unfinished += len(shares) - 1

    def give_up(self) -> None:
        """Nothing of it is handed out any more."""
        self.shares.clear()
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
        self._news = asyncio.Condition()
        self._hiring: set[asyncio.Task[None]] = set()
        self.is_closed = False

    async def carry_out(
        self, workers: Workers, size: int, hire: Callable[[], Awaitable[Worker]], store: Callable[[Response], None]
    ) -> None:
        """Until everything is asked; ``size`` workers at most, beginning with those that are there."""
        self._workers, self._hire, self._store = workers, hire, store
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
        from ray.exceptions import RayError, RayTaskError  # noqa: PLC0415 (an extra)

        while (share := await self._next(worker, lane)) is not None:
            try:
                told: Told = await worker.actor.carry_out.remote(self._piece(lane, share))
            except RayTaskError as error:
                raise EyetestError(f"a fault in a worker: {' '.join(str(error).split())[-500:]}") from None
            except RayError as error:
                if self._workers.lose(worker, error) and not self.is_closed:
                    self._replace()
                assert worker.ending is not None
                share.settle(self._budget)
                lane.put_back(self._after_loss(lane, self._without(share, await worker.ending)))
                await self._tell()
                return
            self._heard(worker, lane, share, told)
            await self._tell()

    async def _next(self, worker: Worker, lane: Lane) -> Share | None:
        async with self._news:
            while not self._is_over(worker, lane):
                if lane.shares and (share := self._afforded(lane)):
                    return share
                if not self.is_closed:
                    await self._news.wait()
        return None

    def _is_over(self, worker: Worker, lane: Lane) -> bool:
        return (
            self.is_closed or not lane.unfinished or worker.ending is not None or lane.model in worker.told.abandoned
        )

    def _afforded(self, lane: Lane) -> Share | None:
        """The next share, or as much of it as may be spent; nothing while what is in flight may make room."""
        share = lane.shares.popleft()
        most = self._left.ledger.most(share.rows)
        if number := fit(share, most, self._budget.room):
            if number < len(share.rows):
                share, rest = share.cut(number)
                lane.shares.appendleft(rest)
                lane.unfinished += 1
            share.held = (int(most[0][:number].sum()), float(most[1][:number].sum()))
            why = self._budget.refuses(*share.held, calls=number)
            assert not why, why
            return share
        lane.shares.appendleft(share)
        if not self._budget.may_change:
            end = int(share.ends[0])
            why = self._budget.refuses(int(most[0][:end].sum()), float(most[1][:end].sum()), calls=end)
            self._progress.stopped = self._progress.stopped or why
            self.close()
        return None

    def _piece(self, lane: Lane, share: Share) -> Piece:
        ledger, plan = self._left.ledger, self._plan
        items = list(dict.fromkeys(ledger.items[share.rows].tolist()))
        codes = ledger.codes[share.rows]
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

    def _heard(self, worker: Worker, lane: Lane, share: Share, told: Told) -> None:
        self._workers.hear(worker, told)
        share.settle(self._budget)
        if told.fault:
            raise EyetestError(told.fault)
        left = (
            self._only(share, set(told.not_asked)) if told.not_asked else share.keep(np.zeros(len(share.rows), bool))
        )
        self._budget.calls -= len(left.rows)
        lane.put_back([left])
        if lane.model in told.abandoned and all(lane.model in one.told.abandoned for one in self._workers.alive):
            self._progress.abandoned[lane.model] = why = told.abandoned[lane.model]
            lane.give_up()
            if all(one.model in self._progress.abandoned for one in self._lanes):
                self._progress.stopped = self._progress.stopped or f"{lane.model} cannot be used: {why}"

    def _after_loss(self, lane: Lane, left: Share) -> list[Share]:
        """What is left of a piece whose worker is lost: the suspect is found by halves."""
        self._budget.calls -= len(left.rows)
        left.losses += 1
        if left.losses < _LOSSES_A_PIECE or not len(left.rows):
            return [left]
        if lane.model:
            left.groups = np.arange(len(left.rows))  # questions about one picture may be parted now
        if len(left.ends) > 1:
            return list(left.cut(int(left.ends[len(left.ends) // 2 - 1])))
        if left.losses < _LOSSES_A_CALL:
            return [left]
        words = f"each of {left.losses} workers was lost that asked this"
        for request in dict.fromkeys(self._ids(left.rows)):
            self._store(
                Response(request=request, outcome="failed", error="worker", detail=words, time=round(time(), 3))
            )
            self._progress.outcomes["failed"] += 1
            self._progress.failures["worker"] += 1
        return []

    def _ids(self, rows: Rows) -> list[str]:
        ids: list[str] = self._requests.take(indices(self._left.ledger.codes[rows])).to_pylist()
        return ids

    def _only(self, share: Share, requests: set[str]) -> Share:
        return share.keep(np.array([request in requests for request in self._ids(share.rows)], bool))

    def _without(self, share: Share, requests: set[str]) -> Share:
        return share.keep(np.array([request not in requests for request in self._ids(share.rows)], bool))

    async def _tell(self) -> None:
        """Something has changed: whoever waits looks again, and nobody is hired for work that is done."""
        async with self._news:
            self._news.notify_all()
        if self.is_closed or not any(lane.unfinished for lane in self._lanes):
            for task in self._hiring:
                task.cancel()
