"""Items that leaked: some models have their answer from elsewhere than the language model they were built on."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from eyetest.errors import InputError
from eyetest.measures.stats.beliefs import exceeding
from eyetest.measures.stats.intervals import Ints
from eyetest.measures.stats.knowledge import by_heart
from eyetest.records import Item, Stage, StoppingRule, Verdict
from eyetest.screens.base import TOO_FEW, USUAL_RATE, ScreenInput, choice_counts, different, kinds, stacked, summary
from eyetest.screens.hits import Count
from eyetest.wording import counted


class Leaks:
    """Drop what some models have by heart, at a stated rate of errors; every distractor is a decoy.

    Each option is scored as if it were the gold: how much speaks for some models having it by heart, and no language
    model. Where nothing leaked each distractor wins as often as the gold, so wrong winners tell how many right ones
    are luck. On a panel without language models whatever is known blind counts, wherever it is from.
    """

    name = "leaks"
    summary = "drop items that some models know blind and their language models do not, at a stated rate of errors"
    uses: ClassVar[frozenset[str]] = frozenset({"rate", "right", "min_answers", "then"})

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """Which item stands out depends on all the others: nothing can be left out."""
        return None

    def judge(self, case: ScreenInput) -> Iterator[Verdict]:
        """Count each item, then decide about all of them together."""
        panel = _Panel.of(case)
        heard = [_LeakCase.of(case, item, panel) for item in case.items]
        tested = [one for one in heard if one.item.choices and one.choices is not None and not one.hits.missing]
        leaked, doubtful, holders = _leaked(tested, panel, case.stage.rate or USUAL_RATE)
        for one in heard:
            name, told = one.item.id, one.hits.told
            if not one.item.choices:
                yield case.verdict(name, "keep", "nothing to choose from: there is no decoy", **told)
            elif one.hits.missing:
                yield case.verdict(name, "review", f"{counted(one.hits.missing, 'model')} missing", **told)
            elif one.choices is None:
                yield case.verdict(name, "review", "scores came without the option that was chosen", **told)
            else:
                verdict = (case.stage.then or "drop") if name in leaked else "keep"
                reason = f"{holders[name]} of {counted(len(panel.models), 'model')} probably know it by heart"
                if name in doubtful:
                    verdict, reason = "review", f"{reason}, but {TOO_FEW}"
                yield case.verdict(name, verdict, reason, **told | {"hits": holders[name]})


class _Panel(NamedTuple):
    """The seats of the models that are tried, and of the language models that others were built on."""

    models: tuple[int, ...]
    bases: tuple[int, ...]

    @classmethod
    def of(cls, case: ScreenInput) -> "_Panel":
        built_on = {seat.base for seat in case.seats}
        models = tuple(number for number, seat in enumerate(case.seats) if seat.model not in built_on)
        if not models:
            raise InputError(f"the stage {case.stage.title}: nobody is left on the panel beside language models")
        return cls(models, tuple(number for number in range(len(case.seats)) if number not in models))


class _LeakCase(NamedTuple):
    """What the panel said about one item."""

    item: Item
    hits: Count
    choices: Ints | None
    """How often each seat chose each option; None where wrong answers do not say which option they took."""

    @classmethod
    def of(cls, case: ScreenInput, item: Item, panel: _Panel) -> "_LeakCase":
        heard = different(case.evidence.of(item.id))
        right = [[said.is_right(case.stage.right) for said in row] for row in heard]
        hits = [sum(hit is True for hit in row) for row in right]
        judged = [sum(hit is not None for hit in row) for row in right]
        there = sum(judged[number] > 0 for number in panel.models)
        enough = case.stage.min_answers is not None and there >= case.stage.min_answers
        every = [said for row in heard for said in row]
        told = summary(case.evidence.seats, hits, judged, not_plain=kinds(every))
        requests = tuple(said.request for said in every)
        missing = 0 if enough else judged.count(0)
        choices = choice_counts(item, heard, right) if item.choices else None
        return cls(item, Count(None, 0, there, missing, requests, told), choices)


def _leaked(tested: Sequence[_LeakCase], panel: _Panel, rate: float) -> tuple[set[str], set[str], dict[str, int]]:
    """Items that go; those that only seem to have leaked; and for every item how many models have its gold by heart.

    A likelihood ratio is above 1/x in at most x of all cases where nobody knows anything, so one above items/rate is
    plain by itself, if the panel's tastes are as they seem: people look at those of which there are too few.
    """
    if not tested:
        return set(), set(), {}
    counts, golds, options = stacked([(one.item, one.choices) for one in tested if one.choices is not None])
    seen = by_heart(counts[:, list(panel.models)], counts[:, list(panel.bases)], options)
    best = seen.favoured.option
    right = golds[np.arange(len(tested)), best] & (best >= 0)
    by_lot = golds.sum(axis=1) / options
    gone = exceeding(seen.favoured, right, by_lot, rate)
    plain = seen.favoured.strength >= np.log(len(tested) / rate)
    likely = exceeding(seen.favoured, right, by_lot, rate, benefit=0.0) & plain & ~gone
    holders = (seen.holders * golds).sum(axis=1)
    names = np.array([one.item.id for one in tested])
    return (
        {*names[gone].tolist()},
        {*names[likely].tolist()},
        dict(zip(names.tolist(), holders.tolist(), strict=True)),
    )


SCREENS = (Leaks(),)
