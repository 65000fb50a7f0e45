"""What has to be said of some results whatever is measured: who has no score, and which scores do not mix."""

import polars as pl

from eyetest.errors import param
from eyetest.measures.overall import CAPTION_METRICS
from eyetest.measures.results import Results
from eyetest.records import GIVEN
from eyetest.wording import counted, listed

_UNREAD = ("refused", "ambiguous", "unparsed")


def caveats(results: Results) -> tuple[str, ...]:
    """Plain sentences: models without any score, scores that others gave, captions among other scores."""
    found = score_counts(results.scores)
    scored = found.filter(pl.col("score") > 0)
    silent = sorted({*found.get_column("model")} - {*scored.get_column("model")})
    metrics = sorted({*scored.get_column("metric")})
    notes = [*results.notes]
    if silent:
        notes.append(f"{counted(len(silent), 'model')} without any score: {listed(silent)}")
    notes += scored_by_others(found)
    if len(metrics) > 1 and any(metric.startswith(CAPTION_METRICS) for metric in metrics):
        notes.append(
            f"scores on different scales are together here ({listed(metrics)}); "
            f"{param('where', 'metric=…')} keeps to one"
        )
    return tuple(notes)


def score_counts(scores: pl.LazyFrame) -> pl.DataFrame:
    """By model and metric: how many scores, how many of them of answers that chose nothing, and above 0 of those."""
    unread = pl.col("reading").cast(pl.String).is_in(_UNREAD)
    return (
        scores.group_by(pl.col("model", "metric").cast(pl.String))
        .agg(
            pl.col("score").count(),
            (unread & pl.col("score").is_not_null()).sum().alias("unread"),
            (unread & (pl.col("score") > 0)).sum().alias("unread_right"),
        )
        .sort("model", "metric")
        .collect(engine="streaming")
    )


def scored_by_others(counts: pl.DataFrame) -> list[str]:
    """What has to be said where some of these scores came with the answers; ``counts`` as `score_counts` has them."""
    is_given = (pl.col("metric") == GIVEN) & (pl.col("score") > 0)
    theirs, ours = counts.filter(is_given), counts.filter(~is_given)
    given, own = int(theirs.get_column("score").sum()), int(ours.get_column("score").sum())
    if not given:
        return []
    if not own:
        notes = [f"all {given:,} answers were scored by others, whose scores stand as given; none by our rules"]
    else:
        models = sorted({*theirs.get_column("model")})
        notes = [
            f"{given:,} of {given + own:,} answers were scored by others ({listed(models)}), whose scores stand as "
            f"given; the other {own:,} by our rules, which may count differently "
            f"({param('where', 'metric=…')} keeps to one)"
        ]
    right, unread = (int(theirs.get_column(name).sum()) for name in ("unread_right", "unread"))
    if right:
        notes.append(
            f"{right:,} of the {unread:,} refused, ambiguous or unreadable answers that others scored have "
            "more than 0"
        )
    return notes
