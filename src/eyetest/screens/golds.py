"""Items whose gold may be wrong: models that know agree on another option. For people to look at, not to drop."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from eyetest.errors import InputError
from eyetest.measures.stats.consensus import recurring, suspicion
from eyetest.records import Item, Stage, StoppingRule, Verdict, letter
from eyetest.screens.base import Case
from eyetest.screens.evidence import Said

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class WrongGold:
    """The consensus ratio: how much likelier the panel's answers are if another option were right."""

    name = "wrong-gold"
    summary = "send items to people whose gold the panel's answers speak against"
    uses: ClassVar[frozenset[str]] = frozenset({"keep", "then"})

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """Every answer is evidence."""
        if set(stage.keep) != {"ratio"}:
            raise InputError(f"the stage {stage.title}: keep has to say from which ratio on a gold is doubted")
        return None

    def judge(self, case: Case) -> Iterator[Verdict]:
        """Weigh the options of each item by what the panel chose."""
        doubtful = [item for item in case.items if item.gold and len(item.choices) > 1]
        choices = np.array([_choices(case, item) for item in doubtful] or np.empty((0, 1)), np.int64)
        options = np.array([len(item.choices) for item in doubtful], np.int64)
        golds = np.array([item.gold[0] for item in doubtful], np.int64)
        kinds = recurring([[choice.text for choice in item.choices] for item in doubtful])
        found = suspicion(choices, options, golds, kinds)
        ratios = {item.id: place for place, item in enumerate(doubtful)}
        for item in case.items:
            place = ratios.get(item.id)
            if place is None:
                yield case.verdict(item.id, "keep", "not a choice with a gold")
                continue
            ratio, read = float(found.ratios[place]), int((choices[place] >= 0).sum())
            heard = tuple(said.request for row in case.evidence.of(item.id) for said in row if said is not None)
            told = f"{letter(int(found.rivals[place]))} instead of {letter(item.gold[0])}: log ratio {ratio:.2f}"
            keep = case.stage.keep["ratio"].holds(ratio) or not math.isfinite(ratio)
            verdict = "keep" if keep else case.stage.then or "review"
            yield case.verdict(item.id, verdict, told, n=read, responses=heard)


def _choices(case: Case, item: Item) -> list[int]:
    """The place that each seat chose most; −1 where none was read or two lead. Of several golds, one is as good.

    A seat has one voice: asked ten times, a model that errs errs ten times.
    """
    return [_favourite(item, row) for row in case.evidence.of(item.id)]


def _favourite(item: Item, answers: Sequence[Said | None]) -> int:
    places = [_ALPHABET.index(said.choice) for said in answers if said is not None and said.choice]
    votes = Counter(item.gold[0] if place in item.gold else place for place in places)
    leading = [place for place, count in votes.items() if count == max(votes.values())]
    return leading[0] if len(leading) == 1 else -1


SCREENS = (WrongGold(),)
