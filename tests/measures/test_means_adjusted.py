"""Tests in one table are adjusted for each other: chance alone raises an alarm no more often than one test would."""

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.multitest import multipletests

from eyetest.measures import MEASURES, Results, Settings
from eyetest.measures.results import own_settings
from eyetest.measures.tables import with_adjusted
from eyetest.reports.figures import FIGURES
from eyetest.reports.report import Material
from tests.measures.tables import results


def test_each_family_is_adjusted_by_itself_and_what_was_not_tested_is_left_out() -> None:
    table = pl.DataFrame({"of": ["x", "y", "x", "x", "y"], "p": [0.01, 0.04, None, 0.03, 0.02], "n": range(5)})
    found = with_adjusted(table, ["of"])
    assert found.columns == ["of", "p", "p_adjusted", "n"]
    assert found.get_column("p_adjusted").to_list() == pytest.approx([0.02, 0.04, None, 0.03, 0.04])
    together = with_adjusted(table, []).get_column("p_adjusted").drop_nulls().to_list()
    assert together == pytest.approx(multipletests([0.01, 0.04, 0.03, 0.02], method="holm")[1])


def guessers(models: int, items: int = 200, seed: int = 0) -> Results:
    """Models that draw lots among four options, with the image and without it."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 4, items)
    rows = []
    for model in range(models):
        for modality in ("image", "no-image"):
            picked = rng.integers(0, 4, items)
            rows += [
                {
                    "item": str(i),
                    "model": f"m{model:02}",
                    "modality": modality,
                    "choice": "ABCD"[pick],
                    "score": float(pick == gold[i]),
                }
                for i, pick in enumerate(picked)
            ]
    known = [
        {"item": str(i), "options": 4, "position": int(g), "gold": "ABCD"[g], "tag.core": "abcdefgh"[i % 8]}
        for i, g in enumerate(gold)
    ]
    return results(rows, known)


def test_places_that_nobody_prefers_are_not_in_colour() -> None:
    """Of 160 places that lots were drawn for, intervals alone blame several."""
    found = guessers(40)
    shown = FIGURES["positions"].numbers(Material(found))
    alone = shown.filter((pl.col("difference_low") > 0) | (pl.col("difference_high") < 0))
    assert len(alone) > 3
    assert not shown.get_column("preferred").any()


def test_a_place_that_is_preferred_is_found() -> None:
    found = guessers(12)
    lazy = pl.when(pl.col("model") == "m03").then(pl.lit("A")).otherwise("choice").alias("choice")
    shown = FIGURES["positions"].numbers(Material(Results(found.scores.with_columns(lazy), found.items)))
    assert set(shown.filter("preferred").get_column("series")) == {"m03"}


@pytest.mark.parametrize(
    ("name", "own"), [("linked", {"from": "modality=no-image", "to": "modality=image"}), ("correlation", {})]
)
def test_tables_say_both(name: str, own: dict[str, str]) -> None:
    measure = MEASURES[name]
    by = ("core",) if name == "correlation" else ()
    scores = guessers(8)
    if name == "correlation":
        scores = Results(scores.scores.filter(pl.col("modality") == "image"), scores.items)
    table = measure.measure(scores, Settings(by=by, own=own_settings(measure, own))).table
    part = table.filter(pl.col("method") == "spearman") if name == "correlation" else table
    alone, adjusted = (part.get_column(column).to_list() for column in ("p", "p_adjusted"))
    assert adjusted == pytest.approx(multipletests(alone, method="holm")[1])
    assert min(alone) < min(adjusted)
