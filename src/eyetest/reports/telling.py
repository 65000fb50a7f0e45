"""A report put together: which figures can be drawn, what the headline is, who was asked what."""

from dataclasses import dataclass
from functools import cached_property

import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.results import PROTOCOL
from eyetest.pages.charts import as_svg
from eyetest.pages.plots import dressed, named
from eyetest.reports.figures import Figure, in_order
from eyetest.reports.material import Material

_BOUNDS = ("", "_low", "_high")
ALL_OPTIONS = "options_n"
"""How many of a model's items have options; told where not all have."""


@dataclass(frozen=True)
class Drawn:
    """A figure of these results."""

    figure: Figure
    numbers: pl.DataFrame

    @cached_property
    def chart(self) -> ChartType:
        """The chart, dressed."""
        return dressed(self.figure.draw(self.numbers))

    @cached_property
    def svg(self) -> str:
        """The chart as it is printed."""
        return as_svg(self.chart)


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
    drawn: list[Drawn]
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
        found = scores.group_by(keys).agg(whole).sort(keys).collect()
        if found.is_empty():
            return found
        there = self.material.results.every_item().group_by("benchmark").len("there")
        joined = found.join(there, on="benchmark", how="left", maintain_order="left")
        could = pl.col("models") * pl.col("there").cast(pl.Int64)
        return joined.with_columns((could - pl.col("missing")).alias("missing")).drop("there")


def tell(material: Material) -> Report:
    """Measure and draw whatever these results allow."""
    drawn, missing = [], []
    for figure in in_order():
        try:
            drawn.append(Drawn(figure, figure.numbers(material)))
        except NotMeasurable as reason:
            missing.append(Missing(figure.title, str(reason), figure.needs))
    return Report(material, drawn, missing)


def _headline(material: Material) -> pl.DataFrame | None:
    try:
        table = named(material.measured("accuracy")).drop_nulls("accuracy")
    except NotMeasurable:
        return None
    around = [name for name in ("benchmark",) if name in table.columns]
    values = [f"accuracy{end}" for end in _BOUNDS]
    found = table.select(*around, pl.col("series").alias("model"), *values, "n", "missing")
    if found.is_empty():
        return None
    for more in (_guessing(material, around), _gains(material, around)):
        if more is not None:
            found = found.join(more, on=[*around, "model"], how="left", nulls_equal=True)
    if ALL_OPTIONS in found.columns and found.select((pl.col(ALL_OPTIONS) == pl.col("n")).all()).item():
        found = found.drop(ALL_OPTIONS, "with_options")
    if "gain_n" in found.columns and found.select((pl.col("gain_n") == pl.col("n")).all()).item():
        found = found.drop("gain_n")
    return found.sort(*around, "accuracy", descending=[*(False for _ in around), True])


def _gains(material: Material, around: list[str]) -> pl.DataFrame | None:
    """Gain and leakage of the models that saw under the usual protocol."""
    try:
        table = material.measured("gain", scope="usual and blind")
    except NotMeasurable:
        return None
    usual = table.filter(pl.col("sighted_by").is_in(material.usual_protocols))
    values = [f"{name}{end}" for name in ("gain", "leakage") for end in _BOUNDS]
    about = [name for name in around if name in usual.columns]
    way = pl.col("blind_by").str.replace(r" direct$", "")
    found = usual.select(*about, "model", *values, "blind", way, pl.col("n").alias("gain_n"), "^leakage_n$")
    return found if set(around) <= set(found.columns) else None


def _guessing(material: Material, around: list[str]) -> pl.DataFrame | None:
    """What guessing scores on the items with options that each model answered, and the model on the same."""
    try:
        table = named(material.measured("above-guessing"))
    except NotMeasurable:
        return None
    series, there = pl.col("series").alias("model"), pl.col("accuracy").alias("with_options")
    return table.select(*around, series, there, "guessing", pl.col("n").alias(ALL_OPTIONS))
