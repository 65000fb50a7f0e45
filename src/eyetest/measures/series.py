"""Series of scores side by side: each model under each protocol, as columns over the same items."""

from collections.abc import Collection, Sequence

import numpy as np

from eyetest.measures.results import PROTOCOL
from eyetest.measures.side_by_side import Floats, SideBySide
from eyetest.records import Condition

_USUAL = Condition()
Protocol = tuple[str, ...]
"""One value for each axis of `PROTOCOL`."""


class Series:
    """Scores by model and protocol, nan where there is none."""

    def __init__(self, scores: SideBySide) -> None:
        """From scores laid out across ``model`` and the protocol."""
        self.clusters = scores.clusters
        self._columns: dict[str, dict[Protocol, Floats]] = {}
        for place, (model, *protocol) in enumerate(scores.columns):
            self._columns.setdefault(str(model), {})[tuple(map(str, protocol))] = scores.scores[:, place]

    @property
    def models(self) -> list[str]:
        """Who answered."""
        return sorted(self._columns)

    def protocols(self, model: str, sights: Collection[str]) -> list[Protocol]:
        """The protocols with some sights under which a model answered."""
        return [protocol for protocol in self._columns.get(model, {}) if protocol[0] in sights]

    def column(self, model: str, protocol: Protocol | None) -> Floats:
        """One series; nan throughout where there is none."""
        if protocol is None:
            return np.full(len(self.clusters), np.nan)
        return self._columns[model][protocol]


def like(protocols: Sequence[Protocol], wanted: Protocol) -> list[Protocol]:
    """The protocols that differ in sight alone; or else those of the only other way of asking, to be named then."""
    same = [protocol for protocol in protocols if protocol[1:] == wanted[1:]]
    return same or (list(protocols) if len({protocol[1:] for protocol in protocols}) == 1 else [])


def told(protocol: Protocol | None) -> str | None:
    """A protocol in few words: its sight, its ask, and whatever else is not as usual."""
    if protocol is None:
        return None
    axes = zip(PROTOCOL, protocol, strict=True)
    return " ".join(value for axis, value in axes if axis in ("sight", "ask") or value != getattr(_USUAL, axis))
