"""The tables of a suite, as ReForm-Eval prints them: models in rows, dimensions, tasks or datasets in columns."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import polars as pl
import polars.selectors as cs

from eyetest.measures import MEASURES, NotMeasurable
from eyetest.measures.printed import csv_text
from eyetest.measures.results import PROTOCOL, TAG
from eyetest.pages.plots import bounded
from eyetest.records.suite import SUITE_TAGS
from eyetest.reports.material import Material
from eyetest.store import replacing_folder

_DECIMALS = 10
"""Sums in another order differ in their last bits; a table is the same, however its answers arrived."""
_TALLIES = ("positions", "circular")


def suite_tables(material: Material) -> dict[str, pl.DataFrame]:
    """All tables that these results give, by name."""
    tables = {}
    for name, make in _tables(material):
        with suppress(NotMeasurable):
            tables[name] = make()
    return tables


def write_suite_tables(tables: dict[str, pl.DataFrame], folder: Path) -> None:
    """Each table as NAME.csv, in the place of all that were there before."""
    with replacing_folder(folder) as new:
        for name, table in tables.items():
            text = csv_text(table.with_columns(cs.float().round(_DECIMALS) + 0.0))
            (new / f"{name}.csv").write_bytes(text.encode("utf-8", "replace"))


def _tables(material: Material) -> Iterator[tuple[str, Callable[[], pl.DataFrame]]]:
    for tag in SUITE_TAGS:
        yield f"accuracy-by-{tag}", lambda tag=tag: accuracy_by(material, tag)  # type: ignore[misc]
    for tag in SUITE_TAGS:
        yield f"instability-by-{tag}", lambda tag=tag: instability_by(material, tag)  # type: ignore[misc]
    yield "instability-by-source", lambda: material.measured("instability", scope="all")
    yield "scores", lambda: material.measured("accuracy", SUITE_TAGS, scope="all")
    yield "overall", lambda: _overall(material)
    yield "format-hits", lambda: format_hits(material)
    for name in _TALLIES:
        yield name, lambda name=name: material.measured(name, scope="all")  # type: ignore[misc]
    yield "correlation", lambda: material.measured("correlation", SUITE_TAGS[:1], scope="all")
    yield "options", lambda: _known(material.fewer_options, "options")
    yield "corpus", lambda: _known(material.corpora, "corpus")


def accuracy_by(material: Material, tag: str) -> pl.DataFrame:
    """Accuracy by the values of a tag; by dimension, with the mean rank over them and the rank by that mean."""
    measured = material.measured("accuracy", (tag,), scope="all")
    table = _wide(measured, TAG + tag, _values(material, tag), "accuracy")
    if tag != SUITE_TAGS[0]:
        return table
    try:
        ranks = material.measured("ranks", (tag,), scope="all")
    except NotMeasurable:
        return table
    keys = [key for key in ("model", *PROTOCOL) if key in ranks.columns and key in table.columns]
    told = [pl.col(f"rank_of_mean_ranks{end}").alias(f"rank{end}") for end in ("", "_low", "_high")]
    ranked = table.join(ranks.select(*keys, *bounded("mean_rank"), *told), on=keys, how="left")
    return ranked.sort(*keys[1:], "rank", "model", nulls_last=True)


def instability_by(material: Material, tag: str) -> pl.DataFrame:
    """The entropy of choices, over all tests, by the values of a tag."""
    table = material.measured("instability", (tag,), scope="all").filter(pl.col("source") == "all")
    return _wide(table, TAG + tag, _values(material, tag), "entropy")


def format_hits(material: Material) -> pl.DataFrame:
    """The format hit rate of each model; where examples were given in several ways, a column for each of them."""
    table = material.measured("format-hits", scope="all")
    return _wide(table, "shots", table["shots"], "format_hits") if "shots" in table.columns else table


def _wide(table: pl.DataFrame, across: str, names: Iterable[str], value: str) -> pl.DataFrame:
    """A row a model and protocol, a value with its interval for each name that stands in the column ``across``."""
    keys = [key for key in ("model", *PROTOCOL) if key in table.columns and key != across]
    rows = table.select(keys).unique(maintain_order=True)
    for name in dict.fromkeys(names):
        part = table.filter(pl.col(across) == name)
        columns = [pl.col(f"{value}{end}").alias(f"{name}{end}") for end in ("", "_low", "_high")]
        rows = rows.join(part.select(*keys, *columns), on=keys, how="left", maintain_order="left")
    return rows


def _values(material: Material, tag: str) -> pl.Series:
    """The values of a tag, in the order of the suite."""
    return material.results.items.get_column(TAG + tag).drop_nulls().unique(maintain_order=True)


def _overall(material: Material) -> pl.DataFrame:
    """All datasets in one number, and those of each dimension: weighted by items, and each dataset alike."""
    own = {"task": "dataset", "domain": "dimension"}
    return MEASURES["overall"].measure(material.results, replace(material.settings, by=(), own=own)).table


def _known(table: pl.DataFrame | None, name: str) -> pl.DataFrame:
    if table is None or table.is_empty():
        raise NotMeasurable(f"{name}: nothing of the kind was asked")
    return table
