"""Ordinary code waits for asynchronous work, also where an event loop is running already, as in every notebook."""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

_HEARERS: dict[asyncio.AbstractEventLoop, Callable[[], None]] = {}
"""What to call, in a loop of its own thread, when somebody presses Ctrl-C."""


def wait_for(work: Coroutine[Any, Any, None]) -> None:
    """Carry work out to its end.

    A loop that is running cannot wait for another in its own thread, so the work gets a thread. Ctrl-C is heard by
    the main thread alone, which hands every press on and goes on waiting, so that nothing is torn off.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    loop = asyncio.new_event_loop()

    def carry_out() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(work)

    with _handing_on(loop), ThreadPoolExecutor(1, "asking") as thread:
        thread.submit(carry_out).result()


@contextmanager
def hearing(pressed: Callable[[], None]) -> Iterator[None]:
    """Let whoever waits for the running loop call this when Ctrl-C is pressed."""
    loop = asyncio.get_running_loop()
    _HEARERS[loop] = pressed
    try:
        yield
    finally:
        del _HEARERS[loop]


@contextmanager
def _handing_on(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def hand_on(*_: object) -> None:
        if loop in _HEARERS:
            loop.call_soon_threadsafe(_HEARERS[loop])

    before = signal.signal(signal.SIGINT, hand_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
