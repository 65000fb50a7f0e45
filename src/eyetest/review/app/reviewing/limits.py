"""How often somebody may call, counted in memory: a restart forgives."""

import time
from collections.abc import Callable, Hashable
from threading import Lock

import msgspec

_MOST_KEPT = 10_000
"""Callers that are counted at once; what is over is forgotten, and tokens cannot be guessed in so few tries."""


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many calls are answered in a minute, and how many failed entries are borne in ten."""

    session: int = 1_200
    address: int = 600
    """Calls of nobody in particular, from one address."""
    failed_entries: int = 20
    log_lines: int = 100
    """Lines that one address may cause in the log."""


class CallCounter:
    """Counts calls by caller in windows of time."""

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._lock = Lock()
        self._counts: dict[Hashable, tuple[int, int]] = {}

    def count(self, caller: Hashable, more: int = 1) -> int:
        """How many calls there were in this window, with ``more`` that are counted now."""
        window = int(self._clock() / self._seconds)
        with self._lock:
            before, number = self._counts.get(caller, (window, 0))
            number = more + (number if before == window else 0)
            if len(self._counts) >= _MOST_KEPT:
                self._counts = {key: kept for key, kept in self._counts.items() if kept[0] == window}
            if len(self._counts) < _MOST_KEPT or caller in self._counts:
                self._counts[caller] = (window, number)
            return number
