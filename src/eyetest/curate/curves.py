"""What a small part was drawn by, on disk beside it: curves of all items, the panel, and how far estimates missed."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from eyetest.curate.calibration import Missed, families
from eyetest.errors import InputError
from eyetest.measures.stats.item_analysis import SCALE, ItemFit
from eyetest.store import replacing_file

CURVES, PANEL = "curves.parquet", "panel.parquet"
_MISSED, _FOLD = "missed", "fold"


class Curves(NamedTuple):
    """What a part was drawn by: the items of the whole benchmark, in order, their fit, and who was fitted.

    ``chances`` are each item's to be drawn; ``missed`` says how far estimates of panel models were off when they
    were left out, None in parts that were drawn before that was tried.
    """

    items: Sequence[str]
    models: Sequence[str]
    fitted: ItemFit
    chances: Sequence[float]
    missed: Missed | None


def write_curves(folder: Path, drawn: Curves) -> None:
    """Write into a folder what a part was drawn by."""
    curves = pl.DataFrame(
        {
            "item": drawn.items,
            "slope": drawn.fitted.slopes,
            "intercept": drawn.fitted.intercepts,
            "chance": drawn.chances,
        },
        schema_overrides={"item": pl.String, "chance": pl.Float64},
    )
    panel = pl.DataFrame({"model": drawn.models, "abilities": drawn.fitted.panel.tolist()})
    if drawn.missed is not None:
        panel = panel.with_columns(
            pl.Series(_MISSED, drawn.missed.errors.tolist()), pl.Series(_FOLD, drawn.missed.folds.tolist())
        )
    for name, table in ((CURVES, curves), (PANEL, panel)):
        with replacing_file(folder / name) as path:
            table.write_parquet(path, compression="zstd")


def read_curves(folder: Path) -> Curves:
    """What the part in a folder was drawn by."""
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
    models, missed = panel.get_column("model").to_list(), None
    if _MISSED in panel.columns:
        errors = np.array(panel.get_column(_MISSED).to_list(), float)
        missed = Missed(errors, families(models), panel.get_column(_FOLD).to_numpy())
    items, chances = curves.get_column("item").to_list(), curves.get_column("chance").to_list()
    return Curves(items, models, fitted, chances, missed)
