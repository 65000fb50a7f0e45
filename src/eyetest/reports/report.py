"""A report put together: which figures can be drawn, what the headline is, who was asked what; and its files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl
from altair.typing import ChartType
from markupsafe import Markup

from eyetest.measures import NotMeasurable
from eyetest.measures.printed import as_latex, as_markdown, csv_text
from eyetest.measures.results import PROTOCOL
from eyetest.pages.charts import as_narrow_svg, as_png, as_svg, on_page
from eyetest.pages.plots import benchmark_of, bounded, named
from eyetest.reports.figures import FIGURES, Figure, in_order
from eyetest.reports.material import Material
from eyetest.reports.report_items import ReportItems
from eyetest.store import refuse_to_lose, replacing_folder

ALL_OPTIONS = "options_n"
"""How many of a model's items have options; told where not all have."""
_HEADLINE = "headline"
_LONGEST_TABLE = 200
"""A longer one is for the CSV beside the figure."""
_TABLES: Mapping[str, Callable[[pl.DataFrame], str]] = {"tex": as_latex, "md": as_markdown}
_PICTURES = ("svg", "png", "csv")


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
        """The chart as it is printed."""
        return as_svg(self.chart)

    def on_page(self, items: ReportItems | None = None) -> Markup:
        """The chart as a page has it, for wide screens and for narrow ones; with ``items``, as it leads to them."""
        if items is None or not self.figure.linked or not items.at.before:
            return on_page(self.svg, as_narrow_svg(self.chart), self.figure.title)
        chart = self.figure.draw(self.numbers, items)
        return on_page(as_svg(chart), as_narrow_svg(chart), self.figure.title, items.links)


@dataclass(frozen=True)
class Missing:
    """A figure that these results do not give, why not, and what would bring it."""

    title: str
    why: str
    needs: str


@dataclass(frozen=True)
class Report:
    """Everything that is told, in order."""

    material: Material
    drawn: list[DrawnFigure]
    missing: list[Missing]

    @cached_property
    def headline(self) -> pl.DataFrame | None:
        """Each model's accuracy, gain and leakage, the best first; None where nobody was asked."""
        return _headline(self.material)

    @cached_property
    def asked(self) -> pl.DataFrame:
        """How questions were put, to how many models, how often; and items that models have no score for."""
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
    for figure in in_order() if figures is None else figures:
        try:
            drawn.append(DrawnFigure(figure, figure.numbers(material)))
        except NotMeasurable as reason:
            lacking.append((figure, Missing(figure.title, str(reason), figure.needs)))
    parts = {"", *(one.figure.part for one in drawn)}
    return Report(material, drawn, [missing for figure, missing in lacking if figure.part in parts])


def _headline(material: Material) -> pl.DataFrame | None:
    try:
        table = named(material.measured("accuracy")).drop_nulls("accuracy")
    except NotMeasurable:
        return None
    around = benchmark_of(table)
    head = table.select(*around, pl.col("series").alias("model"), *bounded("accuracy"), "n", "missing")
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
    """Gain and leakage of the models that saw under the usual protocol."""
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
    """What guessing scores on the items with options that each model answered, and the model on the same."""
    try:
        table = named(material.measured("above-guessing"))
    except NotMeasurable:
        return None
    series, there = pl.col("series").alias("model"), pl.col("accuracy").alias("with_options")
    return table.select(*around, series, there, "guessing", pl.col("n").alias(ALL_OPTIONS))


def refuse_to_lose_files(folder: Path, *, overwrite: bool, names: Sequence[str] = ()) -> None:
    """Stop before anything is drawn where it would take the place of something that is not ours.

    ``names``: what is drawn, if it is not the figures of every report.
    """
    ours = {f"{name}.{end}" for name in (names or (*FIGURES, _HEADLINE)) for end in (*_PICTURES, *_TABLES)}
    refuse_to_lose(folder, overwrite=overwrite, ours=ours)


def write_figures(report: Report, folder: Path, *, overwrite: bool) -> int:
    """Each figure as NAME.svg, NAME.png and NAME.csv; how many there were."""
    with replacing_folder(folder, overwrite=overwrite) as new:
        for drawn in report.drawn:
            name = drawn.figure.name
            (new / f"{name}.svg").write_text(drawn.svg, encoding="utf-8")
            (new / f"{name}.png").write_bytes(as_png(drawn.chart))
            (new / f"{name}.csv").write_bytes(csv_text(drawn.numbers).encode("utf-8", "replace"))
    return len(report.drawn)


def write_tables(report: Report, folder: Path, *, overwrite: bool) -> int:
    """The headline and the numbers of every figure as NAME.tex and NAME.md; how many there were."""
    tables = {} if report.headline is None else {_HEADLINE: report.headline}
    tables |= {drawn.figure.name: drawn.numbers for drawn in report.drawn if len(drawn.numbers) <= _LONGEST_TABLE}
    with replacing_folder(folder, overwrite=overwrite) as new:
        for name, table in tables.items():
            for end, write in _TABLES.items():
                (new / f"{name}.{end}").write_bytes(write(table).encode("utf-8", "replace") + b"\n")
    return len(tables)
