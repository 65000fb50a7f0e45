"""Whoever knows chooses what is right; whoever does not guesses, and guesses crowd. What choices are likely then.

A model knows the answer with P = σ(skill − spread · hardness). Else it guesses, and hits what is right by accident:
at two options every other time. But guesses are no coins: some options attract, for all models alike, and nobody
knows beforehand which. So the chance of an accident is itself unknown, and differs from item to item (a Dirichlet,
which leaves the others' shares untouched by that of one, so that both parts can be told apart exactly).
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln, log_expit, logsumexp, roots_jacobi

from eyetest.measures.stats.intervals import Bools, Floats, Ints

HARDNESS: Floats = np.linspace(-3.2, 3.2, 15)
"""How hard an item may be, in standard deviations."""
_USUAL_HARDNESS: Floats = -(HARDNESS**2) / 2 - logsumexp(-(HARDNESS**2) / 2)
CROWDING = (0.15, 1.0, 6.0)
"""Dirichlet parameters of guesses: at .15 nearly all fall on one option, at 6 they spread nearly evenly."""
_CHANCES = 3
"""Points at which the chance of guessing right is weighed, for each of these."""
_NEVER = 1e-6
_MOST_OPTIONS = 64


class PanelFit(NamedTuple):
    """What answers say of models and items. A cell is a task, a recurring answer, or both."""

    skills: Floats
    """Cells × models."""
    spreads: Floats
    """By cell, how much items differ."""
    crowding: Floats
    """Cells × `CROWDING`: on which share of the items guesses crowd so."""
    voices: Floats
    """By model: how much of what it says is its own; of eight copies each has an eighth."""


class CellNodes(NamedTuple):
    """Models × (hardness × crowding × chance of a lucky guess)."""

    known: Floats
    log_hit: Floats
    log_miss: Floats
    known_if_hit: Floats


class Choices:
    """Choices as they are weighed: items × models, and how often each of ``width`` options was taken."""

    def __init__(self, chosen: Ints, number: Ints, voices: Floats, width: int) -> None:
        self.chosen, self.number, self.voices = chosen, number, voices
        self.read = (chosen >= 0) * voices
        places = np.arange(width)
        self.open = places < number[:, None]
        self.counts = np.stack([(chosen == place) @ voices for place in places], axis=1)
        self._terms = np.stack([gammaln(self.counts + a) - gammaln(a) for a in CROWDING], axis=2)

    def hits(self, right: Ints) -> Floats:
        """Who chose this option of each item."""
        return np.asarray((self.chosen == right[:, None]) * self.voices)

    def scattered(self, among: Bools) -> Floats:
        """Items × crowding: log probability of the choices among these options, by options of unknown attraction."""
        total, size = (self.counts * among).sum(axis=1), among.sum(axis=1)
        each = (self._terms * among[:, :, None]).sum(axis=1)
        pulls = np.maximum(size[:, None] * np.array(CROWDING), _NEVER)
        logs = each + gammaln(pulls) - gammaln(pulls + total[:, None])
        return np.where(size[:, None] > 0, logs, 0.0)


def cell_groups(cells: Ints, number: Ints, rows: Ints) -> Iterator[tuple[int, int, Ints]]:
    """Items that share a cell and a number of options: the cell, the number, the rows."""
    keys = cells[rows] * _MOST_OPTIONS + number[rows]
    order = np.argsort(keys, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        if len(part):
            yield *map(int, divmod(keys[part[0]], _MOST_OPTIONS)), rows[part]  # type: ignore[misc]


def cell_nodes(panel: PanelFit, cell: int, options: int, right: int = 1) -> CellNodes:
    """What each model of a panel would do, for each hardness and each chance of a lucky guess."""
    logits = (panel.skills[cell][:, None] - panel.spreads[cell] * HARDNESS)[:, :, None]
    chance, known = _lucky(options, right)[0], expit(logits)
    hit = known + (1 - known) * chance
    parts = (np.broadcast_to(known, hit.shape), np.log(hit), log_expit(-logits) + np.log1p(-chance), known / hit)
    return CellNodes(*(part.reshape(len(logits), -1) for part in parts))


def node_logs(nodes: CellNodes, hits: Floats, read: Floats, scattered: Floats, prior: Floats) -> Floats:
    """Items × nodes: log probability of the choices together with the node. ``prior`` is `node_prior`."""
    logs = hits @ (nodes.log_hit - nodes.log_miss) + read @ nodes.log_miss + prior
    shaped = logs.reshape(len(hits), len(HARDNESS), len(CROWDING), -1)
    shaped += scattered[:, None, :, None]
    return np.asarray(logs)


def node_prior(panel: PanelFit, cell: int, options: int, right: int = 1) -> Floats:
    """How likely each node is before anything was chosen."""
    of_chance = np.log(panel.crowding[cell])[:, None] + _lucky(options, right)[1]
    return np.asarray((_USUAL_HARDNESS[:, None] + of_chance.ravel()).ravel())


@lru_cache(maxsize=256)
def _lucky(options: int, right: int) -> tuple[Floats, Floats]:
    """Chances that a guess hits what is right, by crowding, and their log weights (Gauss–Jacobi for Beta's)."""
    if options <= right:
        return np.full(len(CROWDING), 1 - _NEVER), np.zeros((len(CROWDING), 1))
    rules = [roots_jacobi(_CHANCES, (options - right) * a - 1, right * a - 1) for a in CROWDING]
    chances = np.clip(np.concatenate([(points + 1) / 2 for points, _ in rules]), _NEVER, 1 - _NEVER)
    return chances, np.log([weights / weights.sum() for _, weights in rules])
