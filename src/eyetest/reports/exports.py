"""Figures and tables as files for a paper: SVG, PNG and CSV, LaTeX and Markdown."""

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from eyetest.measures.printed import as_latex, as_markdown, csv_text
from eyetest.pages.charts import as_png
from eyetest.reports.figures import FIGURES
from eyetest.reports.telling import Report
from eyetest.store.replacing import refuse_to_lose, replacing_folder

HEADLINE = "headline"
_LONGEST_TABLE = 200
"""A longer one is for the CSV beside the figure."""
_TABLES: Mapping[str, Callable[[pl.DataFrame], str]] = {"tex": as_latex, "md": as_markdown}
_FIGURES = ("svg", "png", "csv")


def refuse_to_lose_files(folder: Path, *, overwrite: bool) -> None:
    """Stop before anything is drawn where it would take the place of something that is not ours."""
    names = {f"{name}.{end}" for name in (*FIGURES, HEADLINE) for end in (*_FIGURES, *_TABLES)}
    refuse_to_lose(folder, overwrite=overwrite, ours=names)


def write_figures(report: Report, folder: Path, *, overwrite: bool) -> int:
    """Each figure as NAME.svg, NAME.png and NAME.csv; how many there were."""
    with replacing_folder(folder, overwrite=overwrite) as place:
        for drawn in report.drawn:
            name = drawn.figure.name
            (place / f"{name}.svg").write_text(drawn.svg, encoding="utf-8")
            (place / f"{name}.png").write_bytes(as_png(drawn.chart))
            (place / f"{name}.csv").write_bytes(csv_text(drawn.numbers).encode("utf-8", "replace"))
    return len(report.drawn)


def write_tables(report: Report, folder: Path, *, overwrite: bool) -> int:
    """The headline and the numbers of every figure as NAME.tex and NAME.md; how many there were."""
    tables = {} if report.headline is None else {HEADLINE: report.headline}
    tables |= {drawn.figure.name: drawn.numbers for drawn in report.drawn if len(drawn.numbers) <= _LONGEST_TABLE}
    with replacing_folder(folder, overwrite=overwrite) as place:
        for name, table in tables.items():
            for end, write in _TABLES.items():
                (place / f"{name}.{end}").write_bytes(write(table).encode("utf-8", "replace") + b"\n")
    return len(tables)
