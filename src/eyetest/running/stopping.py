"""Which calls are still worth making: about an item under a stopping rule, or at all once a model leads for certain.

Calls go out in waves as small as can decide anything: a wave never holds a call that asking one at a time, in the
same order, would have saved. What is asked next depends only on what the earlier calls said, never on when.
"""

from collections.abc import Iterator, Mapping, Sequence

from eyetest.errors import InputError, heading, nearest, short
from eyetest.measures.stats.sequential import SequentialLead
from eyetest.models import Call
from eyetest.records import StoppingRule, Tally
from eyetest.wording import counted


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


class LeadStop:
    """Items are put to two models in an order drawn by lot, until one leads on the whole benchmark for certain."""

    def __init__(self, words: str, models: Sequence[str], items: int) -> None:
        """``words``: the two models, as ``A>B``."""
        names = [name.strip() for name in words.split(">")]
        if len(names) != 2 or names[0] == names[1]:
            raise InputError(f"{heading('until')}: found {short(words)}, expected two models, as A>B")
        for name in names:
            if name not in models:
                raise InputError(f"{heading('until')}: no model {short(name)} in this run; {nearest(name, models)}")
        if len(models) > 2:
            raise InputError(f"{heading('until')}: two models race, and {len(models)} are asked")
        self.words, self._names = words, (names[0], names[1])
        self._lead, self._unknown = SequentialLead(items), 0

    def heard(self, hits: Mapping[str, bool | None]) -> None:
        """What came of the next item. Where one of both has no score, they are level on it."""
        one, other = (hits.get(name) for name in self._names)
        is_known = one is not None and other is not None
        self._unknown += not is_known
        self._lead.hear(float(bool(one)) - float(bool(other)) if is_known else 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the next item could not change anything."""
        return bool(self._lead.leader) or self._lead.heard == self._lead.items

    @property
    def told(self) -> str:
        """Who leads, by how much, and how many items that took."""
        lead, (first, second) = self._lead, self._names
        low, high = lead.bounds
        if lead.leader < 0:
            first, second, low, high = second, first, -high, -low
        of_all = f"{lead.heard:,} of {counted(lead.items, 'item')}"
        between = f"between {_points(low)} and {_points(high)} points"
        told = f"after {of_all} nobody leads for certain: {first} is {between} ahead of {second}"
        if lead.leader:
            told = f"{first} leads {second} on the whole benchmark, by {between}, which {of_all} made certain at 95 %"
        if lead.heard == lead.items:
            on_all = f"on all {counted(lead.items, 'item')}"
            told = f"{first} and {second} are level {on_all}"
            if lead.leader:
                told = f"{first} leads {second} by {_points(low)} points {on_all}"
        return told + (
            f"; on {self._unknown:,} that one of both has no score on, they count as level" if self._unknown else ""
        )


def _points(share: float) -> str:
    return f"{100 * share:.1f}".replace("-", "−")
