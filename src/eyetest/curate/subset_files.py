"""The basis of a drawn subset on disk: curves and chances of all items, and the abilities of the panel."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from eyetest.curate.subset_designs import Subset
from eyetest.errors import InputError
from eyetest.measures.stats.item_analysis import SCALE, ItemFit
from eyetest.runs.stored import scan_table
from eyetest.store import replacing_file
from eyetest.store.files import add_checksum

CURVES, PANEL = "curves.parquet", "panel.parquet"


class Curves(NamedTuple):
    """Basis of a subset: items, which of them are drawn with what chances, models, and fit."""

    items: Sequence[str]
    subset: Subset
    models: Sequence[str]
    fitted: ItemFit


def write_curves(folder: Path, basis: Curves) -> None:
    """Write the basis of a subset into a folder."""
    _, (taken, chances), models, fitted = basis
    columns = {"slope": fitted.slopes, "intercept": fitted.intercepts, "chance": chances}
    is_drawn = np.isin(np.arange(len(chances)), taken)
    curves = pl.DataFrame({"item": basis.items, **columns, "drawn": is_drawn}, schema_overrides={"item": pl.String})
    panel = pl.DataFrame({"model": models, "abilities": fitted.panel.tolist()})
    for name, table in ((CURVES, curves), (PANEL, panel)):
        with replacing_file(folder / name) as path:
            table.write_parquet(path, compression="zstd")
            add_checksum(path)


def read_curves(folder: Path) -> Curves:
    """Read the basis of the subset in a folder."""
    try:
        curves, panel = (scan_table(folder / name, "draw the subset again").collect() for name in (CURVES, PANEL))
        items, slopes, intercepts, chances, taken = curves.select(
            "item", "slope", "intercept", "chance", "drawn"
        ).get_columns()
        models, standing = panel.select("model", "abilities").get_columns()
    except (FileNotFoundError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{folder} is no subset that eyetest drew from answers: {str(error).splitlines()[0]}"
        ) from None
    fitted = ItemFit(slopes.to_numpy(), intercepts.to_numpy(), np.array(standing.to_list(), float), 0, True)
    if fitted.panel.shape[1:] != SCALE.shape:
        raise InputError(f"{folder} was made by another version of eyetest; draw it again")
    subset = Subset(np.flatnonzero(taken.to_numpy()), chances.to_numpy())
    return Curves(items.to_list(), subset, models.to_list(), fitted)
