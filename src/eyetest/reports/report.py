"""Assemble a report: which figures can be drawn, the headline, who was asked what; and its files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import polars as pl
from altair.typing import ChartType
from markupsafe import Markup

from eyetest.measures import NotMeasurable
from eyetest.measures.printed import as_latex, as_markdown, csv_text
from eyetest.measures.results import PROTOCOL
from eyetest.pages.charts import as_png, as_svg, for_page
from eyetest.pages.plots import benchmark_of, bounded, named
from eyetest.reports.figures import FIGURES, Figure
from eyetest.reports.material import Material
from eyetest.reports.report_items import ReportItems
from eyetest.store import refuse_to_lose, replacing_folder

ALL_OPTIONS = "options_n"  # number of a model's items with options; shown where not all have
_HEADLINE = "headline"
_LONGEST_TABLE = 200
_TABLES: Mapping[str, Callable[[pl.DataFrame], str]] = {"tex": as_latex, "md": as_markdown}
_IMAGES = ("svg", "png", "csv")


@dataclass(frozen=True)
class DrawnFigure:
    """A figure of these results."""

    figure: Figure
    numbers: pl.DataFrame

    @cached_property
    def chart(self) -> ChartType:
        """The chart."""
        return self.figure.draw(self.numbers)

    @cached_property
    def svg(self) -> str:
        """The chart for print."""
        return as_svg(self.chart)

    def on_page(self, items: ReportItems | None = None) -> Markup:
        """The chart as an element of a page; with ``items``, its parts link to them."""
        if items is None or not self.figure.linked or not items.at.before:
            return for_page(self.svg, self.figure.title)
        return for_page(as_svg(self.figure.draw(self.numbers, items)), self.figure.title, items.links)


class Missing(NamedTuple):
    """A figure that these results do not give, why not, and what would provide it."""

    title: str
    why: str
    needs: str


@dataclass(frozen=True)
class Report:
    """All contents of a report, in order."""

    material: Material
    drawn: list[DrawnFigure]
    missing: list[Missing]
    notes: Sequence[str] = ()

    @cached_property
    def headline(self) -> pl.DataFrame | None:
        """Each model's accuracy, gain and leakage, the best first; None where no model was asked."""
        return _headline(self.material)

    @cached_property
    def asked(self) -> pl.DataFrame:
        """Protocols with number of models and tests; and items that models have no score for."""
        scores = self.material.results.scores.with_columns(pl.col(*PROTOCOL, "benchmark").cast(pl.String))
        scored = pl.struct("model", "item").filter(pl.col("score").is_not_null())
        counts = {
            "models": pl.col("model").n_unique(),
            "items": pl.col("item").n_unique(),
            "answers": pl.len(),
            "without score": pl.col("score").null_count(),
            "missing": scored.n_unique(),
        }
        keys = ["benchmark", *PROTOCOL]
        whole = [count.cast(pl.Int64).alias(name) for name, count in counts.items()]
        asked = scores.group_by(keys).agg(whole).sort(keys).collect()
        if asked.is_empty():
            return asked
        there = self.material.results.every_item().group_by("benchmark").len("there")
        joined = asked.join(there, on="benchmark", how="left", maintain_order="left")
        could = pl.col("models") * pl.col("there").cast(pl.Int64)
        return joined.with_columns((could - pl.col("missing")).alias("missing")).drop("there")


def tell(material: Material, figures: Sequence[Figure] | None = None) -> Report:
    """Measure and draw whatever these results allow: these figures, or those of every report."""
    drawn: list[DrawnFigure] = []
    lacking: list[tuple[Figure, Missing]] = []
    for figure in sorted(FIGURES.values() if figures is None else figures, key=lambda figure: figure.place):
        try:
            drawn.append(DrawnFigure(figure, figure.numbers(material)))
        except NotMeasurable as reason:
            lacking.append((figure, Missing(figure.title, str(reason), figure.needs)))
    parts = {"", *(one.figure.part for one in drawn)}
    missing = [lack for figure, lack in lacking if figure.part in parts]
    return Report(material, drawn, missing, material.notes())


def _headline(material: Material) -> pl.DataFrame | None:
    try:
        table = named(material.measured("accuracy")).drop_nulls("accuracy")
    except NotMeasurable:
        return None
    around = benchmark_of(table)
    head = table.select(*around, pl.col("series").alias("model"), *bounded("accuracy"), "unread", "n", "missing")
    if head.is_empty():
        return None
    for more in (_guessing(material, around), _gains(material, around)):
        if more is not None:
            head = head.join(more, on=[*around, "model"], how="left", nulls_equal=True)
    for count, beside in ((ALL_OPTIONS, ["with_options"]), ("gain_n", [])):
        if count in head.columns and head.select((pl.col(count) == pl.col("n")).all()).item():
            head = head.drop(count, *beside)
    return head.sort(*around, "accuracy", descending=[*(False for _ in around), True])


def _gains(material: Material, around: list[str]) -> pl.DataFrame | None:
    """Gain and leakage of the models that saw the image under the usual protocol."""
    try:
        table = material.measured("gain", scope="usual and blind")
    except NotMeasurable:
        return None
    usual = table.filter(pl.col("sighted_by").is_in(material.usual_protocols))
    if not set(around) <= set(usual.columns):
        return None
    way = pl.col("blind_by").str.replace(r" direct$", "")
    estimates, number = bounded("gain", "leakage"), pl.col("n").alias("gain_n")
    return usual.select(*around, "model", *estimates, "blind", way, number, "^leakage_n$")


def _guessing(material: Material, around: list[str]) -> pl.DataFrame | None:
    """Score of guessing on the items with options that each model answered, and the model's on the same."""
    try:
        table = named(material.measured("above-guessing"))
    except NotMeasurable:
        return None
    series, there = pl.col("series").alias("model"), pl.col("accuracy").alias("with_options")
    return table.select(*around, series, there, "guessing", pl.col("n").alias(ALL_OPTIONS))


def refuse_to_lose_files(folder: Path, more: Sequence[Figure], *, overwrite: bool) -> None:
    """Refuse before drawing to replace other files than those of the usual figures and some more."""
    names = (*FIGURES, *(figure.name for figure in more), _HEADLINE)
    ours = {f"{name}.{end}" for name in names for end in (*_IMAGES, *_TABLES)}
    refuse_to_lose(folder, overwrite=overwrite, ours=ours)


def write_figures(report: Report, folder: Path, *, overwrite: bool) -> int:
    """Write each figure as NAME.svg, NAME.png and NAME.csv; returns their number."""
    with replacing_folder(folder, overwrite=overwrite) as new:
        for drawn in report.drawn:
            name = drawn.figure.name
            (new / f"{name}.svg").write_text(drawn.svg, encoding="utf-8")
            (new / f"{name}.png").write_bytes(as_png(drawn.chart))
            (new / f"{name}.csv").write_bytes(csv_text(drawn.numbers).encode("utf-8", "replace"))
    return len(report.drawn)


def write_tables(report: Report, folder: Path, *, overwrite: bool) -> int:
    """Write the headline and the numbers of every figure as NAME.tex and NAME.md; returns their number."""
    tables = {} if report.headline is None else {_HEADLINE: report.headline}
    tables |= {drawn.figure.name: drawn.numbers for drawn in report.drawn if len(drawn.numbers) <= _LONGEST_TABLE}
    with replacing_folder(folder, overwrite=overwrite) as new:
        for name, table in tables.items():
            for end, write in _TABLES.items():
                (new / f"{name}.{end}").write_bytes(write(table).encode("utf-8", "replace") + b"\n")
    return len(tables)
