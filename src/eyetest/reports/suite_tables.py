"""The tables of a suite, as ReForm-Eval prints them: models in rows, dimensions, tasks or datasets in columns."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl
import polars.selectors as cs

from eyetest.measures import MEASURES, NotMeasurable
from eyetest.measures.printed import csv_text
from eyetest.measures.results import PROTOCOL, TAG, with_unread
from eyetest.pages.plots import bounded, rebounded
from eyetest.records.recipe import SUITE_TAGS
from eyetest.reports.material import Material
from eyetest.store import replacing_folder

_DECIMALS = 10  # sums in another order differ in their last bits; a table is the same, however its answers arrived


def suite_tables(material: Material) -> dict[str, pl.DataFrame]:
    """All tables that these results give, by name."""
    measured = partial(material.measured, scope="all")
    makers = {f"accuracy-by-{tag}": partial(accuracy_by, material, tag) for tag in SUITE_TAGS}
    makers |= {f"instability-by-{tag}": partial(instability_by, material, tag) for tag in SUITE_TAGS}
    makers |= {
        "instability-by-source": partial(measured, "instability"),
        "scores": partial(measured, "accuracy", SUITE_TAGS),
        "overall": partial(_overall, material),
        "format-hits": partial(format_hits, material),
        "positions": partial(measured, "positions"),
        "circular": partial(measured, "circular"),
        "correlation": partial(measured, "correlation", SUITE_TAGS[:1]),
    }
    tables = {}
    for name, make in makers.items():
        with suppress(NotMeasurable):
            tables[name] = make()
    asked = {"options": material.fewer_options, "corpus": material.corpora}
    return tables | {name: table for name, table in asked.items() if table is not None and not table.is_empty()}


def write_suite_tables(tables: dict[str, pl.DataFrame], folder: Path) -> None:
    """Write each table as NAME.csv, replacing all earlier ones."""
    with replacing_folder(folder) as new:
        for name, table in tables.items():
            text = csv_text(table.with_columns(cs.float().round(_DECIMALS) + 0.0))
            (new / f"{name}.csv").write_bytes(text.encode("utf-8", "replace"))


def accuracy_by(material: Material, tag: str) -> pl.DataFrame:
    """Accuracy by the values of a tag; by dimension, with the mean rank over them and the rank by that mean."""
    measured = material.measured("accuracy", (tag,), scope="all")
    table = with_unread(_wide(measured, TAG + tag, _values(material, tag), "accuracy"), material.results)
    if tag != SUITE_TAGS[0]:
        return table
    try:
        ranks = material.measured("ranks", (tag,), scope="all")
    except NotMeasurable:
        return table
    keys = [key for key in ("model", *PROTOCOL) if key in ranks.columns and key in table.columns]
    told = ranks.select(*keys, *bounded("mean_rank"), *rebounded("rank_of_mean_ranks", "rank"))
    ranked = table.join(told, on=keys, how="left")
    return ranked.sort(*keys[1:], "rank", "model", nulls_last=True)


def instability_by(material: Material, tag: str) -> pl.DataFrame:
    """The entropy of choices, over all tests, by the values of a tag."""
    table = material.measured("instability", (tag,), scope="all").filter(pl.col("source") == "all")
    return _wide(table, TAG + tag, _values(material, tag), "entropy")


def format_hits(material: Material) -> pl.DataFrame:
    """The format hit rate of each model; with several kinds of examples, a column for each."""
    table = material.measured("format-hits", scope="all")
    return _wide(table, "shots", table["shots"], "format_hits") if "shots" in table.columns else table


def _wide(table: pl.DataFrame, across: str, names: Iterable[str], value: str) -> pl.DataFrame:
    """A row per model and protocol, a value with its interval for each name in the column ``across``."""
    keys = [key for key in ("model", *PROTOCOL) if key in table.columns and key != across]
    rows = table.select(keys).unique(maintain_order=True)
    for name in dict.fromkeys(names):
        part = table.filter(pl.col(across) == name)
        rows = rows.join(part.select(*keys, *rebounded(value, name)), on=keys, how="left", maintain_order="left")
    return rows


def _values(material: Material, tag: str) -> pl.Series:
    """The values of a tag, in the order of the suite."""
    return material.results.items.get_column(TAG + tag).drop_nulls().unique(maintain_order=True)


def _overall(material: Material) -> pl.DataFrame:
    """Overall scores, and those of each dimension: weighted by items, and each dataset alike."""
    own = {"task": "dataset", "domain": "dimension"}
    return MEASURES["overall"].measure(material.results, replace(material.settings, by=(), own=own)).table
