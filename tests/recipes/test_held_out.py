"""What is left is measured on the panel that decided, and on held-out models that did not."""

import csv
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from eyetest.filters import Evidence, Seat
from eyetest.recipes.loading import load_recipe
from eyetest.recipes.panels import asked_of_all, residual
from tests.filters.answers import evidence, item, judge

pytestmark = pytest.mark.journey


PANELS = 50
RULE = msgspec.structs.replace(load_recipe("mmstar").stages[0], full_counts=True)


def test_what_is_left_is_answered_blind_more_by_models_that_had_no_say(shared: Path, record_property: Any) -> None:
    """Fifty random panels of 8; the other 16 are held out. The residual is the recipe's own figure."""
    with (shared / "data/vlm_matrices/normal_mmmu.csv").open(encoding="utf-8-sig", newline="") as file:
        head, *rows = list(csv.reader(file))
    places = [place for place, name in enumerate(head) if name.startswith("<no_image>")]
    right = np.array([[int(float(row[place])) for place in places] for row in rows])
    items = [item(head[place]) for place in places]

    def received(models: NDArray[np.int64]) -> Evidence:
        return evidence({one.id: right[models, place, None].tolist() for place, one in enumerate(items)})

    found = []
    for seed in range(PANELS):
        order = np.random.default_rng(seed).permutation(24)
        verdicts = judge(RULE, items, received(order[:8]))
        left = [one for one, verdict in zip(items, verdicts, strict=True) if verdict.verdict == "keep"]
        hits = right[order[:8]].sum(axis=0)
        assert [one.id for one in left] == [one.id for one, n in zip(items, hits, strict=True) if n <= 2]
        clean = right[:, hits <= 2]
        inside, outside = (float(clean[part].mean()) for part in (order[:8], order[8:]))
        if seed < 3:
            whole = received(np.arange(24))
            seats = ([Seat(f"m{model}") for model in part] for part in (order[:8], order[8:]))
            own = (residual(("i", "", "after"), whole, asked_of_all(whole, who, items), left) for who in seats)
            assert [one.accuracy.value for one in own] == pytest.approx([inside, outside])
        found.append((inside, outside, len(left)))
    panel, held_out, left_over = np.array(found, float).T
    for name, values in (("panel", panel), ("held out", held_out), ("left", left_over)):
        low, high = np.quantile(values, [0.025, 0.975])
        record_property(name, float(values.mean()))
        print(f"{name}: {values.mean():.3f} [{low:.3f}, {high:.3f}] over {PANELS} panels")
    assert panel.mean() == pytest.approx(0.13, abs=0.015)
    assert held_out.mean() == pytest.approx(0.21, abs=0.025)
    assert (held_out > panel).all()
