"""What has happened so far in a run: numbers that a display may look at whenever it likes."""

from collections import Counter
from collections.abc import Callable
from time import monotonic

from eyetest.models import CallError
from eyetest.records import Response


class Progress:
    """Counts of one session of a run. Nobody waits for whoever looks."""

    def __init__(self, looks_refused: Callable[[str], bool] | None = None) -> None:
        self.to_ask = 0
        """Calls that this session is to make."""
        self.stored = 0
        """Requests that were answered before it began."""
        self.outcomes: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()
        self.refused = 0
        self.saved = 0
        """Calls that were not needed, because no verdict could change any more."""
        self.in_flight: dict[str, int] = {}
        self.tokens_in = self.tokens_out = 0
        self.money = 0.0
        self.abandoned: dict[str, str] = {}
        """Models that are not asked any more, and why."""
        self.waiting: dict[str, str] = {}
        """Models that are away and waited for, and what was heard of them last."""
        self.stopped = ""
        """Why the session ended before everything was asked."""
        self.last_error = ""
        """What the server said last when an attempt failed."""
        self._looks_refused = looks_refused
        self._began = monotonic()
        self._recent: list[tuple[float, int]] = []

    def answered(self, response: Response, money: float) -> None:
        """A call is over."""
        self.outcomes[response.outcome] += 1
        if response.outcome == "failed":
            self.failures[response.error] += 1
        elif self._looks_refused and response.text and self._looks_refused(response.text):
            self.refused += 1
        self.tokens_in += response.tokens_in or 0
        self.tokens_out += response.tokens_out or 0
        self.money += money

    def retried(self, error: CallError) -> None:
        """An attempt failed and will be made again."""
        self.retries[error.kind] += 1
        self.last_error = str(error)

    @property
    def done(self) -> int:
        """Calls that are over."""
        return self.outcomes.total()

    @property
    def left(self) -> int:
        """Calls that are still to be made."""
        return max(0, self.to_ask - self.done - self.saved)

    @property
    def seconds(self) -> float:
        """How long the session has been running."""
        return monotonic() - self._began

    def rate(self) -> float:
        """Calls a second over the last half minute."""
        now = monotonic()
        self._recent = [*(entry for entry in self._recent if now - entry[0] < 30), (now, self.done)]
        (then, before), (_, after) = self._recent[0], self._recent[-1]
        return (after - before) / (now - then) if now - then > 0.2 else self.done / max(self.seconds, 1e-9)
