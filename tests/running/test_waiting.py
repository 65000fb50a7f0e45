"""Work is waited for the same way with an event loop running and without."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from eyetest.running.limits import INTERRUPTED, Progress, stopping_on_ctrl_c, wait_for


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
