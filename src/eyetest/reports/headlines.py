"""What stands beside a report's answer: cautions, figures to remember, and where numbers lead."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import Any

import polars as pl
from markupsafe import Markup

from eyetest.measures import NotMeasurable, Results
from eyetest.measures.best_blind import SIGHTED
from eyetest.measures.printed import caveats
from eyetest.pages.page import clip
from eyetest.records import BLIND_SIGHTS, GIVEN
from eyetest.reports.material import NEARLY_ALL
from eyetest.reports.protocol_words import protocol_words
from eyetest.reports.report import ALL_OPTIONS, Report
from eyetest.reports.report_items import Counts, ReportItems
from eyetest.wording import counted, percent

_MOST_BENCHMARKS = 3
SEEING = SIGHTED.split(",")
"""The sights that show the picture."""
Tiles = Iterator[tuple[str, str, str]]
"""Names, values, and their intervals or whose they are."""


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
    best, seen = best_of(head), was_asked(report, SEEING)
    word = "accuracy" if _models(head) < 2 else "best accuracy"
    for where, row in best[:_MOST_BENCHMARKS]:
        of = _of("{} {}, {}", bounds(row, "accuracy"), clip(row["model"], 40), links.answered(row).counted("item"))
        yield f"{word}{' with the picture' if seen else ''}{where}", f"{100 * row['accuracy']:.1f} %", of
    if len(best) == 1:
        yield from _blind_tile(report) if seen else [("best with the picture", "–", "nobody was asked")]
        yield from _guessing_tile(best[0][1], links)
    mean = mean_gain(report)
    for name in ("gain", "leakage"):
        if mean and mean[name] is not None:
            models = _models(head, name)
            whose = f", {counted(models, 'model')}" if models > 1 else ""
            of_name = f"mean {name}" if models > 1 else name
            yield of_name, f"{100 * mean[name]:.1f}", f"points {bounds(mean, name)}{whose}"
    if len(best) == 1:
        yield from _pairs_tile(report)


def _blind_tile(report: Report) -> Tiles:
    name = "best without the picture"
    for row in rows_of(report, "best-blind"):
        how = clip(f"{bounds(row, 'blind')} {clip(row['model'], 40)}, {protocol_words(row['blind_by'])}", 120)
        yield name, f"{100 * row['blind']:.1f} %", how
    if not was_asked(report, BLIND_SIGHTS):
        yield name, "–", "nobody was asked"


def was_asked(report: Report, sights: Sequence[str]) -> bool:
    """Whether anybody's answer under one of these sights has a score."""
    known = pl.col("sight").is_in(sights) & (pl.col("answers") > pl.col("without score"))
    return not report.asked.filter(known).is_empty()


def rows_of(report: Report, measure: str) -> list[dict[str, Any]]:
    """What a measure says of the usual answers and the blind ones; nothing where it does not apply."""
    try:
        return report.material.measured(measure, scope="usual and blind").to_dicts()
    except NotMeasurable:
        return []


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
    yield "random guessing", percent(row["guessing"]), of


def _pairs_tile(report: Report) -> Tiles:
    with suppress(NotMeasurable):
        row = report.material.measured("spread").row(0, named=True)
        if row["separable"] is not None:
            of = f"{row['apart']:,} of {counted(row['pairs'], 'pair')} of models, all tested together (Holm)"
            yield "pairs told apart", percent(row["separable"]), of


def best_of(head: pl.DataFrame) -> list[tuple[str, dict[str, Any]]]:
    """The best model, or that of each benchmark and where it is the best; who answered few items is no candidate."""
    if "benchmark" not in head.columns:
        return [("", head.filter(pl.col("n") >= NEARLY_ALL * pl.col("n").max()).row(0, named=True))]
    most = pl.col("n").max().over("benchmark")
    first = head.filter(pl.col("n") >= NEARLY_ALL * most).unique("benchmark", keep="first", maintain_order=True)
    return [(f" on {clip(row['benchmark'], 40)}", row) for row in first.iter_rows(named=True)]


def _models(head: pl.DataFrame, having: str = "model") -> int:
    return head.drop_nulls(having).get_column("model").n_unique() if having in head.columns else 0


def mean_gain(report: Report) -> dict[str, Any] | None:
    """The gain measure's own average over the rows of the headline; where there is one only, that one."""
    rows = rows_of(report, "gain")
    return rows[-1] if rows else None


def bounds(row: Mapping[str, Any], name: str) -> str:
    """The interval of a share, in per cent; nothing where there is none."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "" if low is None or high is None else f"[{100 * low:.1f}, {100 * high:.1f}]"


def usual(report: Report) -> str:
    """How the questions were put of which most of a report speaks."""
    return "; ".join(map(protocol_words, report.material.usual_protocols))
