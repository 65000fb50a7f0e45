"""Do models agree on another answer than the gold? How likely what they chose is if each option were the right one.

Counting wrong answers cannot tell a hard item from one whose gold is wrong. Where the gold is wrong, skilled models
meet on the same other option; where two are right they split between both; where none is they scatter. Weighed
against that, each learnt from the answers themselves: how skilled each model is at the task, how much harder than
usual the item may be, how guesses crowd anyway, which models err alike and so have one voice together, and, where the
same answers recur (yes and no), how readily each model gives each of them. A model that likes to say yes hardly
speaks against a "no"; its "no" speaks loudly against a "yes".
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from eyetest.measures.stats.intervals import Floats, Ints, one_thread
from eyetest.measures.stats.item_states import explanations, learnt_shares, posterior
from eyetest.measures.stats.panel_fit import learn

_LEAST = 1e-9
_ENOUGH_ITEMS = 4_000
"""More items than these, taken evenly from all, would not make skills known any better that matters."""
_OF_A_TASK = 5
"""Tasks with fewer items are learnt together."""


class Suspicion(NamedTuple):
    """By item: what speaks against its gold."""

    ratios: Floats
    """Log likelihood of the best rival less that of the gold."""
    rivals: Ints
    """Which option that is."""
    partners: Ints
    """The option that is likeliest right beside the gold, if two are."""
    states: Floats
    """Items × `STATES`: how likely each is."""

    @property
    def doubts(self) -> Floats:
        """Log odds that looking at the item changes something: above 0 it is rather flawed than sound."""
        sound = np.clip(self.states[:, 0], _LEAST, 1 - _LEAST)
        return np.asarray(np.log1p(-sound) - np.log(sound))


def suspicion(
    choices: ArrayLike,
    options: ArrayLike,
    golds: ArrayLike,
    kinds: ArrayLike | None = None,
    tasks: Sequence[str | None] | None = None,
) -> Suspicion:
    """What models' choices say of each item, for items of two options or more.

    ``choices`` has a row an item and a column a model: places of options from 0, negative where no answer was read,
    which says nothing. A model has one voice, however often it was asked. With no answers the ratio is 0. ``kinds``
    has a row an item and a column an option: which recurring answer it is (`recurring`), 0 for all others. ``tasks``:
    what each item is about, if that is known; models are skilled at one task and not at another.
    """
    chosen, number, gold = (np.asarray(values, np.int64) for values in (choices, options, golds))
    chosen = np.where(chosen < number[:, None], chosen, -1)
    some = slice(None, None, -(-len(gold) // _ENOUGH_ITEMS) or 1)
    cells = _cells(number, kinds, tasks, some)
    with one_thread():
        panel = learn(chosen[some], number[some], gold[some], cells[some])
        told = explanations(chosen, number, gold, cells, panel)
        states = posterior(told, number, gold, learnt_shares(told, number, gold))
    items, rivals = np.arange(len(gold)), told.alone.copy()
    rivals[items, gold] = -np.inf
    best = rivals.argmax(axis=1)
    return Suspicion(rivals[items, best] - told.alone[items, gold], best, told.beside.argmax(axis=1), states)


def _cells(number: Ints, kinds: ArrayLike | None, tasks: Sequence[str | None] | None, some: slice) -> Ints:
    """Items × options: where models are learnt apart if that option is right. 0 is for all that is rare."""
    kind = np.zeros((len(number), number.max(initial=1)), np.int64)
    if kinds is not None:
        given = np.asarray(kinds, np.int64)[:, : kind.shape[1]]
        kind[:, : given.shape[1]] = given
    if tasks is not None:
        often = [task for task, count in Counter(tasks[some]).items() if task and count >= _OF_A_TASK]
        places = {task: place for place, task in enumerate(sorted(often), start=1)}
        kind += (np.array([places.get(task or "", 0) for task in tasks], np.int64) * (kind.max(initial=0) + 1))[
            :, None
        ]
    learnt = np.unique(kind[some])  # what no item of these has is rare
    place = np.minimum(np.searchsorted(learnt, kind), len(learnt) - 1)
    return np.asarray(np.where(learnt[place] == kind, place, 0), np.int64)


def voice(choices: Iterable[int]) -> int | None:
    """The option that a model chose most often; None where none was read or two lead."""
    votes = Counter(choices)
    leading = [option for option, count in votes.items() if count == max(votes.values())]
    return leading[0] if len(leading) == 1 else None
