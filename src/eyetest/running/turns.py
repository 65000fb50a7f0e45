"""A plan turn by turn: what waits for no answer, then each turn of the dialogues that models carry on themselves.

The plan of a turn is made when the answers to the turn before it are stored, from nothing but the run folder. So a
request of a later turn is known, kept and found again like any other, and a run that was killed goes on at its turn.
"""

from collections.abc import Callable
from functools import partial

from eyetest.records import Asked
from eyetest.running.dialogues import UNANSWERED
from eyetest.running.ledger import Estimate, Left
from eyetest.running.planning import GoneThrough, Plan, is_asked_again
from eyetest.runs import Run, RunWriter, StoredResponses
from eyetest.runs.folder import RecordedRequests
from eyetest.scoring import quoted

Write = Callable[[Asked, str], None]


class TurnByTurn:
    """Plans that are carried out one after the other; a single one where nobody goes on from own answers."""

    def __init__(self, plan: Plan, run: Run | None, *, retry_failed: bool) -> None:
        plan.recorded = run.recorded() if run else RecordedRequests()
        self.plans = plan.by_turn()
        self._run, self._retry_failed, self._dialogues = run, retry_failed, plan.dialogues
        self._estimates: list[Estimate] = []
        self._unheard: dict[str, dict[Asked, str]] = {}
        """By item: requests that were planned and on whose answers a later turn goes on."""

    @property
    def estimate(self) -> Estimate:
        """What all turns hold and take, as far as it is known."""
        total = Estimate()
        for estimate in self._estimates:
            total.add(estimate)
        return total

    @property
    def unanswered(self) -> int:
        """Turns that are not asked because an earlier one has no answer."""
        return sum(estimate.not_applicable[UNANSWERED] for estimate in self._estimates)

    def calls_from(self, number: int) -> int:
        """Calls to make in a turn and in those after it."""
        return sum(estimate.calls for estimate in self._estimates[number:])

    def plan_all(self, write: Write | None = None, known: GoneThrough | None = None) -> Left:
        """Plan every turn as far as it is known now; gives what is left of the first. ``known``: of a single one."""
        first: Left | None = None
        stored, before = (self._run.errors(), self._run.path) if self._run else (None, None)
        for plan in self.plans:
            estimate, left = plan.estimate(
                stored, retry_failed=self._retry_failed, before=before, write=self._noting(write), known=known
            )
            self._estimates.append(estimate)
            first = first or left
            self._hear(retry_failed=self._retry_failed)
        assert first is not None
        return first

    def plan_next(self, number: int, run: RunWriter) -> Left:
        """Plan a turn anew, now that those before it have been asked, and write down what is asked."""
        self._hear(retry_failed=False)
        with run.planning() as table:
            self._estimates[number], left = self.plans[number].estimate(
                run.errors(), retry_failed=self._retry_failed, write=self._noting(table.add)
            )
        return left

    def _noting(self, write: Write | None) -> Write | None:
        dialogues = self._dialogues
        if dialogues is None:
            return write

        def note(asked: Asked, request: str) -> None:
            if write:
                write(asked, request)
            if request and asked.history == "own" and dialogues.goes_on(asked.item):
                self._unheard.setdefault(asked.item, {})[asked] = request

        return note

    def _hear(self, *, retry_failed: bool) -> None:
        """Take what the run holds of the answers that are waited for; what is asked again says nothing yet."""
        if not self._unheard or self._run is None or self._dialogues is None:
            return
        stored = StoredResponses(self._run.path, partial(is_asked_again, retry_failed=retry_failed))
        plan = self.plans[0]
        for item in plan.taking(plan.benchmark.positions(self._unheard)):
            waiting = self._unheard[item.id]
            for asked, request in list(waiting.items()):
                if (response := stored.get(request)) is not None:
                    self._dialogues.said[asked] = quoted(item, asked.condition, response)
                    del waiting[asked]
        self._unheard = {name: waiting for name, waiting in self._unheard.items() if waiting}
