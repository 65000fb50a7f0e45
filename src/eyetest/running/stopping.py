"""Which calls about an item are still worth making under a stopping rule.

Calls go out in waves as small as can decide anything: a wave never holds a call that asking one at a time, in the
same order, would have saved. What is asked next depends only on what the earlier calls said, never on when.
"""

from collections.abc import Iterator, Sequence

from eyetest.models import Call
from eyetest.records import StoppingRule, Tally


class Panel:
    """The calls about one item under one condition, by model in the order in which models are asked."""

    def __init__(self, rule: StoppingRule, calls: Sequence[Sequence[Call]]) -> None:
        self._rule, self._calls = rule, calls
        self._hits: list[list[bool | None]] = [[] for _ in calls]

    @property
    def verdict(self) -> bool | None:
        """Whether the item falls under the rule; None while that is open."""
        return self._rule.verdict(self._tallies())

    def unsent(self) -> Iterator[Call]:
        """Calls that were not made."""
        for calls, hits in zip(self._calls, self._hits, strict=True):
            yield from calls[len(hits) :]

    def wave(self) -> list[Call]:
        """The calls to make next, all at once; none when the verdict is settled or nobody is left to ask."""
        tallies = self._tallies()
        if self._rule.verdict(tallies) is not None:
            return []
        wave: list[Call] = []
        models_left = max(1, self._rule.decisions_needed(tallies))
        for calls, hits, tally in zip(self._calls, self._hits, tallies, strict=True):
            if self._rule.model_answers(tally) is None and len(hits) < len(calls) and models_left:
                needed = max(1, self._rule.trials_needed(tally))
                wave += calls[len(hits) : len(hits) + needed]
                models_left -= 1
        return wave

    def heard(self, call: Call, hit: bool | None) -> None:
        """What a call of the wave brought: a hit, a miss, or nothing (None). Calls are told in order."""
        place = next(i for i, calls in enumerate(self._calls) if calls and calls[0].asked.model == call.asked.model)
        self._hits[place].append(hit)

    def _tallies(self) -> list[Tally]:
        tallies = []
        for hits in self._hits:
            known = [hit for hit in hits if hit is not None]
            tallies.append(Tally(hits=sum(known), unknown=self._rule.trials - len(known)))
        return tallies
