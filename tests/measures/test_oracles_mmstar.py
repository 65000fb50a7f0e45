"""Gain and leakage as MMStar's tables print them, and the cells of those tables that cannot be right."""

from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest

from eyetest.measures.linked import ranks
from eyetest.records import ModelEntry
from tests.measures.tables import asked, by_model, measure, results, weighted_mean
from tests.support.tables import read_csv

SIX = ("MMMU", "MMB", "ScienceQA", "AI2D", "SEED", "MathVista")
SEVEN, KINDS = (*SIX, "MMStar"), ("MG", "ML")
ROUNDING = 0.05 + 1e-9  # cells are printed to one decimal place
Row = dict[str, str]


def table(shared: Path, name: str) -> list[Row]:
    return read_csv(shared / f"oracles/paper_tables/{name}.csv")


@pytest.fixture(scope="module")
def scores(shared: Path) -> list[tuple[Row, Row, Row]]:
    """Table 7 in threes: the language model, the model blind, the model with images."""
    rows = [row for row in table(shared, "mmstar_T7") if row["model"] != "Random"]
    threes = [(rows[i], rows[i + 1], rows[i + 2]) for i in range(0, len(rows), 3)]
    assert [[row["strategy"] for row in three] for three in threes] == [["LLM", "LVLM-text", "LVLM"]] * 16
    return threes


@pytest.fixture(scope="module")
def printed(shared: Path) -> list[Row]:
    return table(shared, "mmstar_T6")


def test_all_192_cells_follow_from_the_scores(scores: list[tuple[Row, Row, Row]], printed: list[Row]) -> None:
    """As if each benchmark were one item."""
    ways = [("llm", "no-image", 0), ("lvlm", "no-image", 1), ("lvlm", "image", 2)]
    rows = [
        row
        for i, of in enumerate(scores)
        for name in SIX
        for kind, modality, place in ways
        for row in asked(f"{kind}{i}", [float(of[place][name])], modality, benchmark=name)
    ]
    bases = {f"lvlm{i}": ModelEntry(spec="scripted:a", base=f"llm{i}") for i in range(16)}
    table = measure("gain", results(rows, models=bases), resamples=20).table
    found = {(row["benchmark"], row["model"]): row for row in table.to_dicts()}
    right = sum(
        round(found[name, f"lvlm{i}"][kind], 1) == float(row[f"{name}_{cell}"])
        for i, row in enumerate(printed[:16])
        for name in SIX
        for kind, cell in zip(("gain", "leakage"), KINDS, strict=True)
    )
    assert right == 16 * 6 * 2 == 192


def averaged(cells: Iterable[str]) -> float:
    return weighted_mean([*map(float, cells)])


def test_averages_over_benchmarks(printed: list[Row]) -> None:
    """Over seven benchmarks, MMStar among them, whose scores without images are not printed."""
    for row, kind in product(printed[:16], KINDS):
        mean = averaged(row[f"{name}_{kind}"] for name in SEVEN)
        assert abs(mean - float(row[f"Avg_{kind}"])) <= ROUNDING, (row["model"], kind)


def test_averages_over_models_and_seven_misprints(printed: list[Row]) -> None:
    """The table's bottom row differs from its columns in seven of fourteen cells, by up to 0.3 points."""
    *rows, bottom = printed[:17]
    columns = [f"{name}_{kind}" for name, kind in product(SEVEN, KINDS)]
    wrong = [name for name in columns if abs(averaged(row[name] for row in rows) - float(bottom[name])) > ROUNDING]
    assert len(wrong) == 7, wrong


def test_averages_of_scores_and_one_misprint(scores: list[tuple[Row, Row, Row]]) -> None:
    """LLaVA-Next's language model prints 37.2; its own six scores, and the row of its twin, give 40.0."""
    means = [(row, averaged(row[name] for name in SIX)) for three in scores for row in three]
    wrong = [(row, round(mean, 1)) for row, mean in means if abs(mean - float(row["Avg"])) > ROUNDING]
    assert [(row["model"].split()[0], row["strategy"], row["Avg"], mean) for row, mean in wrong] == [
        ("LLaVA-Next", "LLM", "37.2", 40.0)
    ]


def test_monkeys_leakage_differs_between_two_tables(shared: Path, printed: list[Row]) -> None:
    """17.6 in table 5, 11.1 in table 6; the average of table 6 goes with the latter. All other models agree."""
    five = [row for row in table(shared, "mmstar_T5") if row["ML"] and row["model"] != "GPT4V (high)"]
    five = [five[1], five[0], *five[2:]]  # the two tables begin in another order
    differ = [
        (row["model"], row["ML"], other["MMStar_ML"])
        for row, other in zip(five, printed, strict=False)
        if (row["MG"], row["ML"]) != (other["MMStar_MG"], other["MMStar_ML"])
    ]
    assert differ == [("Monkey-Chat", "17.6", "11.1")]


@pytest.fixture(scope="module")
def rows(shared: Path) -> list[Row]:
    return table(shared, "mmmupro_T1")


@pytest.fixture(scope="module")
def models(rows: list[Row]) -> list[Row]:
    """Models have a rank; guessing and people have none."""
    return [row for row in rows if row["arrow1"]]


def test_every_difference(rows: list[Row]) -> None:
    """As if each setting were one item."""
    assert len(rows) == 27
    asked = [("mmmu_val", "old", "image"), ("std10", "new", "image"), ("vision", "new", "screenshot")]
    answers = results(
        (
            {"model": row["model"], "item": "1", "benchmark": bench, "modality": modality, "score": float(row[name])}
            for row in rows
            for name, bench, modality in asked
        ),
        [{"benchmark": bench, "item": "1", "options": number} for bench, number in (("old", 4), ("new", 10))],
    )
    found = by_model(measure("linked", answers, original="benchmark=old").table)
    for row in rows:
        printed = [float(row[name]) for name in ("d1", "d2", "overall_avg", "d3")]
        reported = [found[row["model"]][name] for name in ("delta1", "delta2", "overall", "delta3")]
        assert reported == pytest.approx(printed, abs=1e-9), row["model"]


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


def test_averages_of_the_other_tables(shared: Path) -> None:
    """Tables 1 to 5: the average of each row, and the rows where it is another."""
    wrong = []
    for name in ("T1", "T2", "T3", "T4", "T5"):
        for row in table(shared, f"mmstar_{name}"):
            tasks = SIX if "MMMU" in row else ("CP", "FP", "IR", "LR", "ST", "MA")
            mean = averaged(row[task] for task in tasks)
            if abs(mean - float(row["Avg"])) > ROUNDING:
                wrong.append((name, row["model"], row["Avg"], round(mean, 2)))
    assert wrong == []
