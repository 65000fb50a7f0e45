"""What is left is measured on the panel that decided, and on held-out models that did not."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from eyetest.filters import Evidence, Seat
from eyetest.recipes.loading import load_recipe
from eyetest.recipes.panels import asked_of_all, residual
from eyetest.records import Choice, Item
from tests.filters.answers import judge

pytestmark = pytest.mark.journey


PANELS = 50
RULE = msgspec.structs.replace(load_recipe("mmstar").stages[0], full_counts=True)
BLIND = "<no_image>"


class Matrix(NamedTuple):
    """Who answered what blind: models × items."""

    models: list[str]
    items: list[str]
    right: NDArray[np.int64]

    def evidence(self, models: Sequence[str] = ()) -> Evidence:
        rows = [
            {"item": item, "model": model, "request": f"{item}/{model}", "score": float(self.right[m, i])}
            for m, model in enumerate(self.models)
            for i, item in enumerate(self.items)
            if not models or model in models
        ]
        usual = {"outcome": "answered", "reading": None, "choice": None, "metric": "given", "order": 0, "sample": 0}
        frame = pl.DataFrame(rows).with_columns(*(pl.lit(value).alias(name) for name, value in usual.items()))
        return Evidence(frame, models or self.models, 1)


@pytest.fixture(scope="module")
def matrix(shared: Path) -> Matrix:
    with (shared / "data/vlm_matrices/normal_mmmu.csv").open(encoding="utf-8-sig", newline="") as file:
        head, *rows = list(csv.reader(file))
    places = [place for place, name in enumerate(head) if name.startswith(BLIND)]
    right = np.array([[int(float(row[place])) for place in places] for row in rows])
    return Matrix([row[0] for row in rows], [head[place].removeprefix(BLIND) for place in places], right)


def item(name: str) -> Item:
    return Item(id=name, question=f"Which one is {name}?", choices=(Choice("a", True), Choice("b")))


def test_what_is_left_is_answered_blind_more_by_models_that_had_no_say(matrix: Matrix, record_property: Any) -> None:
    """Fifty random panels of 8; the other 16 are held out. The residual is the recipe's own figure."""
    evidence, items = matrix.evidence(), [item(name) for name in matrix.items]
    found = []
    for seed in range(PANELS):
        order = np.random.default_rng(seed).permutation(24)
        seats, out = ([Seat(matrix.models[m]) for m in part] for part in (order[:8], order[8:]))
        verdicts = judge(RULE, items, matrix.evidence([seat.model for seat in seats]))
        left = [one for one, verdict in zip(items, verdicts, strict=True) if verdict.verdict == "keep"]
        hits = matrix.right[order[:8]].sum(axis=0)
        assert [one.id for one in left] == [name for name, n in zip(matrix.items, hits, strict=True) if n <= 2]
        clean = matrix.right[:, hits <= 2]
        inside, outside = (float(clean[part].mean()) for part in (order[:8], order[8:]))
        if seed < 3:
            own = (
                residual(("i", "", "after"), evidence, asked_of_all(evidence, who, items), left).accuracy.value
                for who in (seats, out)
            )
            assert list(own) == pytest.approx([inside, outside])
        found.append((inside, outside, len(left)))
    panel, held_out, left_over = np.array(found, float).T
    for name, values in (("panel", panel), ("held out", held_out), ("left", left_over)):
        low, high = np.quantile(values, [0.025, 0.975])
        record_property(name, float(values.mean()))
        print(f"{name}: {values.mean():.3f} [{low:.3f}, {high:.3f}] over {PANELS} panels")
    assert panel.mean() == pytest.approx(0.13, abs=0.015)
    assert held_out.mean() == pytest.approx(0.21, abs=0.025)
    assert (held_out > panel).all()
