"""Linked settings as one HTML file: scores from setting to setting, items lost on the way, who wrote the options."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.measures import NotMeasurable
from eyetest.measures.printed import caveats
from eyetest.measures.three_settings import EVERYBODY, WORDS
from eyetest.pages.item_view import Album, ItemView, lot, show_item
from eyetest.pages.page import clip, write_page
from eyetest.prompts import SCREENSHOT_STEP
from eyetest.records import Item, ModelEntry
from eyetest.reports.report import Report
from eyetest.reports.report_page import csv_link, laid_out
from eyetest.reports.settings_replies import lost_items, settings_of
from eyetest.wording import counted, listed, percent

_LARGE = 480
"""The longer side of a picture here: a screenshot has to be read."""
_LOSSES = {("four", "ten"): "lost-at-ten", ("ten", "vision"): "lost-in-vision"}
_STAND_IN = "reader:"
_MOST_AUTHORS = 12


@dataclass(frozen=True)
class SettingsDetails:
    """What the page has to know beside the results."""

    title: str
    benchmarks: Mapping[str, Benchmark] = field(default_factory=dict)
    """By setting, those that are there."""
    steps: Sequence[tuple[str, str]] = ()
    method: Sequence[tuple[str, str]] = ()
    command: str = ""
    shown: int = 6
    """Items of each list to show."""


class LostItem(NamedTuple):
    """An item that models lost, as each setting shows it."""

    name: str
    told: str
    settings: list[tuple[str, ItemView]]


class _Lost(NamedTuple):
    figure: str
    title: str
    items: list[LostItem]
    total: int


class OptionAuthor(NamedTuple):
    """Who wrote options, who checked them, and how many."""

    author: str
    checked_by: str
    options: int


def write_settings_page(report: Report, about: SettingsDetails, to: Path, *, overwrite: bool = False) -> None:
    """Write the page."""
    album = Album(*about.benchmarks.values(), side=_LARGE)
    contents = {
        "about": about,
        "report": report,
        "verdict": verdict(report),
        "cautions": list(cautions(report)),
        "tiles": list(_tiles(report)),
        "settings": list(_settings(report, about)),
        "lost": {one.figure: one for one in _losses(report, about, album)},
        "authors": option_authors(about.benchmarks.get("ten")),
        "notes": report.material.notes(),
        "album": album.pictures,
        **{"table": laid_out, "csv": csv_link},
    }
    write_page("settings.html.j2", contents, to, overwrite=overwrite)


def _three(report: Report) -> pl.DataFrame:
    return report.material.measured("three-settings", scope="all")


def verdict(report: Report) -> str:
    """The story in a few sentences."""
    table = _three(report)
    models = counted(table.get_column("model").n_unique(), "model")
    settings = settings_of(report.material).where
    sentence = f"{models} in {counted(len(settings), 'setting')} of one benchmark."
    best = table.drop_nulls("overall").sort("overall", descending=True)
    if len(best):
        row = best.row(0, named=True)
        bounds = f"[{100 * row['overall_low']:.1f}, {100 * row['overall_high']:.1f}]"
        who = f"the best, {clip(row['model'], 60)}," if len(best) > 1 else clip(row["model"], 60)
        sentence += f" Overall {who} scores {100 * row['overall']:.1f} % {bounds}."
    parts = []
    for name, what in (("delta1", "ten options"), ("delta2", "one picture for everything")):
        known = table.get_column(name).drop_nulls()
        if len(known):
            least, most = sorted(round(-100 * float(end)) for end in (known.max(), known.min()))  # type: ignore[arg-type]
            span = f"{least} to {most}" if least != most else f"{most}"
            parts.append(f"{what} cost{'' if what.endswith('s') else 's'} {span} points")
    return f"{sentence} {'; '.join(parts).capitalize()}." if parts else sentence


def cautions(report: Report) -> Iterator[str]:
    """What has to be known before any figure is believed."""
    results = report.material.results
    stand_ins = sorted(name for name, entry in results.models.items() if reads_pages(entry))
    if stand_ins:
        yield (
            f"Vision was answered by a stand-in: {listed(stand_ins, 6)} did not look at the screenshot. An OCR "
            "engine read it, and a model was given the text and the picture cut out of it. Its Δ2 shows what OCR "
            "loses, and nothing about models that see the page."
        )
    if "original" not in settings_of(report.material).where:
        yield "The source benchmark was not asked: differences start from few options, not from the original."
    yield from (f"{note}." for note in caveats(results))


def reads_pages(entry: ModelEntry) -> bool:
    """Whether a model is the stand-in that reads screenshots by OCR."""
    return entry.spec.startswith(_STAND_IN)


def _tiles(report: Report) -> Iterator[tuple[str, str, str]]:
    """The figures to remember: names, values, and what they rest on."""
    table = _three(report)
    best = table.drop_nulls("overall").sort("overall", descending=True)
    if len(best):
        row = best.row(0, named=True)
        who = f"{clip(row['model'], 40)}, {counted(row['n'], 'item')}"
        yield "best overall", f"{100 * row['overall']:.1f} %", who
    for name, title in (("delta1", "Δ1, ten options"), ("delta2", "Δ2, vision"), ("delta3", "Δ3, overall")):
        known = table.drop_nulls(name)
        if len(known):
            mean = 100 * float(known.select(pl.col(name).mean()).item())
            below = known.filter(pl.col(f"{name}_high") < 0).height
            yield (
                title,
                f"{mean:+.1f}".replace("-", "−"),
                f"points on average; {below} of {len(known)} surely below 0",
            )
    moved = [column for column in ("ten_risen", "vision_risen") if column in table.columns]
    if moved:
        changed = table.filter(pl.any_horizontal(pl.col(column).fill_null(0) != 0 for column in moved))
        yield "ranks that moved", f"{len(changed)} of {len(table)}", "rows of the table, in ten options or vision"
    with suppress(NotMeasurable):
        blind = report.material.measured("blind-steps", scope="all").filter(pl.col("model") == EVERYBODY)
        last = blind.row(-1, named=True)
        yield f"blind, {last['step']}", percent(last["accuracy"]), f"guessing scores {percent(last['guessing'])}"


def _settings(report: Report, about: SettingsDetails) -> Iterator[tuple[str, str, str]]:
    """Each setting: its name, its benchmark and how it was asked, and what its items are like."""
    for role, where in settings_of(report.material).where.items():
        asked = ", ".join(f"{value}" for value in where.values())
        benchmark = about.benchmarks.get(role)
        if benchmark is None:
            yield WORDS[role], asked, ""
            continue
        options = Counter(len(item.choices) for item in benchmark)
        lineage = " → ".join(step.step for step in benchmark.manifest.lineage)
        mean = sum(number * count for number, count in options.items()) / max(1, options.total())
        told = f"{counted(options.total(), 'item')}, {mean:.1f} options on average"
        yield WORDS[role], asked, f"{told}; {lineage}" if lineage else told


def _losses(report: Report, about: SettingsDetails, album: Album) -> Iterator[_Lost]:
    """The lists of items to read, those that most models lost first, each in every setting that shows it."""
    titles = {one.figure.name: one.figure.title for one in report.drawn}
    for (before, after), figure in _LOSSES.items():
        with suppress(NotMeasurable):
            table = lost_items(report.material, before, after)
            ranked = table.group_by("item").agg(pl.col("lost").sum(), pl.col("models").sum())
            order = sorted(ranked.iter_rows(named=True), key=lambda row: (-row["lost"], lot(row["item"])))
            chosen = order[: about.shown]
            views = _views([row["item"] for row in chosen], about.benchmarks, album)
            ways = ", ways of asking counted apart" if "ask" in table.columns else ""
            told = {
                row["item"]: f"lost by {row['lost']} of {counted(row['models'], 'model')}{ways}" for row in chosen
            }
            items = [LostItem(name, told[name], views[name]) for name in told]
            yield _Lost(figure, titles.get(figure, ""), [one for one in items if one.settings], len(order))


def _views(
    names: Sequence[str], benchmarks: Mapping[str, Benchmark], album: Album
) -> dict[str, list[tuple[str, ItemView]]]:
    """Items as each setting shows them; of a screenshot its picture alone, because that is all there is to see."""
    views: dict[str, list[tuple[str, ItemView]]] = {name: [] for name in names}
    for role in ("four", "ten", "vision"):
        benchmark = benchmarks.get(role)
        there = [name for name in names if benchmark is not None and name in benchmark]
        for item in benchmark.take(benchmark.positions(there)) if benchmark is not None else ():
            is_shot = any(step.step == SCREENSHOT_STEP for step in item.lineage)
            if role != "vision" or is_shot:
                views[item.id].append((WORDS[role], _view(item, album, is_shot=is_shot)))
    return views


def _view(item: Item, album: Album, *, is_shot: bool) -> ItemView:
    if not is_shot:
        return show_item(item.id, "", [], item, album)
    picture = msgspec.structs.replace(item, question="", choices=(), references=("",), hint="", history=())
    return msgspec.structs.replace(show_item(item.id, "", [], picture, album), question=[], item=picture)


def option_authors(benchmark: Benchmark | None) -> list[OptionAuthor]:
    """Who wrote the options of a benchmark, those who wrote most first; none where nobody says."""
    counts: Counter[tuple[str, str]] = Counter()
    for item in benchmark if benchmark is not None else ():
        for choice in item.choices:
            known = choice.provenance is not msgspec.UNSET and choice.provenance
            counts[(known.author, ", ".join(known.checked_by)) if known else ("", "")] += 1
    if counts.keys() <= {("", "")}:
        return []
    told = [
        OptionAuthor(author or "as they were", checked or "–", n) for (author, checked), n in counts.most_common()
    ]
    return told[:_MOST_AUTHORS]


def title_of(benchmarks: Mapping[str, Benchmark]) -> str:
    """What the page is about: the benchmark in which the settings begin."""
    names: list[Any] = [one.manifest.name for one in benchmarks.values()]
    return str(names[0]) if names else "Linked settings"
