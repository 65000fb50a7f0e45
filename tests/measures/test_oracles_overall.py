"""LIME's overall scores: the mean over items, captioning left out."""

import csv
from pathlib import Path

import pytest

from eyetest.measures.ranks import weighted_mean

TASKS = ("POPE", "TVQA", "OKVQA", "ChQA", "IVQA", "AI2D", "SciQA", "OCRBen")
LIME = (421, 1_200, 1_200, 1_200, 1_200, 1_000, 300, 460)
ORIGINAL = (9_000, 5_000, 5_046, 2_500, 2_801, 3_088, 2_097, 1_000)


def misses(shared: Path, name: str, weights: tuple[int, ...], within: float = 0.005) -> list[str]:
    """The models whose printed overall score is another than that of their tasks."""
    with (shared / f"oracles/paper_tables/lime_T2_{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 31
    wrong = []
    for row in rows:
        mean = weighted_mean([float(row[task]) for task in TASKS], weights)
        assert mean is not None
        if abs(mean - float(row["overall"])) > within + 1e-9:
            wrong.append(f"{row['model']} {row['size']}")
    return wrong


def test_all_31_overall_scores_follow_with_popes_421_items(shared: Path) -> None:
    assert misses(shared, "LIME", LIME) == []


def test_not_with_the_443_that_table_1_prints(shared: Path) -> None:
    assert len(misses(shared, "LIME", (443, *LIME[1:]))) > 15


def test_the_original_benchmarks_and_three_misprints(shared: Path) -> None:
    """Of cells rounded themselves, so within 0.01; and with the 2,097 items that table 1 prints for ScienceQA."""
    assert misses(shared, "ORIG", ORIGINAL, within=0.01) == ["Qwen2-VL 7B", "Qwen2-VL 2B", "MiniCPM 1.0"]


@pytest.mark.parametrize(("scores", "weights", "found"), [([1.0, 0.0], None, 0.5), ([1.0, 0.0], [3, 1], 0.75)])
def test_weighted_mean(scores: list[float], weights: list[float] | None, found: float) -> None:
    assert weighted_mean(scores, weights) == found
