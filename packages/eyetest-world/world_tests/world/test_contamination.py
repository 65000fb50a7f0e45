"""The test of contamination on models whose training is known: error rates and power on the open half."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from contamination import compare
from contamination.compare import Half

pytestmark = pytest.mark.science
DATA = Path(__file__).parents[2] / "contamination"


@pytest.fixture(scope="module")
def half() -> Half:
    return Half(DATA, "open")


def test_clean_models_and_those_that_look_guilty_stay_below_the_declared_rates(half: Half) -> None:
    """Declared: at most 2 of 100 clean and 1 of 40 others below .01; power .8 at 1 % × 30, 2 % × 30 and 5 % × 10."""
    ps: dict[str, list[float]] = {}
    for model in half.models:
        strong = (len(model["items"]), model["exposure"]) in ((9, 30), (18, 30), (45, 10))
        if model["group"] != "contaminated" or strong:
            ps.setdefault(compare._cell(model), []).append(compare.twin_test(half, model["name"]))
    assert {cell: len(found) for cell, found in ps.items()} == {
        **{"clean": 100, "look guilty": 40},
        **dict.fromkeys(("1.0 % × 30", "2.0 % × 30", "5.0 % × 10"), 8),
    }
    below = {cell: sum(p < 0.01 for p in found) for cell, found in ps.items()}
    assert below["clean"] <= 2
    assert below["look guilty"] <= 1
    assert all(below[cell] >= 0.8 * 8 for cell in ("1.0 % × 30", "2.0 % × 30", "5.0 % × 10"))
    assert 0.3 < np.mean(ps["clean"]) < 0.7


def test_the_dose_is_covered(half: Half) -> None:
    half.models = [
        model for number, model in enumerate(half.models) if number % 4 == 0 or model["exposure"] in (10, 30)
    ]
    found = compare.doses(half)
    often = found.filter(pl.col("exposures") != 1, pl.col("exposures") != 3)
    assert found.get_column("low is below").min() >= 0.95  # type: ignore[operator]
    assert often.get_column("covered").min() >= 0.93  # type: ignore[operator]
    clean = found.row(by_predicate=pl.col("group") == "clean", named=True)
    assert 0.003 < clean["detectable"] < 0.01 < clean["detectable_half"] < 0.06
