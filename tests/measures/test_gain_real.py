"""Gain of 24 real models on MMMU, which answered with and without the image."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.runs.conftest import Eyetest
from tests.runs.conftest import eyetest as eyetest


def test_gain_on_mmmu(shared: Path, tmp_path: Path, eyetest: Eyetest) -> None:
    path = shared / "data/vlm_matrices/normal_mmmu.csv"
    eyetest(
        *("import", path, "--to", tmp_path / "run", "--matrix", "model"),
        *("--header", r"(?P<modality><no_\w+>)?(?P<item>.+)"),
        *("--map-values", "modality=<no_image>>no-image,<no_question>>no-question,<no_info>>nothing"),
    ).fine()
    rows = json.loads(eyetest("measure", "gain", tmp_path / "run", "--output", "json").fine())["rows"]
    table = pl.read_csv(path, infer_schema_length=None)
    items = [name for name in table.columns[1:] if not name.startswith("<")]
    sighted = table.select(items).to_numpy()
    blind = table.select([f"<no_image>{name}" for name in items]).to_numpy()
    gains = dict(zip(table.get_column(table.columns[0]), (sighted - blind).mean(axis=1), strict=True))
    assert {row["model"]: row["gain"] for row in rows[:-1]} == pytest.approx(gains)
    assert rows[-1]["gain"] == pytest.approx(np.mean(list(gains.values())), abs=1e-9)
    for row in rows:
        assert row["gain_low"] < row["gain"] < row["gain_high"]
        assert (row["leakage"], row["n"] % 847) == (None, 0)
    widths = [row["gain_high"] - row["gain_low"] for row in rows[:-1]]
    assert 0.04 < min(widths) < max(widths) < 0.1
    assert sum(row["gain_low"] > 0 for row in rows[:-1]) == 22  # all but two gain from the image for sure
