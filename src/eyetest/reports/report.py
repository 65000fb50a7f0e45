"""A report: results and their measures, the figures they allow, the headline, links to items; and its files."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec
import polars as pl
from altair.typing import ChartType

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.media import MediumNames, names_of_kinds
from eyetest.measures import MEASURES, Measured, NotMeasurable, Results, Settings
from eyetest.measures.printed import csv_text, is_text, texts_of
from eyetest.measures.results import MODEL, PROTOCOL, own_settings
from eyetest.measures.tables import protocol_label
from eyetest.pages.item_links import NOWHERE, ItemCount, ItemsAt, Query
from eyetest.pages.page import clip
from eyetest.pages.plots import as_png, as_svg, benchmark_of, named, shown
from eyetest.records import BLIND_MODALITIES, WITH_MEDIUM, Condition, Score, columns
from eyetest.reports.figures import FIGURES, Figure
from eyetest.store import refuse_to_lose, replacing_folder

MOST_TAGS = 2
MOST_VALUES = 30
NEARLY_ALL = 0.9  # share of the items that a model must have answered to be called the best
# Names of tags that state what an item requires of a model, most general first
_SKILLS = ("core", "axis", "capability", "category", "task", "domain", "discipline", "subject", "skill", "context")
_NEED_NO_ANSWERS = "guessing"
_USUAL = {axis: getattr(Condition(), axis) for axis in PROTOCOL}
NO_ANSWERS = "no answers were given: name a run beside the benchmark"
Scope = Literal["usual", "usual and blind", "all"]
"""Which answers: usual protocol, that and without the image, or any."""
Asked = tuple[str, tuple[str, ...], Scope]  # a measure, its tags and scope


@dataclass(frozen=True)
class Material:
    """Results with all data for figures, and what else was found on the way."""

    results: Results
    settings: Settings = field(default_factory=Settings)
    funnel: pl.DataFrame | None = None
    _known: dict[Asked, Measured | NotMeasurable] = field(default_factory=dict, repr=False)

    def measured(self, name: str, by: Sequence[str] = (), *, scope: Scope = "usual") -> pl.DataFrame:
        """The table of a measure over some answers; raises what the measure raises."""
        key = (name, tuple(by), scope)
        if key not in self._known:
            try:
                self._known[key] = self._measure(*key)
            except NotMeasurable as reason:
                self._known[key] = reason
        known = self._known[key]
        if isinstance(known, NotMeasurable):
            raise known
        return known.table

    def known(self, name: str, *, scope: Scope = "usual") -> pl.DataFrame | None:
        """The table of a measure, or None if it cannot be computed."""
        with suppress(NotMeasurable):
            return self.measured(name, scope=scope)
        return None

    def measures(self) -> list[str]:
        """The measures used, as ``eyetest measure`` names them."""
        return sorted({" --by ".join((name, *by)) for name, by, _ in self._known})

    def notes(self) -> list[str]:
        """Notes beside the tables, each with the measure that gives it."""
        measured = [(key[0], known) for key, known in self._known.items() if isinstance(known, Measured)]
        return list(dict.fromkeys(f"{name}: {note}" for name, known in measured for note in known.notes))

    @cached_property
    def media_kinds(self) -> list[str]:
        """The media that the items show: images, videos, audio files, documents."""
        shown = self.results.items.get_column("medium").drop_nulls().unique().to_list()
        return sorted({kind for medium in shown for kind in medium.split("+") if kind})

    @property
    def medium(self) -> MediumNames:
        """What sentences call the medium of the items."""
        return names_of_kinds(self.media_kinds)

    @cached_property
    def is_answered(self) -> bool:
        """Whether any model was asked."""
        return bool(len(self.results.scores.head(1).collect()))

    @cached_property
    def usual(self) -> Results:
        """The scores of each benchmark under the protocol of most models; images and written answers go first."""
        as_usual = (pl.col(axis).cast(pl.String) == value for axis, value in _USUAL.items())
        counts = (
            self.results.scores.group_by("benchmark", *PROTOCOL)
            .agg(pl.col("score").count(), pl.col("model").n_unique().alias("models"))
            .with_columns(
                pl.col("modality").cast(pl.String).is_in(WITH_MEDIUM).alias("sees"),
                (pl.col("method").cast(pl.String) == _USUAL["method"]).alias("writes"),
                pl.sum_horizontal(as_usual).alias("usual"),
            )
            .collect(engine="streaming")
        )
        order = ["sees", "models", "writes", "score", "usual", *PROTOCOL]
        chosen = counts.sort(order, descending=[*(True,) * 5, *(False for _ in PROTOCOL)])
        first = chosen.unique("benchmark", keep="first", maintain_order=True).select("benchmark", *PROTOCOL)
        kept = self.results.scores.join(first.lazy(), on=("benchmark", *PROTOCOL), how="semi")
        return replace(self.results, scores=kept)

    @cached_property
    def usual_and_blind(self) -> Results:
        """The usual scores, and all scores without the image: what a gain is computed from."""
        usual = self.usual.scores.select("benchmark", *PROTOCOL).unique()
        blind = self.results.scores.filter(pl.col("modality").cast(pl.String).is_in(BLIND_MODALITIES))
        others = blind.join(usual, on=("benchmark", *PROTOCOL), how="anti")
        return replace(self.results, scores=pl.concat([self.usual.scores, others]))

    @cached_property
    def usual_ways(self) -> dict[str, tuple[str, ...]]:
        """The usual protocol of each benchmark."""
        asked = self.usual.scores.select(pl.col("benchmark", *PROTOCOL).cast(pl.String)).unique().sort("benchmark")
        return {benchmark: tuple(protocol) for benchmark, *protocol in asked.collect().iter_rows()}

    @cached_property
    def usual_protocols(self) -> list[str]:
        """Short descriptions of the usual protocols."""
        return sorted({words for way in self.usual_ways.values() if (words := protocol_label(way))})

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The tags of capabilities: those the user named, or those that look like capabilities."""
        if named := tuple(word for word in self.settings.by if not word.startswith(MODEL)):
            self.results.by_tags(named)
            return named
        fit = [tag for tag in self.results.tags if 2 <= self.results.values(tag).n_unique() <= MOST_VALUES]
        return tuple(sorted((tag for tag in fit if _rank(tag) < len(_SKILLS)), key=_rank)[:MOST_TAGS])

    def _measure(self, name: str, by: tuple[str, ...], scope: Scope) -> Measured:
        if not self.is_answered and name != _NEED_NO_ANSWERS:
            raise NotMeasurable(NO_ANSWERS)
        measure = MEASURES[name]
        settings = replace(self.settings, by=by, own=own_settings(measure, {}))
        if scope == "all" or not self.is_answered:
            return measure.measure(self.results, settings)
        return measure.measure(self.usual if scope == "usual" else self.usual_and_blind, settings)


def _rank(tag: str) -> int:
    words = tag.lower().replace("-", "_").split("_")
    return min((rank for rank, word in enumerate(_SKILLS) if word in words), default=len(_SKILLS))


def unanswered(items: pl.DataFrame) -> Results:
    """Items that no model was asked about, as results."""
    types = dict.fromkeys(("benchmark", *columns(Score)), pl.String) | {"score": pl.Float64}
    return Results(pl.LazyFrame(schema=types), items)


Counts = Mapping[str, Sequence[ItemCount]]
"""Columns of a table that count items, and the link of each row's number."""


@dataclass(frozen=True)
class ReportItems:
    """Turn numbers into links to the items that they count, where a query can select these."""

    material: Material
    benchmarks: Sequence[Benchmark] = ()  # all that opens with what the report was made from
    at: ItemsAt = NOWHERE

    @cached_property
    def _names(self) -> list[str]:
        return self.material.results.items.get_column("benchmark").drop_nulls().unique().to_list()

    def _about(self, benchmark: str | None) -> Query | None:
        """The items of one benchmark, or of all that the results are about; None where no query says that."""
        opened = [benchmark.manifest.name for benchmark in self.benchmarks]
        if benchmark is None and len(opened) <= len(self._names) and self.material.funnel is None:
            return Query()
        name = self._names[0] if benchmark is None and len(self._names) == 1 else benchmark
        return Query(benchmark=name) if name and opened.count(name) == 1 else None

    def count(self, number: int, benchmark: str | None = None, **more: Any) -> ItemCount:
        """Count of such items of a benchmark, or of all."""
        about = self._about(benchmark)
        return ItemCount(number) if about is None else self.at.count(number, msgspec.structs.replace(about, **more))


_IMAGES = ("svg", "png", "csv")


@dataclass(frozen=True)
class DrawnFigure:
    """A figure of these results."""

    figure: Figure
    numbers: pl.DataFrame

    @cached_property
    def svg(self) -> str:
        """The chart for print."""
        return as_svg(self.figure.draw(self.numbers))


@dataclass(frozen=True)
class Report:
    """All contents of a report, in order."""

    material: Material
    drawn: list[DrawnFigure]
    missing: list[tuple[Figure, str]]
    """The figures that these results do not allow, and why not."""

    @cached_property
    def headline(self) -> pl.DataFrame | None:
        """Each model's accuracy, the best first; None if no answer has a score."""
        table = self.material.known("accuracy")
        if table is None or (table := named(table).drop_nulls("accuracy")).is_empty():
            return None
        head = shown(table, pl.col("series").alias("model"), "accuracy±", "unread", "n", "missing")
        around = benchmark_of(table)
        return head.sort(*around, "accuracy", descending=[*(False for _ in around), True])

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
        asked = scores.group_by(keys).agg(**counts).with_columns(pl.col(*counts).cast(pl.Int64)).sort(keys).collect()
        if asked.is_empty():
            return asked
        known = self.material.results.every_item().group_by("benchmark").len("known")
        possible = pl.col("models") * pl.col("known").cast(pl.Int64)
        joined = asked.join(known, on="benchmark", how="left", maintain_order="left")
        return joined.with_columns((possible - pl.col("missing")).alias("missing")).drop("known")


def tell(material: Material) -> Report:
    """Measure what these results allow."""
    report = Report(material, [], [])
    for plugin in sorted(FIGURES.values(), key=lambda figure: figure.place):
        figure = plugin.about(material.medium)
        try:
            report.drawn.append(DrawnFigure(figure, figure.numbers(material)))
        except NotMeasurable as reason:
            report.missing.append((figure, str(reason)))
    return report


def chart(name: str, results: Results) -> ChartType:
    """A figure of some results, for a notebook."""
    return FIGURES[name].draw(FIGURES[name].numbers(Material(results)))


MOST_ROWS, _LONGEST_CELL = 120, 80
_SHARES = frozenset(
    "accuracy score with_options guessing random gain leakage no_image with_image base unread unclipped difference "  # noqa: SIM905 (words)
    "a_mean b_mean detectable detectable_adjusted format_hits share above delta1 delta2 delta3 overall weighted "
    "plain original four ten vision mean".split()
)
"""Columns of measures that hold shares, which pages show in per cent."""


def laid_out(table: pl.DataFrame, counts: Counts = MappingProxyType({}), digits: int = 3) -> dict[str, Any]:
    """A table for the page, cut to a length; ``counts``: columns that count items, and their links."""
    shares = [name for name in table.columns if _is_share(table, name)]
    scaled = texts_of(table.with_columns(pl.col(name) * 100 for name in shares), MOST_ROWS, 1)
    words: dict[str, Sequence[str | ItemCount]] = {
        name: [clip(cell, _LONGEST_CELL) for cell in (scaled[name] if name.replace(" ", "_") in shares else cells)]
        for name, cells in texts_of(table, MOST_ROWS, digits).items()
    }
    for name, column in counts.items():
        if name in words:
            words[name] = [count if count.href else cell for count, cell in zip(column, words[name], strict=False)]
    rows = list(zip(*words.values(), strict=True))
    heads = [(clip(column, _LONGEST_CELL), is_text(table, column)) for column in words]
    return {"heads": heads, "rows": rows, "more": max(0, len(table) - MOST_ROWS)}


def _is_share(table: pl.DataFrame, name: str) -> bool:
    value = name.removesuffix("_low").removesuffix("_high")
    if value not in _SHARES or not table.schema[name].is_float() or value not in table.columns:
        return False
    most = table.get_column(value).abs().max()
    return most is None or float(most) <= 1  # type: ignore[arg-type]


def refuse_to_lose_files(folder: Path, *, overwrite: bool) -> None:
    """Refuse before drawing to replace other files than figures."""
    refuse_to_lose(folder, overwrite=overwrite, ours={f"{name}.{end}" for name in FIGURES for end in _IMAGES})


def write_figures(report: Report, folder: Path, *, overwrite: bool) -> int:
    """Write each figure as NAME.svg, NAME.png and NAME.csv; returns their number."""
    with replacing_folder(folder, overwrite=overwrite) as new:
        for drawn in report.drawn:
            name = drawn.figure.name
            (new / f"{name}.svg").write_text(drawn.svg, encoding="utf-8")
            (new / f"{name}.png").write_bytes(as_png(drawn.figure.draw(drawn.numbers)))
            (new / f"{name}.csv").write_bytes(csv_text(drawn.numbers).encode("utf-8", "replace"))
    return len(report.drawn)
