"""Calls to a model that answers many at once are gathered, and handed over in whole groups.

A group are the calls that begin alike, because they show the same picture or ask about the same item: under several
templates, in several orders, with and without options. Who computes them together computes what they share once.
"""

import asyncio
from typing import NamedTuple

from eyetest.models import BatchModel, Call, CallError
from eyetest.records import Picture, Response


class _Waiting(NamedTuple):
    call: Call
    answer: "asyncio.Future[Response]"


class Batches:
    """The other way in to a model: each call is still answered, repeated, counted and stored by itself."""

    def __init__(self, model: BatchModel) -> None:
        self._model = model
        self._queue: list[_Waiting] = []
        self._under_way: set[asyncio.Task[None]] = set()

    async def answer(self, call: Call) -> Response:
        """One attempt, together with whoever is asked at the same time."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(call, loop.create_future())
        self._queue.append(waiting)
        loop.call_soon(self._start)
        return await waiting.answer

    def _start(self) -> None:
        """Send the next batch; while one is under way, the next waits until it is worth sending."""
        if not self._queue or (self._under_way and len(self._queue) < self._model.batch // 2):
            return
        batch, self._queue = next_batch(self._queue, self._model.batch)
        task = asyncio.get_running_loop().create_task(self._send([one for one in batch if not one.answer.done()]))
        self._under_way.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._start()

    async def _send(self, batch: list[_Waiting]) -> None:
        try:
            replies = await self._model.answer_many([one.call for one in batch])
            pairs: list[tuple[_Waiting, Response | Exception]] = list(zip(batch, replies, strict=True))
        except CallError as error:
            pairs = [(one, error) for one in batch]
        except Exception:  # a fault that one of them met: each by itself, so that it costs no other
            pairs = [(one, await self._alone(one.call)) for one in batch]
        for one, reply in pairs:
            if one.answer.done():
                continue
            if isinstance(reply, Response):
                one.answer.set_result(reply)
            else:
                one.answer.set_exception(reply)

    async def _alone(self, call: Call) -> Response | Exception:
        try:
            return await self._model.answer(call)
        except Exception as error:
            return error


def next_batch(queue: list[_Waiting], most: int) -> tuple[list[_Waiting], list[_Waiting]]:
    """The groups that came first, as many as a batch holds, and who has to wait. A larger group is cut."""
    groups: dict[str, list[_Waiting]] = {}
    for one in queue:
        groups.setdefault(_beginning(one.call), []).append(one)
    batch: list[_Waiting] = []
    rest: list[_Waiting] = []
    for group in groups.values():
        if rest or (batch and len(batch) + len(group) > most):
            rest += group
        else:
            batch += group
    return batch[:most], batch[most:] + rest


def _beginning(call: Call) -> str:
    """What calls have in common that begin alike: the first picture, or the item where none is shown."""
    parts = (part for message in call.request.prompt.messages for part in message.parts)
    return next((part.image.sha256 for part in parts if isinstance(part, Picture)), f"item {call.item.id}")
