"""How many calls are in flight, on a clock that the test turns; and work is waited for with a loop and without."""

import asyncio
import heapq
import os
import random
import signal
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.models import CallError
from eyetest.running.limits import INTERRUPTED, Limits, Progress, stopping_on_ctrl_c, wait_for
from eyetest.running.runner import Throttle


class Clockwork(asyncio.SelectorEventLoop):
    """A loop in which no time passes but that which somebody waits for."""

    now = 1_000.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        """Whenever nothing is left to do, it is at once as late as the next thing that is due."""
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            while self._scheduled and self._scheduled[0]._cancelled:  # type: ignore[attr-defined]
                heapq.heappop(self._scheduled)._scheduled = False  # type: ignore[attr-defined]
            if self._scheduled:  # type: ignore[attr-defined]
                self.now = max(self.now, self._scheduled[0]._when)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def on_a_clock(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def on_clockwork(*values: Any, **named: Any) -> None:
        with asyncio.Runner(loop_factory=Clockwork) as runner:
            runner.run(asyncio.wait_for(test(*values, **named), 1_000_000))

    return on_clockwork


class Server:
    """Takes ``room`` calls at once, each for a second, and pushes back the rest."""

    def __init__(self, throttle: Throttle, room: float = float("inf"), pause: float | None = None) -> None:
        self.throttle, self.room, self.pause = throttle, room, pause
        self.flying = self.peak = self.done = self.refused = 0
        self.entries: list[float] = []
        self.widths: list[float] = []

    async def call(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            async with self.throttle as entered:
                self.entries.append(loop.time())
                self.flying += 1
                self.peak = max(self.peak, self.flying)
                refused = self.flying > self.room
                await asyncio.sleep(0.1 if refused else 1)
                self.flying -= 1
                if not refused:
                    self.throttle.went_well()
                    self.widths.append(self.throttle.width)
                    self.done += 1
                    return
                self.refused += 1
                self.throttle.pushed_back(entered, self.pause)
            await asyncio.sleep(0.3)

    async def calls(self, number: int) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(number):
                tasks.create_task(self.call())


@on_a_clock
async def test_it_doubles_each_round_until_it_is_as_wide_as_allowed() -> None:
    server = Server(Throttle(64))
    began = asyncio.get_running_loop().time()
    await server.calls(1_000)
    rounds = [sum(1 for entry in server.entries if entry == began + second) for second in range(6)]
    assert rounds == [8, 16, 32, 64, 64, 64]
    assert server.peak == 64


@on_a_clock
async def test_one_push_narrows_it_once_for_all_that_flew_together() -> None:
    throttle, loop = Throttle(64), asyncio.get_running_loop()
    throttle.width = 40.0
    entered = []
    for _ in range(40):
        entered.append(await throttle.__aenter__())
    await asyncio.sleep(1)
    for time in entered:
        throttle.pushed_back(time, None)
    assert throttle.width == pytest.approx(28)
    throttle.pushed_back(loop.time() + 0.5, None)
    assert throttle.width == pytest.approx(19.6), "a call that came later says something new"


@on_a_clock
async def test_it_settles_near_what_the_server_takes_and_goes_up_when_the_server_does() -> None:
    server = Server(Throttle(64), room=20)
    await server.calls(2_000)
    late = server.widths[len(server.widths) // 2 :]
    assert min(late) >= 13
    assert max(late) <= 22
    assert server.refused < server.done / 10
    server.room = float("inf")
    await server.calls(4_000)
    assert server.throttle.width > 40


@on_a_clock
async def test_while_the_server_wants_a_pause_nobody_passes() -> None:
    throttle, loop = Throttle(4), asyncio.get_running_loop()
    async with throttle as entered:
        throttle.pushed_back(entered, 30.0)
        throttle.pushed_back(entered, 5.0)
    began, passed = loop.time(), []

    async def one() -> None:
        async with throttle:
            passed.append(loop.time() - began)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(10):
            tasks.create_task(one())
    assert len(passed) == 10
    assert min(passed) >= 30.0, "the longer pause counts"
    assert max(passed) < 31.0


@on_a_clock
async def test_whoever_is_cancelled_while_waiting_gives_the_place_on() -> None:
    throttle = Throttle(1)
    order: list[str] = []

    async def one(name: str) -> None:
        async with throttle:
            order.append(name)
            await asyncio.sleep(1)

    tasks = {name: asyncio.create_task(one(name)) for name in "abcd"}
    await asyncio.sleep(0.5)
    tasks["b"].cancel()
    await asyncio.sleep(0.5)
    tasks["c"].cancel()  # just as it is let in
    await asyncio.wait(tasks.values())
    assert order[0] == "a"
    assert order[-1] == "d"
    assert throttle.active == 0


@given(
    most=st.integers(1, 20), room=st.integers(1, 25), pause=st.none() | st.floats(0.01, 50), calls=st.integers(1, 60)
)
@on_a_clock
async def test_nobody_is_forgotten(most: int, room: int, pause: float | None, calls: int) -> None:
    server = Server(Throttle(most), room=room, pause=pause)
    await server.calls(calls)
    assert server.done == calls
    assert server.peak <= most
    assert server.throttle.active == 0


def test_waits_double_and_are_at_least_what_the_server_asked_for() -> None:
    limits, chance = Limits(backoff=0.5), random.Random(3)
    plain = CallError("server", "x", passing=True)
    for attempt in range(1, 30):
        most = min(60.0, 0.5 * 2 ** (attempt - 1))
        for _ in range(20):
            assert most / 2 <= limits.wait_before(attempt, plain, chance) <= most
    asked = CallError("rate-limit", "x", passing=True, wait=7.0)
    assert all(limits.wait_before(1, asked, chance) >= 7.0 for _ in range(50))
    assert len({limits.wait_before(3, asked, chance) for _ in range(20)}) == 20, "nobody comes back in step"


def outside(work: Coroutine[Any, Any, None]) -> None:
    wait_for(work)


def inside(work: Coroutine[Any, Any, None]) -> None:
    async def cell() -> None:
        wait_for(work)

    asyncio.run(cell())


both = pytest.mark.parametrize("wait", [outside, inside])


@both
def test_it_waits_to_the_end(wait: Callable[..., None]) -> None:
    done: list[int] = []

    async def work() -> None:
        await asyncio.sleep(0.01)
        done.append(1)

    wait(work())
    assert done == [1]


@both
def test_an_error_arrives_as_it_is(wait: Callable[..., None]) -> None:
    async def work() -> None:
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        wait(work())


def test_ctrl_c_stops_work_in_a_thread() -> None:
    progress, reasons = Progress(), list[str]()

    async def work() -> None:
        with stopping_on_ctrl_c(reasons.append, progress):
            while not reasons:
                os.kill(os.getpid(), signal.SIGINT)
                await asyncio.sleep(0.05)

    before = signal.getsignal(signal.SIGINT)
    inside(work())
    assert progress.stopped == INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is before
