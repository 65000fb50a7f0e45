"""Figures of how items were hardened: whose options they have, how well screenshots can be read, what looks do."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import altair as alt
import msgspec
import polars as pl
from altair.typing import ChartType

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import LEGIBILITY
from eyetest.errors import EyetestError
from eyetest.measures import NotMeasurable
from eyetest.measures.three_settings import EVERYBODY
from eyetest.pages import palette
from eyetest.pages.plots import POINTS, across, bounded, dashed, intervals, layered, one_each, rows, step, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

OPTIONS_RECORD = "options.json"
"""Who wrote which options, and what was turned down: beside the items, or beside their folder."""
HARDENING_FIGURES = ("reading", "proposals", "legibility", "looks")
"""What these figures are called."""
_WIDTH = 400
_BIN = 0.05
_MOST_REASONS = 14


def hardening_figures(benchmarks: Sequence[Benchmark]) -> Iterator[Figure]:
    """Reading, and the figures that some benchmarks bring along, each told of the first that has it."""
    yield Figure(
        *("reading", 92, "Reading the page", _reading, _draw_reading),
        reading="How faithfully each model writes out what stands in a screenshot, and what it scores there, on the "
        "same items. The numbers have the correlation of both, over items and over models.",
        needs="transcripts: eyetest run --sight screenshot --ask ocr,direct",
        by="",
    )
    folders = [one.path for one in benchmarks]
    record = next((path for folder in folders for path in _beside(folder, OPTIONS_RECORD)), None)
    if record is not None:
        yield Figure(
            *("proposals", 94, "How options were made", lambda material: _proposals(record), _draw_proposals),
            reading="Options by who wrote them, and proposals that were turned down, by reason.",
            needs="a benchmark that eyetest harden options made",
            by="",
        )
    read = next((path for folder in folders for path in _beside(folder, LEGIBILITY)), None)
    if read is not None:
        yield Figure(
            *("legibility", 96, "Can it be read?", lambda material: _legibility(read, benchmarks), _draw_legibility),
            reading="How like its text an OCR engine reads the worst part of each screenshot: question or option, "
            "1 − edit distance / length. Formulas and tables are not judged.",
            needs="screenshots that an OCR engine read back",
            by="",
        )
    yield Figure(
        *("looks", 98, "What looks do", _looks, _draw_looks),
        reading="What each level of a screenshot's look does to the score of all models together, in points, against "
        "the mean over the levels of its factor, with intervals.",
        needs="screenshots whose looks vary (eyetest harden screenshot)",
        by="",
    )


def _reading(material: Material) -> pl.DataFrame:
    return material.measured("ocr-accuracy", scope="all")


def _draw_reading(frame: pl.DataFrame) -> ChartType:
    single = frame.filter((pl.col("over") == "items") & (pl.col("model") != EVERYBODY))
    x = across("OCR accuracy", form=".2f")
    y = alt.Y("score:Q", title="score").scale(zero=False, padding=12).axis(format=".0%", grid=True)
    chart = alt.Chart(values(single)).encode(x=x("accuracy"), y=y)
    names = chart.mark_text(align="left", dx=8).encode(text="model:N")
    dots = chart.mark_point(filled=True, size=64, opacity=1, color=palette.SIGHTED)
    return layered(dots, names).properties(width=_WIDTH, height=220)


def _beside(folder: Path, name: str) -> Iterator[Path]:
    """A table inside a benchmark's folder, or beside it."""
    yield from (path for path in (folder / name, folder.parent / name) if path.is_file())


def _proposals(path: Path) -> pl.DataFrame:
    """Counts of options by author and of what was turned down by reason."""
    counts: dict[tuple[str, str], int] = {}
    try:
        record = msgspec.json.decode(path.read_bytes(), type=dict[str, object])
        for item in msgspec.convert(record.get("items", []), list[_Grown]):
            for author, number in item.authors.items():
                counts["written", author] = counts.get(("written", author), 0) + number
            for told in item.turned_down:
                counts["turned down", told.reason] = counts.get(("turned down", told.reason), 0) + 1
    except (OSError, msgspec.MsgspecError) as error:
        raise NotMeasurable(f"{path} cannot be read: {error}") from None
    if not counts:
        raise NotMeasurable("nothing was written and nothing was turned down")
    told_rows = [{"what": what, "who or why": word, "options": count} for (what, word), count in counts.items()]
    return pl.DataFrame(told_rows).sort("what", "options", "who or why", descending=[True, True, False])


class _Refused(msgspec.Struct):
    reason: str = ""


class _Grown(msgspec.Struct):
    authors: dict[str, int] = {}
    turned_down: tuple[_Refused, ...] = ()


def _draw_proposals(frame: pl.DataFrame) -> ChartType:
    def draw(part: pl.DataFrame) -> ChartType:
        shown = part.head(_MOST_REASONS)
        colour = palette.SIGHTED if shown.item(0, "what") == "written" else palette.VERDICTS["drop"]
        y = rows(shown.get_column("who or why").to_list(), "who or why")
        chart = alt.Chart(values(shown)).encode(x=alt.X("options:Q", axis=None), y=y)
        words = chart.mark_text(align="left", dx=5).encode(text=alt.Text("options:Q", format=","))
        bars = chart.mark_bar(color=colour, height=11, opacity=0.85)
        return layered(bars, words).properties(width=_WIDTH, height=step(len(shown)))

    return one_each(frame, "what", draw)


def _legibility(path: Path, benchmarks: Sequence[Benchmark]) -> pl.DataFrame:
    """Each item's worst part, and the look of its screenshot."""
    try:
        table = pl.read_parquet(path).drop_nulls("similarity")
        home = next(one for one in benchmarks if path.parent in (one.path, one.path.parent))
        looks = pl.DataFrame(
            [{"item": item.id, "look": str(item.tags.get("look", "screenshot"))} for item in home],
            schema={"item": pl.String, "look": pl.String},
        )
    except (pl.exceptions.PolarsError, EyetestError) as error:
        raise NotMeasurable(f"{path} cannot be read: {error}") from None
    worst = table.group_by("item").agg(pl.col("similarity").min(), pl.len().cast(pl.Int64).alias("parts"))
    known = worst.join(looks, on="item").sort("look", "similarity", "item")
    if known.is_empty():
        raise NotMeasurable("no part of any screenshot could be judged")
    return known.select("look", "item", "similarity", "parts")


def _draw_legibility(frame: pl.DataFrame) -> ChartType:
    def draw(part: pl.DataFrame) -> ChartType:
        place = (pl.col("similarity") / _BIN).floor().clip(0, 1 / _BIN - 1) * _BIN
        bins = part.group_by(place.alias("from")).len("items").with_columns(
            (pl.col("from") + _BIN).alias("to"), pl.col("items").cast(pl.Int64)
        )  # fmt: skip
        median = float(part.select(pl.col("similarity").median()).item())
        x = across("read like its text", domain=(0, 1), form=".2f")
        bars = alt.Chart(values(bins)).mark_bar(color=palette.SIGHTED, opacity=0.85)
        told = alt.Chart(values([{"at": median, "told": f"median {median:.3f}"}]))
        words = told.mark_text(align="right", dx=-6, dy=-52, color=palette.INK).encode(x=x("at"), text="told:N")
        drawn = bars.encode(x=x("from"), x2="to", y=alt.Y("items:Q", axis=None))
        return layered(drawn, dashed(median), words).properties(width=_WIDTH, height=110)

    return one_each(frame, "look", draw)


def _looks(material: Material) -> pl.DataFrame:
    table = material.measured("looks", scope="all").filter(pl.col("model") == EVERYBODY)
    known = table.drop_nulls("effect")
    if known.is_empty():
        raise NotMeasurable("looks: no level has an effect that can be told")
    told = pl.col("factor").str.replace("^look_", "") + " · " + pl.col("level")
    return known.select("look", told.alias("row"), *bounded("effect"), "p_adjusted", "n")


def _draw_looks(frame: pl.DataFrame) -> ChartType:
    def draw(part: pl.DataFrame) -> ChartType:
        order = part.get_column("row").to_list()
        dots = intervals(alt.Chart(values(part)), "effect", across("effect", form=POINTS), y=rows(order, "row"))
        return layered(dashed(), dots).properties(width=_WIDTH, height=step(len(order)))

    return one_each(frame, "look", draw)
