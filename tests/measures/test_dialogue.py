"""Accuracy by turn of a dialogue, with either history, and its slope."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from eyetest.measures.stats.ranking import slope_within
from tests.measures.tables import results

ITEMS = [
    {"item": f"{dialogue}{turn}", "tag.dialogue": dialogue, "tag.turn": str(turn), "cluster": f"{dialogue}{turn}"}
    for dialogue in "abcd"
    for turn in (1, 2, 3)
]


def scores(history: str, values: Mapping[str, Sequence[float | None]], **axes: Any) -> list[dict[str, Any]]:
    """The scores of the turns of each dialogue."""
    return [
        {"item": f"{dialogue}{turn}", "history": history, "score": score, **axes}
        for dialogue, row in values.items()
        for turn, score in enumerate(row, 1)
    ]


GOLD: dict[str, list[float | None]] = {"a": [1, 1, 1], "b": [1, 1, 0], "c": [1, 0, 1], "d": [1, 1, 1]}
OWN: dict[str, list[float | None]] = {"a": [1, 0, 0], "b": [1, 1, 0], "c": [1, 0, 0], "d": [1, 1, None]}


def measured(name: str, found: Results, **settings: Any) -> pl.DataFrame:
    return MEASURES[name].measure(found, Settings(**settings)).table


def test_both_histories_side_by_side() -> None:
    found = results(scores("gold", GOLD) + scores("own", OWN), ITEMS)
    table = measured("dialogue", found)
    assert table.select("model", "turn", "gold", "own", "n_gold", "n_own", "n").rows() == [
        ("m", 1, 1.0, 1.0, 4, 4, 4),
        ("m", 2, 0.75, 0.5, 4, 4, 4),
        ("m", 3, 0.75, 0.0, 4, 3, 3),
    ]
    assert table["difference"].to_list() == pytest.approx([0, -0.25, -2 / 3])
    bounds = table.select("own_low", "own", "own_high").rows()
    assert all(0 <= low <= value <= high <= 1 for low, value, high in bounds)


def test_one_history_alone_and_tests_averaged() -> None:
    rows = (
        scores("own", OWN)
        + scores("own", {"a": [0, 0, 0]}, sample=1)
        + scores("own", OWN, model="z", modality="no-image")
    )
    table = measured("dialogue", results(rows, ITEMS))
    assert table.columns[:7] == ["model", "modality", "turn", "own", "own_low", "own_high", "n"]
    assert table.columns[7:] == ["own_slope", "own_slope_low", "own_slope_high", "own_dialogues"]
    assert table.filter(pl.col("model") == "m")["own"].to_list() == pytest.approx([3.5 / 4, 0.5, 0])


def test_slopes_are_within_dialogues() -> None:
    """Dialogues that differ in level and in length have the slope that each of them has."""
    short: dict[str, list[float | None]] = {"a": [0.9, 0.8, 0.7], "b": [0.2, 0.1, None], "c": [0.5, None, None]}
    table = measured("dialogue", results(scores("gold", short), ITEMS))
    assert table["n"].sum() == 6
    assert table["gold_dialogues"].unique().to_list() == [2]
    assert table["gold_slope"].to_list() == pytest.approx([-0.1] * 3)

    found = results(scores("gold", GOLD) + scores("own", OWN), ITEMS)
    both = measured("dialogue", found)
    assert both["gold_slope"][0] == pytest.approx(-0.125)
    alike = measured("dialogue", results(scores("gold", GOLD) + scores("own", GOLD), ITEMS))
    nothing = alike.select("difference_slope", "difference_slope_low", "difference_slope_high").row(0)
    assert nothing == (0, None, None), "nothing differs, nothing varies"
    whole = results(scores("gold", GOLD) + scores("own", OWN | {"d": [1.0, 1.0, 1.0]}), ITEMS)
    slopes = measured("dialogue", whole)
    gold, own, difference = (slopes[f"{history}_slope"][0] for history in ("gold", "own", "difference"))
    assert difference == pytest.approx(own - gold)


def test_dialogues_are_clusters_unless_images_join_them() -> None:
    alone = measured("dialogue", results(scores("gold", GOLD), ITEMS))
    joined = [item | {"cluster": "p" if item["tag.dialogue"] in "ab" else "q"} for item in ITEMS]
    together = measured("dialogue", results(scores("gold", GOLD), joined))
    assert together["gold_slope"][0] == pytest.approx(alone["gold_slope"][0])
    assert together["gold_slope_high"][0] > alone["gold_slope_high"][0]
    one = [item | {"cluster": "p"} for item in ITEMS]
    assert measured("dialogue", results(scores("gold", GOLD), one))["gold_slope_low"][0] is None


def test_by_tag() -> None:
    items = [item | {"tag.kind": "x" if item["tag.dialogue"] in "ab" else "y"} for item in ITEMS]
    table = measured("dialogue", results(scores("gold", GOLD), items), by=("kind",))
    assert table.filter(pl.col("tag.kind") == "y")["gold"].to_list() == [1, 0.5, 1]


def test_without_dialogues() -> None:
    with pytest.raises(NotMeasurable, match="which turn of which dialogue"):
        measured("dialogue", results(scores("gold", GOLD), [{"item": "a1"}]))
    with pytest.raises(NotMeasurable, match="has a score"):
        measured("dialogue", results(scores("gold", {"a": [None]}), ITEMS))


@pytest.mark.parametrize("seed", range(3))
def test_the_slope_is_that_of_statsmodels(seed: int) -> None:
    """Least squares with a dummy for each dialogue, clustered."""
    api = pytest.importorskip("statsmodels.api")
    draw = np.random.default_rng(seed)
    groups = np.repeat(np.arange(30), 6)
    x = np.tile(np.arange(1.0, 7.0), 30)
    y = draw.normal(size=30)[groups] - 0.05 * x + draw.normal(size=180) * draw.uniform(0.5, 1.5, 30)[groups]
    kept = draw.random(180) < 0.8
    x, y, groups = x[kept], y[kept], groups[kept]
    found, dialogues = slope_within(x, y, groups, groups)
    counts = np.bincount(groups, minlength=30)
    centred = [v - (np.bincount(groups, v, 30) / np.maximum(counts, 1))[groups] for v in (x, y)]
    fitted = api.OLS(centred[1], centred[0]).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    assert found.value == pytest.approx(fitted.params[0])
    assert (found.low, found.high) == pytest.approx(tuple(fitted.conf_int()[0]))
    assert dialogues == (counts > 1).sum()


def test_intervals_hold_the_slope() -> None:
    draw = np.random.default_rng(4)
    groups, x = np.repeat(np.arange(60), 5), np.tile(np.arange(5.0), 60)
    hits = 0
    for _ in range(400):
        level = draw.uniform(0.3, 0.9, 60)[groups]
        y = (draw.random(300) < np.clip(level - 0.04 * x, 0, 1)).astype(float)
        found, _ = slope_within(x, y, groups, groups)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= -0.04 <= found.high
    assert 0.92 <= hits / 400 <= 0.98
