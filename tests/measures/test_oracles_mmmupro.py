"""MMMU-Pro's table of results: every difference, and how far every model moves in the ranking."""

import csv
from pathlib import Path

import pytest

from eyetest.measures import MEASURES, Settings
from eyetest.measures.linked import ranks
from tests.measures.tables import results

Row = dict[str, str]


@pytest.fixture(scope="module")
def rows(shared: Path) -> list[Row]:
    with (shared / "oracles/paper_tables/mmmupro_T1.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def models(rows: list[Row]) -> list[Row]:
    """Models have a rank; guessing and people have none."""
    return [row for row in rows if row["arrow1"]]


def test_every_difference(rows: list[Row]) -> None:
    """As if each setting were one item."""
    assert len(rows) == 27
    asked = [("mmmu_val", "old", "image"), ("std10", "new", "image"), ("vision", "new", "screenshot")]
    answers = results(
        {"model": row["model"], "item": "1", "benchmark": bench, "modality": modality, "score": float(row[name])}
        for row in rows
        for name, bench, modality in asked
    )
    own = {"original": "benchmark=old", "ten": "benchmark=new", "vision": "benchmark=new"}
    table = MEASURES["linked"].measure(answers, Settings(own=own)).table
    found = {row["model"]: row for row in table.to_dicts()}
    for row in rows:
        printed = [float(row[name]) for name in ("d1", "d2", "overall_avg", "d3")]
        told = [found[row["model"]][name] for name in ("delta1", "delta2", "overall", "delta3")]
        assert told == pytest.approx(printed, abs=1e-9), row["model"]


@pytest.mark.parametrize(("setting", "arrow", "moved"), [("std10", "arrow1", 11), ("vision", "arrow2", 14)])
def test_every_change_of_rank_with_its_arrow_reversed(
    models: list[Row], setting: str, arrow: str, moved: int
) -> None:
    """The sizes are right. The caption says that ↑ is a rise, but every model with ↑ fell and every one with ↓ rose.

    Two models are equal as screenshots (17.2); the change is the printed one if they stand as they did on MMMU.
    """
    assert len(models) == 22
    before, after = ranks(*([float(row[name]) for row in models] for name in ("mmmu_val", setting)))
    risen = [start - end for start, end in zip(before, after, strict=True)]
    printed = [0 if row[arrow] == "-" else int(row[arrow]) for row in models]
    assert [abs(change) for change in risen] == [abs(change) for change in printed]
    assert [-change for change in risen] == printed
    assert sum(change != 0 for change in printed) == moved


def test_differences_are_from_the_source_benchmark(models: list[Row]) -> None:
    """Against the four-option setting, as one might think, ranks would move otherwise."""
    before, after = ranks(*([float(row[name]) for row in models] for name in ("std4", "std10")))
    sizes = [abs(start - end) for start, end in zip(before, after, strict=True)]
    assert sizes != [0 if row["arrow1"] == "-" else abs(int(row["arrow1"])) for row in models]
