"""How many calls of a model are in flight: up while it goes well, down when the server says it is too much."""

import asyncio
from collections import deque
from types import TracebackType

_FIRST = 8
_CUT = 0.7


class Throttle:
    """A gate whose width adapts, between one call and ``most``.

    It starts narrow and widens by one with every success, which doubles it each round trip. When the server pushes
    back it narrows, once for all the calls that were in flight together, and from then on widens by about one a
    round. While the server has asked for a pause, nobody passes.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.width = float(min(_FIRST, most))
        self.active = 0
        self._starting = True
        self._last_cut = 0.0
        self._closed_until = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> float:
        """Wait for a place; gives the time of entry, which tells which calls flew together."""
        loop = asyncio.get_running_loop()
        while self.active + 1 > self.width or loop.time() < self._closed_until:
            waiter = loop.create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._wake()
                raise
        self.active += 1
        return loop.time()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.active -= 1
        self._wake()

    def went_well(self) -> None:
        """One more success."""
        self.width = min(float(self.most), self.width + (1.0 if self._starting else 1.0 / self.width))

    def pushed_back(self, entered: float, wait: float | None) -> None:
        """The server said that it is too much, perhaps for how long."""
        loop = asyncio.get_running_loop()
        if entered > self._last_cut:
            self._last_cut = loop.time()
            self._starting = False
            self.width = max(1.0, self.width * _CUT)
        if wait:
            self._closed_until = max(self._closed_until, loop.time() + wait)
            loop.call_at(self._closed_until + 0.001, self._wake)

    def let_all_pass(self) -> None:
        """Hold nobody back any more, because whoever waits is to be told to go home."""
        self.width, self._closed_until = float("inf"), 0.0
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def _wake(self) -> None:
        """Let in as many as there are places; each looks again for itself."""
        places = min(self.width, self.most) - self.active
        while places >= 1 and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                places -= 1
