"""Who beats whom, item by item: the share of items on which one model has the higher score."""

from typing import ClassVar

import numpy as np
import polars as pl

from eyetest.measures.aligned import side_by_side
from eyetest.measures.compare import pairs_of
from eyetest.measures.results import Measure, Measured, NotMeasurable, Own, Results, Settings, table_of
from eyetest.measures.stats.intervals import mean


class WinRates(Measure):
    """Pairs of models under one protocol, on the items that both answered."""

    name = "win-rates"
    summary = "each pair of models item by item: how often one is better, how often they tie, with intervals"
    own: ClassVar[Own] = {
        "models": ("", "compare only these models: A,B"),
        "against": ("", "compare every model with this one"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a pair: ``wins`` of a over b, ``losses`` and ``ties`` make 1; in a tie both are right, or wrong."""
        families = results.families(settings.by)
        parts = side_by_side(results, families)
        wanted = pairs_of(sorted({model for part in parts for (model,) in part.columns}), settings.own)
        rows = []
        for part in parts:
            column = {model: part.scores[:, at] for at, (model,) in enumerate(part.columns)}
            for a, b in wanted:
                if a not in column or b not in column:
                    continue
                ahead = column[a] - column[b]
                both = ~np.isnan(ahead)
                shared, clusters = ahead[both], part.clusters[both]
                if len(shared):
                    row = {**part.key, "a": a, "b": b}
                    for name, share in (("wins", shared > 0), ("losses", shared < 0), ("ties", shared == 0)):
                        row |= mean(share, clusters, settings.level).named(name)
                    rows.append(row | {"n": len(shared), "clusters": len(np.unique(clusters))})
        if not rows:
            raise NotMeasurable(
                "win-rates: no two models answered the same items under one protocol; ask another one"
            )
        return Measured(table_of(rows, **dict.fromkeys(families, pl.String)))


MEASURES = (WinRates(),)
