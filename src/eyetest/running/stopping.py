"""Which calls about an item are still worth making, under a stopping rule.

Calls go out in waves as small as can decide anything: a wave never holds a call that asking one at a time, in the
same order, would have saved. What is asked next depends only on what the earlier calls said, never on when.
"""

from collections.abc import Iterator, Sequence

from eyetest.models import Call
from eyetest.records import StoppingRule, Tally


class Waves:
    """What to ask next of an item, by the place of the model and of its trial."""

    def __init__(self, rule: StoppingRule, trials: Sequence[int]) -> None:
        """``trials``: how many each model has, in the order in which models are asked."""
        self._rule, self._trials = rule, trials
        self.heard: list[list[bool | None]] = [[] for _ in trials]
        """What each model's calls brought so far: a hit, a miss, or nothing (None)."""

    @property
    def verdict(self) -> bool | None:
        """Whether the item falls under the rule; None while that is open."""
        return self._rule.verdict(self.tallies)

    def wave(self) -> list[tuple[int, int]]:
        """The calls to make next, all at once; none when the verdict is settled or nobody is left to ask."""
        tallies = self.tallies
        if self._rule.verdict(tallies) is not None:
            return []
        wave: list[tuple[int, int]] = []
        models_left = max(1, self._rule.decisions_needed(tallies))
        for model, (trials, heard, tally) in enumerate(zip(self._trials, self.heard, tallies, strict=True)):
            if self._rule.model_answers(tally) is None and len(heard) < trials and models_left:
                needed = max(1, self._rule.trials_needed(tally))
                wave += [(model, trial) for trial in range(len(heard), min(len(heard) + needed, trials))]
                models_left -= 1
        return wave

    @property
    def tallies(self) -> list[Tally]:
        """What is known of each model so far."""
        tallies = []
        for heard in self.heard:
            known = [hit for hit in heard if hit is not None]
            tallies.append(Tally(hits=sum(known), unknown=self._rule.trials - len(known)))
        return tallies


class ItemPanel:
    """The calls about one item, by model in the order in which models are asked."""

    def __init__(self, rule: StoppingRule, calls: Sequence[Sequence[Call]]) -> None:
        self._calls = calls
        self._waves = Waves(rule, [len(of_model) for of_model in calls])

    @property
    def verdict(self) -> bool | None:
        """Whether the item falls under the rule; None while that is open."""
        return self._waves.verdict

    def unsent(self) -> Iterator[Call]:
        """Calls that were not made."""
        for calls, heard in zip(self._calls, self._waves.heard, strict=True):
            yield from calls[len(heard) :]

    def wave(self) -> list[Call]:
        """The calls to make next, all at once; none when the verdict is settled or nobody is left to ask."""
        return [self._calls[model][trial] for model, trial in self._waves.wave()]

    def heard(self, call: Call, hit: bool | None) -> None:
        """What a call of the wave brought: a hit, a miss, or nothing (None). Calls are told in order."""
        index = next(i for i, calls in enumerate(self._calls) if calls and calls[0].asked.model == call.asked.model)
        self._waves.heard[index].append(hit)
