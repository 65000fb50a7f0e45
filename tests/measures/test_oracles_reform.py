"""ReForm-Eval: printed ranks of mean ranks from the scores of the same table; its own output for TDIUC."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.measures.stats.ranking import mean_ranks
from tests.measures.tables import measure, results


def _table(shared: Path, method: str) -> tuple[pl.DataFrame, list[str]]:
    table = pl.read_csv(shared / "oracles/paper_tables/reform_T4.csv")
    dimensions = [name for name in table.columns if name.startswith(method) and name != f"{method}_R"]
    return table, dimensions


def _found(shared: Path, method: str) -> dict[str, tuple[float | None, float | None]]:
    """Each model's rank of mean ranks, and the printed one."""
    table, dimensions = _table(shared, method)
    _, ranked = mean_ranks(table.select(dimensions).to_numpy().T)
    printed = table.get_column(f"{method}_R").to_list()
    return {
        model: (None if np.isnan(found) else found, given)
        for model, found, given in zip(table.get_column("model"), ranked.tolist(), printed, strict=True)
    }


OTHERS = {
    "gen": {"LLaVA-1.6-13B _V": (7, 8)},  # as good as LLaVA-1.5-13B, which has place 7 in the paper too
    "lik": {"LLaVA-1.5-7B _V": (9, 7), "Qwen-VL-Chat": (3, 4), "LLaVA-1.6-7B _V": (10, 11), "Monkey": (7, 9)}
    | {"Deepseek-VL": (12, 10), "ShareGPT4V-7B": (4, 2), "ShareGPT4V-13B": (1, 2)},
}
"""The models whose rank is another than the printed one."""


@pytest.mark.parametrize(("method", "models"), [("gen", 26), ("lik", 23)])
def test_printed_ranks_come_out_for_25_of_26_models_and_16_of_23(shared: Path, method: str, models: int) -> None:
    found = {model: both for model, both in _found(shared, method).items() if both != (None, None)}
    assert len(found) == models
    assert {model: both for model, both in found.items() if both[0] != both[1]} == OTHERS[method]
    assert method == "lik" or found["LLaVA-1.5-13B _V"] == (7, 7)


@pytest.mark.parametrize("method", ["gen", "lik"])
def test_the_measure_gives_the_same_ranks_as_the_formula(shared: Path, method: str) -> None:
    """As if each dimension were one item: too few for intervals."""
    table, dimensions = _table(shared, method)
    rows = [
        {"model": row["model"], "item": name, "score": row[name]}
        for row in table.drop_nulls(dimensions).iter_rows(named=True)
        for name in dimensions
    ]
    answers = results(rows, [{"item": name, "tag.dimension": name} for name in dimensions])
    measured = measure("ranks", answers, ("dimension",), 100).table
    expected = {model: found for model, (found, _) in _found(shared, method).items() if found is not None}
    assert dict(measured.select("model", "rank_of_mean_ranks").iter_rows()) == expected


OUTPUT = "oracles/reform/TDIUC_SingleChoice_likelihood_imagebindLLM_imagebindLLM.json"


@pytest.fixture(scope="module")
def tests_of_samples(shared: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((shared / OUTPUT).read_text())
    return found


def measured(tests: list[dict[str, Any]], *, by_place: bool = False) -> dict[str, Any]:
    """Its tests as scores: the same sample in five instructions, with distractors drawn anew for each.

    So a choice is known only by its text; its letter means another one in every test.
    """
    rows = [
        {
            "item": test["sample_id"],
            "template": number % 5,
            "method": "likelihood",
            "choice": str(test["prediction"]) if by_place else test["answer_options"][test["prediction"]],
            "score": float(test["prediction"] == test["answer"]),
        }
        for number, test in enumerate(tests)
    ]
    table = measure("instability", results(rows)).table
    return table.row(by_predicate=pl.col("source") == "all", named=True)


def test_accuracy_and_mean_entropy(tests_of_samples: list[dict[str, Any]]) -> None:
    found = measured(tests_of_samples)
    assert (found["n"], found["tests"], found["unread"]) == (11, 5, 0)
    assert found["accuracy"] == pytest.approx(0.581818, abs=5e-7)
    assert found["entropy"] == pytest.approx(0.7122099356, abs=5e-11)
    assert found["corrected"] > found["entropy"]


def test_places_are_no_identities(tests_of_samples: list[dict[str, Any]]) -> None:
    assert measured(tests_of_samples, by_place=True)["entropy"] == pytest.approx(1.0263793601, abs=5e-11)


def test_drawing_distractors_anew_makes_more_instability_than_four_options_can_have(
    tests_of_samples: list[dict[str, Any]],
) -> None:
    """Each test has four options, but two samples were given five different answers: ln 5, where ln 4 is the most."""
    assert {len(test["answer_options"]) for test in tests_of_samples} == {4}
    samples = {test["sample_id"] for test in tests_of_samples}
    parts = ([test for test in tests_of_samples if test["sample_id"] == sample] for sample in samples)
    alone = [measured(part)["entropy"] for part in parts]
    assert sorted(alone)[-2:] == pytest.approx([math.log(5)] * 2)
    assert sum(entropy > math.log(4) for entropy in alone) == 2
