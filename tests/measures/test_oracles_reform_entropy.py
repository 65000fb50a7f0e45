"""ReForm-Eval's own output for TDIUC: eleven samples, five tests each."""

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyetest.measures import MEASURES, Settings
from tests.measures.tables import results

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
    table = MEASURES["instability"].measure(results(rows), Settings()).table
    return table.row(by_predicate=pl.col("source") == "all", named=True)


def test_places_are_no_identities(tests_of_samples: list[dict[str, Any]]) -> None:
    assert measured(tests_of_samples, by_place=True)["entropy"] == pytest.approx(1.0263793601, abs=5e-11)


def test_drawing_distractors_anew_makes_more_instability_than_four_options_can_have(
    tests_of_samples: list[dict[str, Any]],
) -> None:
    """Each test has four options, but two samples were given five different answers: ln 5, where ln 4 is the most."""
    assert {len(test["answer_options"]) for test in tests_of_samples} == {4}
    samples = {test["sample_id"] for test in tests_of_samples}
    alone = [
        measured([test for test in tests_of_samples if test["sample_id"] == sample])["entropy"] for sample in samples
    ]
    assert sorted(alone)[-2:] == pytest.approx([math.log(5)] * 2)
    assert sum(entropy > math.log(4) for entropy in alone) == 2
