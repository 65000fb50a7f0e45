"""Numbers that other people published."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from eyetest.scoring.metrics import Context
from tests.scoring.metrics import corpus_metric, item_metric


@pytest.fixture(scope="module")
def math_rows(shared: Path) -> list[tuple[dict[str, Any], dict[str, Any], Context]]:
    folder = shared / "data/mathvista"
    items = {item["id"]: item for item in map(json.loads, (folder / "items.jsonl").read_text().splitlines())}
    contexts = {
        key: Context(item["question"], {tag: item[tag] for tag in ("answer_type", "precision", "unit")})
        for key, item in items.items()
    }
    columns = ["item_id", "extracted_answer_if_given", "extraction_raw", "correct_if_given"]
    rows = pq.read_table(folder / "predictions.parquet", columns=columns).to_pylist()
    return [
        (row, items[row["item_id"]], contexts[row["item_id"]]) for row in rows if row["correct_if_given"] is not None
    ]


@pytest.mark.parametrize("name", ["number", "mathvista", "exact"])
def test_mathvista_extractions(name: str, math_rows: list[tuple[dict[str, Any], dict[str, Any], Context]]) -> None:
    metric = item_metric(name)
    differing = [
        (row["extracted_answer_if_given"], item["answer"])
        for row, item, context in math_rows
        if metric.score(row["extracted_answer_if_given"] or "", [item["answer"]], context) != row["correct_if_given"]
    ]
    assert len(math_rows) == 21_363
    assert differing == []


def test_mathvista_raw_extractions(math_rows: list[tuple[dict[str, Any], dict[str, Any], Context]]) -> None:
    """From what GPT-4 extracted, before MathVista's own rule made it an integer or rounded it.

    Two extractions were numbers and not texts in the source, which cut 1.5 to 1.
    """
    free = [row for row in math_rows if row[1]["question_type"] == "free_form"]
    theirs, ours = item_metric("mathvista"), item_metric("number")

    def differing(metric: Any) -> int:
        return sum(
            metric.score(str(row["extraction_raw"] or ""), [item["answer"]], context) != row["correct_if_given"]
            for row, item, context in free
        )

    assert len(free) == 9_825
    assert differing(theirs) == 2
    assert differing(ours) == 35  # most of them "3.0" for 3


def test_coco_captions(shared: Path) -> None:
    """500 captions of a real model with five references each: as pycocoevalcap 1.2 scores them, tokens included."""
    rows = json.loads((shared / "oracles/reform/MSCOCO_Generation_generation_lynx_LYNX.json").read_text())
    answers, references = [row["prediction"] for row in rows], [row["references"] for row in rows]
    golden = {
        "cider": 1.0770421226836238,
        "rouge-l": 0.5369363850379872,
        "bleu-1": 0.7402285027058046,
        "bleu-2": 0.5669098706710891,
        "bleu-3": 0.4185382278817874,
        "bleu-4": 0.3048502541797979,
    }
    for name, overall in golden.items():
        assert corpus_metric(name).score_all(answers, references).overall == pytest.approx(overall, abs=1e-9)
