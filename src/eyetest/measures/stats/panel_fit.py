"""What a panel's answers say of its models: how skilled each is at which task, how items differ, how guesses crowd.

Learnt from items as far as their golds are believed: expectation and maximisation in turn, with the doubt of each
item renewed now and then. Skills at a task lean on the model's skill elsewhere and on how hard the task is for all,
the less the more items it has; so do the spread of its items and the crowding of its guesses.
"""

from collections.abc import Iterator

import numpy as np

from eyetest.measures.stats.intervals import Floats, Ints
from eyetest.measures.stats.item_states import (
    READY_TO_DOUBT,
    explanations,
    learnt_shares,
    posterior,
)
from eyetest.measures.stats.kinship import voices
from eyetest.measures.stats.knowing import (
    CROWDING,
    HARDNESS,
    CellNodes,
    Choices,
    PanelFit,
    cell_groups,
    cell_nodes,
    node_logs,
    node_prior,
)

_ROUNDS, _DOUBT_EVERY, _READY = 36, 6, 2
"""The first doubts are quick ones (`READY_TO_DOUBT`), later ones as the benchmark's own shares have it. Where tasks
are not known all are, or hard tasks would pass for flawed ones."""
_USUAL_CROWDING: Floats = np.array([0.25, 0.35, 0.4])
"""How often guesses crowd how much, where nobody can tell: at two options it looks like knowing."""
_OWN_ITEMS = 10.0
"""With so many items a task speaks for itself as loudly as all others do for it."""
_SKILL_SPREAD = 3.0
_LEAST_SPREAD, _MOST_SPREAD = 0.2, 4.0
_STEADY = 0.05
"""Information that is added to each skill, so that no step leaps."""


def learn(chosen: Ints, number: Ints, gold: Ints, cells: Ints) -> PanelFit:
    """Skills, and how items differ. ``cells``: items × options, the cell of an item if that option is right."""
    fit = _Fitting(chosen, number, gold, cells)
    for turn in range(_ROUNDS):
        if turn and turn % _DOUBT_EVERY == 0:
            fit.doubt(ready=turn <= _READY * _DOUBT_EVERY)
        fit.step()
    return fit.panel


class _Fitting:
    def __init__(self, chosen: Ints, number: Ints, gold: Ints, cells: Ints) -> None:
        self._asked = chosen, number, gold, cells
        models, count = chosen.shape[1], int(cells.max(initial=0)) + 1
        crowding = np.tile(_USUAL_CROWDING, (count, 1))
        self.panel = PanelFit(np.zeros((count, models)), np.ones(count), crowding, np.ones(models))
        self._own_cells = cells[np.arange(len(gold)), gold]
        self._sound = np.ones(len(gold))
        self._of_tasks, self._apart, self._ease = 2.0, 0.7, np.zeros(count)
        self._hear(self.panel.voices)

    def _hear(self, voices: Floats) -> None:
        chosen, number, gold, _ = self._asked
        self.panel = self.panel._replace(voices=voices)
        self._choices = Choices(chosen, number, voices, int(number.max(initial=1)))
        self._hits = self._choices.hits(gold)
        wrong = self._choices.open.copy()
        wrong[np.arange(len(gold)), gold] = False
        self._scattered = self._choices.scattered(wrong)

    def doubt(self, *, ready: bool) -> None:
        """Believe each gold as far as the choices allow, and each model as far as it speaks for itself."""
        chosen, number, gold, cells = self._asked
        told = explanations(chosen, number, gold, cells, self.panel)
        shares = READY_TO_DOUBT if ready and len(self.panel.spreads) > 1 else learnt_shares(told, number, gold)
        self._sound = posterior(told, number, gold, shares)[:, 0]
        self._hear(voices(self._surprises()))

    def _surprises(self) -> Floats:
        """Items × models: right answers less what skill and the item's hardness let one expect."""
        chosen, _, gold, _ = self._asked
        expected = np.zeros(chosen.shape)
        for _, some, nodes, likely in self._weighed():
            expected[some] = likely @ np.exp(nodes.log_hit).T
        return np.asarray(np.where(chosen >= 0, (chosen == gold[:, None]) - expected, 0.0) * self._sound[:, None])

    def _weighed(self) -> Iterator[tuple[tuple[int, int], Ints, CellNodes, Floats]]:
        """By cell and number of options: the items, and how likely each node is for each of them."""
        panel, choices = self.panel, self._choices
        for cell, options, some in cell_groups(self._own_cells, choices.number, np.arange(len(self._sound))):
            nodes, prior = cell_nodes(panel, cell, options), node_prior(panel, cell, options)
            logs = node_logs(nodes, self._hits[some], choices.read[some], self._scattered[some], prior)
            likely = np.exp(logs - logs.max(axis=1, keepdims=True))
            yield (cell, options), some, nodes, likely / likely.sum(axis=1, keepdims=True)

    def step(self) -> None:
        """One round of expectation and maximisation."""
        panel, choices, count = self.panel, self._choices, len(self.panel.spreads)
        pull, information = np.zeros_like(panel.skills), np.zeros_like(panel.skills)
        hardness, crowds = np.zeros(count), np.zeros((count, len(CROWDING)))
        for (cell, options), some, nodes, shares in self._weighed():
            likely = shares * self._sound[some][:, None]
            tried, hit = choices.read[some].T @ likely, self._hits[some].T @ likely
            pull[cell] += (hit * nodes.known_if_hit - tried * nodes.known).sum(axis=1)
            information[cell] += (tried * nodes.known * (1 - nodes.known)).sum(axis=1)
            shaped = likely.sum(axis=0).reshape(len(HARDNESS), len(CROWDING), -1).sum(axis=2)
            hardness[cell] += shaped.sum(axis=1) @ HARDNESS**2
            if options > 2:
                crowds[cell] += shaped.sum(axis=0)
        self.panel = panel._replace(
            skills=self._skilled(panel.skills, pull, information + _STEADY),
            spreads=self._spread(panel.spreads**2 * hardness),
            crowding=_crowding(crowds),
        )

    def _skilled(self, skills: Floats, pull: Floats, information: Floats) -> Floats:
        """A model's skill at a task, between what its answers there say and what all others lead one to expect."""
        told = skills + np.clip(pull / information, -1.5, 1.5)
        if len(skills) == 1:
            return np.asarray(told * information / (information + _SKILL_SPREAD**-2))
        for _ in range(3):
            weight = 1 / (1 / information + self._apart**2)
            able = ((told - self._ease[:, None]) * weight).sum(0) / (weight.sum(0) + _SKILL_SPREAD**-2)
            certain = weight.sum(1) + self._of_tasks**-2
            self._ease = ((told - able) * weight).sum(1) / certain
        expected, own = able + self._ease[:, None], information + self._apart**-2
        found = (told * information + expected * self._apart**-2) / own
        self._apart = _root_mean((found - expected) ** 2 + 1 / own)
        self._of_tasks = _root_mean(self._ease**2 + 1 / certain)
        return np.asarray(found)

    def _spread(self, squares: Floats) -> Floats:
        """How much items of a task differ, between what they and what all items say."""
        items = np.bincount(self._own_cells, self._sound, minlength=len(squares))
        overall = squares.sum() / max(items.sum(), 1.0)
        own = _OWN_ITEMS if len(squares) > 1 else 0.0
        found = (squares + own * overall) / np.maximum(items + own, _STEADY)
        return np.asarray(np.clip(np.sqrt(found), _LEAST_SPREAD, _MOST_SPREAD))


def _crowding(crowds: Floats) -> Floats:
    usual = crowds.sum(axis=0) + _OWN_ITEMS * _USUAL_CROWDING
    usual = usual / usual.sum()
    found = crowds + _OWN_ITEMS * usual
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _root_mean(squares: Floats) -> float:
    return float(np.clip(np.sqrt(squares.mean()), _LEAST_SPREAD, _MOST_SPREAD))
