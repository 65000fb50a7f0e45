"""A report in a few sentences and figures to remember."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import polars as pl

from eyetest.measures import NotMeasurable, Results
from eyetest.measures.printed import caveats
from eyetest.pages.page import clip
from eyetest.probes.subject import percent
from eyetest.records import GIVEN
from eyetest.reports.material import NEARLY_ALL
from eyetest.reports.report import ALL_OPTIONS, Report
from eyetest.wording import counted, listed

_MOST_BENCHMARKS = 3


def verdict(report: Report) -> str:
    """The story in a few sentences."""
    items = len(report.material.results.items)
    if report.headline is None:
        asked = "no answer has a score" if report.material.is_answered else "nobody was asked yet"
        return f"{counted(items, 'item')}; {asked}."
    best = _best(report.headline)
    sentence = counted(report.headline.get_column("model").n_unique(), "model")
    sentence += f" on {counted(items, 'item')}" if items else ""
    sentence += f" of {counted(len(best), 'benchmark')}" if len(best) > 1 else ""
    sentence += f", asked as {usual(report)}" if len(report.asked) > len(best) else ""
    told_ = [f"{_who(report, where, row)} {_share(row, 'accuracy')}" for where, row in best]
    sentence += f": {'; '.join(told_[:_MOST_BENCHMARKS])}."
    mean = _mean_gain(report)
    if mean is None or mean["gain"] is None:
        return sentence
    models = _models_with(report, "gain")
    whom = "" if models < 2 else f" on average to the {models:,} models that were asked without it, too"
    return f"{sentence} Seeing the picture adds {_points(mean, 'gain')}{whom}."


def cautions(report: Report) -> list[str]:
    """What has to be known before any figure is believed: whose scores they are, and who has not answered all."""
    material = report.material
    if not material.is_answered:
        return []
    told = [f"{note}." for note in caveats(material.results)]
    if report.headline is not None and (lacking := report.headline.filter(pl.col("missing") > 0)).height:
        some, models = (table.get_column("model").n_unique() for table in (lacking, report.headline))
        most: int = lacking.select(pl.col("missing").max()).item()
        told.append(f"{some:,} of {counted(models, 'model')} did not answer all items: up to {most:,} are missing.")
    return told


def scored_by_others(results: Results) -> tuple[int, int]:
    """How many scores came with the answers, and how many there are."""
    given = (pl.col("rule").cast(pl.String) == GIVEN).fill_null(False) & pl.col("score").is_not_null()
    counts = results.scores.select(given.sum(), pl.col("score").count().alias("all"))
    theirs, every = counts.collect(engine="streaming").row(0)
    return theirs, every


def _who(report: Report, where: str, row: Mapping[str, Any]) -> str:
    """Where there is one model, it is not the best of any."""
    name = clip(row["model"], 60)
    return f"{name} scores{where}" if _alone(report) else f"the best{where}, {name}, scores"


def _alone(report: Report) -> bool:
    return report.headline is not None and report.headline.get_column("model").n_unique() < 2


def _best(head: pl.DataFrame) -> list[tuple[str, dict[str, Any]]]:
    """The best model, or that of each benchmark and where it is the best; who answered few items is no candidate."""
    if "benchmark" not in head.columns:
        return [("", head.filter(pl.col("n") >= NEARLY_ALL * pl.col("n").max()).row(0, named=True))]
    most = pl.col("n").max().over("benchmark")
    first = head.filter(pl.col("n") >= NEARLY_ALL * most).unique("benchmark", keep="first", maintain_order=True)
    return [(f" on {clip(row['benchmark'], 40)}", row) for row in first.iter_rows(named=True)]


def tiles(report: Report) -> list[tuple[str, str, str]]:
    """The figures to remember: a name, a value, its interval or whose it is."""
    if report.headline is None:
        return []
    best = _best(report.headline)
    word = "accuracy" if _alone(report) else "best accuracy"
    found = [
        (
            f"{word}{where}",
            f"{100 * row['accuracy']:.1f} %",
            f"{_bounds(row, 'accuracy')} {clip(row['model'], 40)}, {counted(row['n'], 'item')}",
        )
        for where, row in best[:_MOST_BENCHMARKS]
    ]
    mean = _mean_gain(report)
    for name in ("gain", "leakage"):
        if mean and mean[name] is not None:
            models = _models_with(report, name)
            word = f"mean {name}" if models > 1 else name
            of = f", {counted(models, 'model')}" if models > 1 else ""
            found.append((word, f"{100 * mean[name]:.1f}", f"points {_bounds(mean, name)}{of}, {_blind_by(report)}"))
    if len(best) == 1:
        found += [*_guessing_tile(best[0][1]), *_pairs_tile(report)]
    return [(name, figure, clip(unit, 90)) for name, figure, unit in found]


def _guessing_tile(row: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What guessing scores on the items of the best model; where some have no options, both on the others."""
    if row.get("guessing") is None:
        return
    if row.get("with_options") is None:
        of = f"on the same {counted(row['n'], 'item')}"
    else:
        best = f"{clip(row['model'], 40)} {percent(row['with_options'])} there"
        of = f"on {counted(row[ALL_OPTIONS], 'item')} with options; {best}"
    yield "guessing scores", percent(row["guessing"]), of


def _pairs_tile(report: Report) -> Iterator[tuple[str, str, str]]:
    with suppress(NotMeasurable):
        row = report.material.measured("spread").row(0, named=True)
        if row["separable"] is not None:
            of = f"{row['apart']:,} of {counted(row['pairs'], 'pair')} of models, all tested together (Holm)"
            yield "pairs told apart", percent(row["separable"]), of


def _models_with(report: Report, name: str) -> int:
    head = report.headline
    return 0 if head is None or name not in head.columns else head.drop_nulls(name).get_column("model").n_unique()


def _blind_by(report: Report) -> str:
    """In what way the models of the headline were asked without the picture."""
    assert report.headline is not None
    ways = report.headline.get_column("blind_by").drop_nulls().str.split(" ").list.first().unique(maintain_order=True)
    return f"asked {listed(ways)}"


def _mean_gain(report: Report) -> dict[str, Any] | None:
    """The gain measure's own average over the rows of the headline; where there is one only, that one."""
    try:
        table = report.material.measured("gain", scope="usual and blind")
    except NotMeasurable:
        return None
    return table.row(-1, named=True)


def _points(row: Mapping[str, Any], name: str) -> str:
    """A difference of shares, in points of a hundred."""
    return f"{100 * row[name]:.1f} points {_bounds(row, name)}".strip()


def _share(row: Mapping[str, Any], name: str) -> str:
    return f"{100 * row[name]:.1f} % {_bounds(row, name)}".strip()


def _bounds(row: Mapping[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "" if low is None or high is None else f"[{100 * low:.1f}, {100 * high:.1f}]"


def usual(report: Report) -> str:
    """How the questions were put of which most of a report speaks."""
    return "; ".join(report.material.usual_protocols)
