import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.measures import NotMeasurable, Results
from eyetest.measures.stats.item_analysis import fit
from tests.measures.tables import grid, measure, results


def test_each_item_has_its_mean_score_and_its_item_rest_correlation() -> None:
    found = measure("items", grid({"a": [1, 1, 0], "b": [1, 1, 0], "c": [0, 0, None], "d": [1, 0, 1]}))
    assert found.table.columns == ["item", "accuracy", "item_rest", "slope", "intercept", "n"]
    assert found.table["accuracy"].to_list() == pytest.approx([0.75, 0.5, 1 / 3])
    assert found.table["n"].to_list() == [4, 4, 3]
    others = [[0.5, 0.5, 0, 0.5], [0.5, 0.5, 0, 1], [1, 1, 0.5]]
    for place, scores in enumerate(([1, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1])):
        assert found.table["item_rest"][place] == pytest.approx(np.corrcoef(scores, others[place])[0, 1])


def test_from_eight_models_on_items_have_slopes_of_rounded_scores() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((8, 30))
    found = measure("items", grid({str(k): row.tolist() for k, row in enumerate(scores)}))
    table = found.table
    assert found.notes == ("for slope and intercept an item is right from a mean score of 0.5 on",)
    order = [int(item) for item in table["item"]]
    fitted = fit((scores.T[order] >= 0.5).astype(float))
    assert table["slope"].to_list() == pytest.approx(fitted.slopes.tolist())
    assert table["intercept"].to_list() == pytest.approx(fitted.intercepts.tolist())


ITEMS = [{"item": str(i), "options": 4, "gold": "ABCD"[i % 4], "position": i % 4} for i in range(20)]


wrong_golds = partial(measure, "wrong-golds")


def rows(models: int = 5, **changed: str) -> list[dict[str, Any]]:
    """Models that choose the gold, but for items whose choices are named: one letter a model, - where unread."""
    return [
        {"model": str(k), "item": item["item"], "choice": choice if choice != "-" else None, "score": score}
        for item in ITEMS
        for k, choice in enumerate(changed.get(f"item{item['item']}", str(item["gold"]) * models))
        for score in [float(choice == item["gold"])]
    ]


def table(answers: Iterable[Mapping[str, Any]], items: Iterable[Mapping[str, Any]] = ITEMS) -> list[dict[str, Any]]:
    return wrong_golds(results(answers, items)).table.rows(named=True)


def test_the_gold_that_models_agree_against_comes_first() -> None:
    found = table(rows(item5="CCCCC", item9="ACDBB", item3="DDDDA"))
    assert {row["item"] for row in found[:3]} == {"5", "3", "9"}
    counts = {"item": "5", "gold": "B", "rival": "C", "for_gold": 0, "for_rival": 5, "accuracy": 0.0, "n": 5}
    assert found[0] | counts == found[0]
    assert found[0].keys() == {*counts, "flawed", "expected", "ratio"}
    assert found[0]["ratio"] > 0 > found[-1]["ratio"]
    assert [row["ratio"] for row in found] == sorted((row["ratio"] for row in found), reverse=True)


def slipping(models: int = 8) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Models that choose the gold of a hundred items, each with six slips of its own, and meet on C of three."""
    items = [item | {"item": str(20 * turn + number)} for turn in range(5) for number, item in enumerate(ITEMS)]
    rng = np.random.default_rng(1)
    slips = [set(rng.choice(100, 6, replace=False).tolist()) for _ in range(models)]
    answers = []
    for place, item in enumerate(items):
        for k in range(models):
            choice = "ABCD"[(place + 1) % 4] if place in slips[k] else str(item["gold"])
            choice = "C" if item["item"] in WRONG else choice
            score = float(choice == item["gold"])
            answers.append({"model": str(k), "item": item["item"], "choice": choice, "score": score})
    return answers, items


WRONG = {"5", "45", "85"}


def test_eight_copies_of_a_model_are_one_and_give_no_odds() -> None:
    answers, items = slipping(1)
    copies = [row | {"model": f"{row['model']} {copy}"} for row in answers for copy in range(8)]
    found = wrong_golds(results(copies, items))
    assert found.table["flawed"].null_count() == len(items)
    assert any(note.startswith("models count as 1.0 independent ones") for note in found.notes)
    assert set(found.table["item"][:3]) < {*WRONG, *(row["item"] for row in answers if not row["score"])}


def test_notes_say_how_many_items_to_review_and_what_the_review_would_find() -> None:
    answers, items = slipping(8)
    found = wrong_golds(results(answers, items))
    expected, review = (note for note in found.notes if "expected to be wrong" in note)
    assert expected.startswith("3 of 100 golds are expected to be wrong, interval ")
    assert review.startswith("review the first 10, of which 3 are expected to be wrong; planted keys found at this")
    assert re.search(r"cut: (1[5-9]|20) of 20 \(by a plain count of models against the key \d+\)$", review)
    assert found.table["expected"][2] == pytest.approx(found.table["flawed"][:3].sum())


def test_items_with_several_right_options_are_left_out() -> None:
    answers = [row | {"score": 1.0} if row["item"] == "7" else row for row in rows(item7="AAADD")]
    found = wrong_golds(results(answers, ITEMS))
    assert "7" not in found.table["item"].to_list()
    assert "left out: 1 item where another option than the gold was scored right" in found.notes


@pytest.mark.parametrize(
    "unsuitable",
    [
        grid({"a": [1], "b": [0], "c": [1]}),
        results(rows()),
        results([row | {"choice": None} for row in rows()], ITEMS),
        results([row | {"score": None} for row in rows()], ITEMS),
    ],
    ids=["verdicts only", "no golds", "no choices", "failed calls"],
)
def test_choices_and_golds_are_needed(unsuitable: Results) -> None:
    with pytest.raises(NotMeasurable, match="no answer tells which option"):
        wrong_golds(unsuitable)


CORRECTED = ("validation_Design_15", "validation_Art_Theory_4")
"""MMMU-Pro's golds that its maintainers corrected in July 2026 (their issue 84)."""


def test_golds_that_were_corrected_since_stand_near_the_head(shared: Path) -> None:
    """Of 1,730 items with ten options, eleven runs."""
    items = [json.loads(line) for line in (shared / "data/mmmu_pro/items.jsonl").read_text("utf-8").splitlines()]
    known = [
        {"item": item["id"], "options": len(item["options10"]), "gold": item["answer10"]}
        | {"position": ord(item["answer10"]) - ord("A"), "tag.task": item["subject"]}
        for item in items
    ]
    right = {item["item"]: item["gold"] for item in known}
    answers = (
        pl.read_parquet(shared / "data/mmmu_pro/predictions.parquet")
        .filter(pl.col("variant") == "standard10")
        .select(pl.col("model") + pl.col("setting"), item="item_id", choice="derived_answer")
        .with_columns(score=pl.col("item").replace_strict(right).eq(pl.col("choice")).fill_null(value=False))
        .with_columns(pl.col("score").cast(pl.Float64))
        .rows(named=True)
    )
    measured = wrong_golds(results(answers, known))
    found = measured.table
    ranks = sorted(found["item"].to_list().index(item) + 1 for item in CORRECTED)
    assert ranks[0] <= 20
    assert ranks[1] <= 300, "a plain count puts it at 822"
    assert found["flawed"].null_count() == len(items), "these models do not identify the number"
    note = next(note for note in measured.notes if "do not identify the number of wrong golds" in note)
    assert re.search(r"; between 0 and \d+ of 1,730 golds can be wrong: there is an order", note)
