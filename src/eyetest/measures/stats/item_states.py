"""What may be the matter with an item: its gold is right, another option is, two are, or none. Which is likeliest?

Each of these says something else of the choices: of a sound item whoever knows chooses the gold, of one with a wrong
gold another option, of one with two right options either of them; where nothing is right everybody guesses.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, logsumexp

from eyetest.measures.stats.intervals import Bools, Floats, Ints
from eyetest.measures.stats.knowing import Choices, PanelFit, cell_groups, cell_nodes, node_logs, node_prior

STATES = ("sound", "wrong gold", "two right", "none right")
USUAL_SHARES: Floats = np.array([0.94, 0.02, 0.02, 0.02])
"""How many items are in each state, before a panel has spoken."""
READY_TO_DOUBT: Floats = np.array([0.85, 0.05, 0.05, 0.05])
"""The same while skills are first learnt: a few flawed items must not pass for very hard ones."""
_STATED = 100.0
"""Items that these shares count for beside those of the benchmark."""
_LEAST_SOUND = 0.85
"""A panel that seems to find more flawed items than that shares beliefs."""
_ROUNDS = 60
_ITEMS_AT_ONCE = 5_000


class Explanations(NamedTuple):
    """Log likelihoods of what was chosen of each item."""

    alone: Floats
    """Items × options: if this option is right; −∞ beyond an item's options."""
    beside: Floats
    """Items × options: if this option is right beside the gold; −∞ for the gold."""
    nothing: Floats
    """By item: if none is right."""


def explanations(chosen: Ints, number: Ints, gold: Ints, cells: Ints, panel: PanelFit) -> Explanations:
    """How likely the choices are in each state. ``cells``: items × options, the cell if that option is right."""
    parts = [slice(start, start + _ITEMS_AT_ONCE) for start in range(0, max(len(gold), 1), _ITEMS_AT_ONCE)]
    width = int(number.max(initial=1))
    done = [_explained(Choices(chosen[p], number[p], panel.voices, width), gold[p], cells[p], panel) for p in parts]
    return Explanations(*(np.concatenate(values) for values in zip(*done, strict=True)))


def _explained(choices: Choices, gold: Ints, cells: Ints, panel: PanelFit) -> Explanations:
    items, of_gold = np.arange(len(gold)), cells[np.arange(len(gold)), gold]
    alone, beside = (np.full(choices.open.shape, -np.inf) for _ in range(2))
    for_gold, counts = choices.hits(gold), choices.counts
    for place in range(choices.open.shape[1]):
        rows = np.flatnonzero(choices.open[:, place])
        hits, others = choices.hits(np.array([place])), choices.open.copy()
        others[:, place] = False
        alone[rows, place] = _likelihood(choices, panel, (hits, others), cells[:, place], rows)
        others[items, gold] = False
        rows = rows[gold[rows] != place]
        either = _likelihood(choices, panel, (hits + for_gold, others), of_gold, rows, right=2)
        beside[rows, place] = either + betaln(counts[rows, place] + 1, counts[rows, gold[rows]] + 1)
    nothing = logsumexp(choices.scattered(choices.open) + np.log(panel.crowding[of_gold]), axis=1)
    return Explanations(alone, beside, np.asarray(nothing))


def _likelihood(
    choices: Choices, panel: PanelFit, split: tuple[Floats, Bools], cells: Ints, rows: Ints, right: int = 1
) -> Floats:
    """Of the choices of some items: by skill who hits, and the others by what attracts. ``split``: both of them."""
    hits, others = split
    scattered, logs = choices.scattered(others), np.zeros(len(cells))
    for cell, options, some in cell_groups(cells, choices.number, rows):
        nodes = cell_nodes(panel, cell, options, right)
        prior = node_prior(panel, cell, options, right)
        own = node_logs(nodes, hits[some], choices.read[some], scattered[some], prior)
        most = own.max(axis=1)
        logs[some] = np.log(np.exp(own - most[:, None]).sum(axis=1)) + most
    return logs[rows]


def posterior(told: Explanations, number: Ints, gold: Ints, shares: Floats) -> Floats:
    """Items × `STATES`: how likely each is, if so many items are in each."""
    items, among = np.arange(len(gold)), np.log(np.maximum(number - 1, 1))
    rivals = told.alone.copy()
    rivals[items, gold] = -np.inf
    by_state = (
        told.alone[items, gold],
        logsumexp(rivals, axis=1) - among,
        logsumexp(told.beside, axis=1) - among,
        told.nothing,
    )
    logs = np.stack(by_state, axis=1) + np.log(shares)
    return np.asarray(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))


def learnt_shares(told: Explanations, number: Ints, gold: Ints) -> Floats:
    """How many items are in each state, by what the panel chose and what is usual."""
    shares = USUAL_SHARES
    for _ in range(_ROUNDS):
        found = posterior(told, number, gold, shares).sum(axis=0) + _STATED * USUAL_SHARES
        flawed = min(1 - found[0] / found.sum(), 1 - _LEAST_SOUND)
        shares = np.array([1 - flawed, *(found[1:] / found[1:].sum() * flawed)])
    return shares
