"""A fit on disk: each item's curve, and where the panel's models stand. What estimating needs, as plain Parquet."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from eyetest.errors import InputError
from eyetest.measures.stats.item_response import SCALE, ItemFit
from eyetest.store.replacing import replacing_file

CURVES, PANEL = "curves.parquet", "panel.parquet"


def write_curves(
    folder: Path, items: Sequence[str], models: Sequence[str], fitted: ItemFit, chances: Sequence[float]
) -> None:
    """Write a fit into a folder, with each item's chance to be drawn."""
    curves = pl.DataFrame(
        {"item": items, "slope": fitted.slopes, "intercept": fitted.intercepts, "chance": chances},
        schema_overrides={"item": pl.String, "chance": pl.Float64},
    )
    panel = pl.DataFrame({"model": models, "abilities": fitted.panel.tolist()})
    for name, table in ((CURVES, curves), (PANEL, panel)):
        with replacing_file(folder / name) as place:
            table.write_parquet(place, compression="zstd")


def read_curves(folder: Path) -> tuple[list[str], ItemFit]:
    """The items of the whole benchmark, in order, and the fit."""
    try:
        curves, panel = (pl.read_parquet(folder / name, glob=False) for name in (CURVES, PANEL))
        fitted = ItemFit(
            curves.get_column("slope").to_numpy(),
            curves.get_column("intercept").to_numpy(),
            np.array(panel.get_column("abilities").to_list(), float),
            0,
            True,
        )
    except (FileNotFoundError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{folder} is no subset that eyetest drew from answers: {str(error).splitlines()[0]}"
        ) from None
    if fitted.panel.shape[1:] != SCALE.shape:
        raise InputError(f"{folder} was made by another version of eyetest; draw it again")
    return curves.get_column("item").to_list(), fitted
