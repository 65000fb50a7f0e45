"""The effect of a screenshot's look on scores."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.errors import EyetestError
from eyetest.measures import MEASURES, Measured, NotMeasurable, Results, Settings
from tests.measures.tables import results

FONTS, THEMES = ("serif", "sans", "mono"), ("light", "dark")


def made(items: int = 120, effect: float = 0.0, seed: int = 0, *, original: bool = False) -> Results:
    """Two models on screenshots whose dark theme costs ``effect``, and perhaps on the items before."""
    chance = np.random.default_rng(seed)
    fonts, themes = chance.permutation(np.arange(items) % 3), chance.permutation(np.arange(items) % 2)
    rows: list[dict[str, Any]] = []
    about: list[dict[str, Any]] = []
    for item in range(items):
        name, hardness = str(item), chance.random()
        tags = {"tag.look": "screen", "tag.look_font": FONTS[fonts[item]], "tag.look_theme": THEMES[themes[item]]}
        about.append({"item": name, "benchmark": "shots"} | tags)
        if original:
            about.append({"item": name, "benchmark": "plain"})
        for model in ("a", "b"):
            right = hardness - effect * themes[item] > chance.random()
            rows.append(
                {"item": name, "benchmark": "shots", "model": model, "modality": "screenshot", "score": right}
            )
            if original:
                score = float(hardness > chance.random())
                rows.append({"item": name, "benchmark": "plain", "model": model, "score": score})
    return results(rows, about)


def measured(found: Results, **own: Any) -> Measured:
    return MEASURES["looks"].measure(found, Settings(own=own))


def test_a_planted_effect_is_found_where_it_is() -> None:
    table = measured(made(400, effect=0.3)).table
    assert table["factor"].unique().sort().to_list() == ["look_font", "look_theme"]
    dark = table.row(by_predicate=(pl.col("level") == "dark"), named=True)
    assert -0.25 < dark["effect"] < -0.08
    assert dark["effect_low"] < dark["effect"] < dark["effect_high"] < 0
    assert dark["p_adjusted"] == pytest.approx(2 * dark["p"])
    assert dark["p_adjusted"] < 0.001
    assert dark["n"] == 200
    assert table.filter(pl.col("factor") == "look_font")["p"].unique().item() > 0.05


def test_answers_in_another_setting_make_intervals_narrower_and_it_is_said() -> None:
    widths = []
    for original in (False, True):
        told = measured(made(300, original=original))
        widths.append(float(np.mean(told.table["effect_high"].to_numpy() - told.table["effect_low"].to_numpy())))
        assert any("300 items asked there too" in note for note in told.notes) == original
    assert widths[1] < 0.9 * widths[0]


def test_each_model_by_itself_where_asked_for() -> None:
    table = measured(made(), models=True).table
    assert table["model"].unique().sort().to_list() == ["a", "all models", "b"]
    assert measured(made()).table["model"].unique().to_list() == ["all models"]


def test_looks_are_compared_with_one_another_and_their_factors_within() -> None:
    items = [
        {
            "item": str(i),
            "tag.look": ("screen", "photo")[i % 2],
            "tag.look_angle": None if i % 2 == 0 else "ab"[i // 2 % 2],
        }
        for i in range(80)
    ]
    rows = [{"item": str(i), "modality": "screenshot", "score": float(i % 2 == 0 or i % 8 == 1)} for i in range(80)]
    table = measured(results(rows, items)).table
    assert table.select("look", "factor", "level").rows() == [
        ("all", "look", "photo"),
        ("all", "look", "screen"),
        ("photo", "look_angle", "a"),
        ("photo", "look_angle", "b"),
    ]
    assert table["effect"].to_list()[:2] == pytest.approx([-0.375, 0.375])


def test_few_items_are_told_by_a_note() -> None:
    assert any("each factor is fitted by itself" in note for note in measured(made(12)).notes)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (results([{"item": "1", "score": 1.0}], [{"item": "1"}]), "no item has a look"),
        (results([{"item": "2", "score": 1.0}], [{"item": "1", "tag.look": "screen"}]), "has a score"),
        (results([{"item": "1", "score": 1.0}], [{"item": "1", "tag.look": "screen"}]), "two levels"),
    ],
)
def test_where_there_is_nothing_to_compare_it_says_so(found: Results, why: str) -> None:
    with pytest.raises(NotMeasurable, match=why):
        measured(found)


def test_rows_by_tag_are_refused() -> None:
    with pytest.raises(EyetestError, match="no rows by tag"):
        MEASURES["looks"].measure(made(), Settings(by=("subject",)))
