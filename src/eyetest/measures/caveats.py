"""What has to be said of some results whatever is measured: who has no score, and which scores do not mix."""

import polars as pl

from eyetest.measures.overall import CAPTION_METRICS
from eyetest.measures.results import Results
from eyetest.wording import counted, listed


def caveats(results: Results) -> tuple[str, ...]:
    """Models that no table will show, because none of their answers has a score; captions among other scores."""
    found = (
        results.scores.group_by(pl.col("model", "metric").cast(pl.String))
        .agg(pl.col("score").count())
        .sort("model", "metric")
        .collect(engine="streaming")
    )
    scored = found.filter(pl.col("score") > 0)
    silent = sorted({*found.get_column("model")} - {*scored.get_column("model")})
    metrics = sorted({*scored.get_column("metric")})
    notes = [*results.notes]
    if silent:
        notes.append(f"{counted(len(silent), 'model')} without any score: {listed(silent)}")
    if len(metrics) > 1 and any(metric.startswith(CAPTION_METRICS) for metric in metrics):
        notes.append(
            f"scores on different scales are together here ({listed(metrics)}); --where metric=… keeps to one"
        )
    return tuple(notes)
