"""A report in a few sentences and figures to remember."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import inf
from typing import Any

import polars as pl
from markupsafe import Markup

from eyetest.measures import NotMeasurable, Results
from eyetest.measures.printed import caveats
from eyetest.pages.page import clip
from eyetest.records import GIVEN
from eyetest.reports.material import NEARLY_ALL
from eyetest.reports.report import ALL_OPTIONS, Report
from eyetest.reports.report_items import Counts, ReportItems
from eyetest.wording import counted, listed, percent

_MOST_BENCHMARKS = 3
Tiles = Iterator[tuple[str, str, str]]
"""Names, values, and their intervals or whose they are."""


def verdict(report: Report, links: ReportItems | None = None) -> Markup:
    """The story in a few sentences."""
    items = len(report.material.results.items)
    count = (links or ReportItems(report.material)).count(items).counted("item")
    if report.headline is None:
        asked = "no answer has a score" if report.material.is_answered else "nobody was asked yet"
        return Markup("{}; {}.").format(count, asked)
    best, models = _best(report.headline), _models(report.headline)
    sentence = Markup(counted(models, "model"))  # noqa: S704 (a number and a word of ours)
    sentence += Markup(" on {}").format(count) if items else ""
    sentence += f" of {counted(len(best), 'benchmark')}" if len(best) > 1 else ""
    sentence += f", asked as {usual(report)}" if len(report.asked) > len(best) else ""
    told = []
    for where, row in best[:_MOST_BENCHMARKS]:
        name = clip(row["model"], 60)
        who = f"{name} scores{where}" if models < 2 else f"the best{where}, {name}, scores"
        told.append(f"{who} {100 * row['accuracy']:.1f} % {_bounds(row, 'accuracy')}".strip())
    sentence += f": {'; '.join(told)}."
    mean = _mean_gain(report)
    if mean is None or mean["gain"] is None:
        return sentence
    seen = _models(report.headline, "gain")
    whom = "" if seen < 2 else f" on average to the {seen:,} models that were asked without it, too"
    points = f"{100 * mean['gain']:.1f} points {_bounds(mean, 'gain')}".strip()
    return sentence + f" Seeing the picture adds {points}{whom}."


def cautions(report: Report) -> list[str]:
    """What has to be known before any figure is believed: whose scores they are, and who has not answered all."""
    material = report.material
    if not material.is_answered:
        return []
    told = [f"{note}." for note in caveats(material.results)]
    if report.headline is not None and (lacking := report.headline.filter(pl.col("missing") > 0)).height:
        most: int = lacking.select(pl.col("missing").max()).item()
        models = f"{_models(lacking):,} of {counted(_models(report.headline), 'model')}"
        told.append(f"{models} did not answer all items: up to {most:,} are missing.")
    return told


def scored_by_others(results: Results) -> tuple[int, int]:
    """How many scores came with the answers, and how many there are."""
    given = (pl.col("rule").cast(pl.String) == GIVEN).fill_null(False) & pl.col("score").is_not_null()
    counts = results.scores.select(given.sum(), pl.col("score").count().alias("all"))
    theirs, every = counts.collect(engine="streaming").row(0)
    return theirs, every


def headline_counts(report: Report, links: ReportItems) -> Counts:
    """Where the numbers of the headline lead that count items."""
    head = report.headline
    rows = [] if head is None else list(head.iter_rows(named=True))
    return {
        "n": [links.answered(row) for row in rows],
        "missing": [links.answered(row, "unscored", "missing") for row in rows],
    }


def tiles(report: Report, links: ReportItems | None = None) -> list[tuple[str, str, str]]:
    """The figures to remember."""
    if report.headline is None:
        return []
    return list(_tiles(report, report.headline, links or ReportItems(report.material)))


def _tiles(report: Report, head: pl.DataFrame, links: ReportItems) -> Tiles:
    best = _best(head)
    word = "accuracy" if _models(head) < 2 else "best accuracy"
    for where, row in best[:_MOST_BENCHMARKS]:
        of = _of("{} {}, {}", _bounds(row, "accuracy"), clip(row["model"], 40), links.answered(row).counted("item"))
        yield f"{word}{where}", f"{100 * row['accuracy']:.1f} %", of
    mean = _mean_gain(report)
    for name in ("gain", "leakage"):
        if mean and mean[name] is not None:
            models = _models(head, name)
            whose = f", {counted(models, 'model')}" if models > 1 else ""
            ways = head.get_column("blind_by").drop_nulls().str.split(" ").list.first().unique(maintain_order=True)
            how = clip(f"points {_bounds(mean, name)}{whose}, asked {listed(ways)}", 90)
            yield f"mean {name}" if models > 1 else name, f"{100 * mean[name]:.1f}", how
    if len(best) == 1:
        yield from _guessing_tile(best[0][1], links)
        yield from _pairs_tile(report)


def _of(words: str, *parts: object) -> Markup:
    """Words of ours around what may come from outside, or is a link."""
    return Markup(words).format(*parts)  # noqa: S704 (the words are constants)


def _guessing_tile(row: Mapping[str, Any], links: ReportItems) -> Tiles:
    """What guessing scores on the items of the best model; where some have no options, both on the others."""
    if row.get("guessing") is None:
        return
    if row.get("with_options") is None:
        of = _of("on the same {}", links.answered(row).counted("item"))
    else:
        best = f"{clip(row['model'], 40)} {percent(row['with_options'])} there"
        count = links.answered(row, column=ALL_OPTIONS, options=(1, inf)).counted("item")
        of = _of("on {} with options; {}", count, best)
    yield "guessing scores", percent(row["guessing"]), of


def _pairs_tile(report: Report) -> Tiles:
    with suppress(NotMeasurable):
        row = report.material.measured("spread").row(0, named=True)
        if row["separable"] is not None:
            of = f"{row['apart']:,} of {counted(row['pairs'], 'pair')} of models, all tested together (Holm)"
            yield "pairs told apart", percent(row["separable"]), of


def _best(head: pl.DataFrame) -> list[tuple[str, dict[str, Any]]]:
    """The best model, or that of each benchmark and where it is the best; who answered few items is no candidate."""
    if "benchmark" not in head.columns:
        return [("", head.filter(pl.col("n") >= NEARLY_ALL * pl.col("n").max()).row(0, named=True))]
    most = pl.col("n").max().over("benchmark")
    first = head.filter(pl.col("n") >= NEARLY_ALL * most).unique("benchmark", keep="first", maintain_order=True)
    return [(f" on {clip(row['benchmark'], 40)}", row) for row in first.iter_rows(named=True)]


def _models(head: pl.DataFrame, having: str = "model") -> int:
    return head.drop_nulls(having).get_column("model").n_unique() if having in head.columns else 0


def _mean_gain(report: Report) -> dict[str, Any] | None:
    """The gain measure's own average over the rows of the headline; where there is one only, that one."""
    try:
        return report.material.measured("gain", scope="usual and blind").row(-1, named=True)
    except NotMeasurable:
        return None


def _bounds(row: Mapping[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "" if low is None or high is None else f"[{100 * low:.1f}, {100 * high:.1f}]"


def usual(report: Report) -> str:
    """How the questions were put of which most of a report speaks."""
    return "; ".join(report.material.usual_protocols)
