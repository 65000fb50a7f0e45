import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from eyetest.errors import InputError
from eyetest.measures import MEASURES, Measured, NotMeasurable, Results, Settings
from eyetest.records import letter
from tests.measures.tables import grid, results

ITEMS = [{"item": str(i), "options": 4, "gold": "ABCD"[i % 4], "position": i % 4} for i in range(20)]


TASK = {"task": "category"}


def measure(found: Results) -> Measured:
    return MEASURES["wrong-golds"].measure(found, Settings())


def rows(models: int = 5, **changed: str) -> list[dict[str, Any]]:
    """Models that choose the gold, but for items whose choices are named: one letter a model, - where unread."""
    return [
        {"model": str(k), "item": item["item"], "choice": choice if choice != "-" else None, "score": score}
        for item in ITEMS
        for k, choice in enumerate(changed.get(f"item{item['item']}", str(item["gold"]) * models))
        for score in [float(choice == item["gold"])]
    ]


def table(answers: Iterable[Mapping[str, Any]], items: Iterable[Mapping[str, Any]] = ITEMS) -> list[dict[str, Any]]:
    return measure(results(answers, items)).table.rows(named=True)


def test_the_gold_that_models_agree_against_comes_first() -> None:
    found = table(rows(item5="CCCCC", item9="ACDBB", item3="DDDDA"))
    assert [row["item"] for row in found[:3]] == ["5", "3", "9"]
    assert found[0] | {"ratio": 0, "flawed": 0} == {
        "item": "5",
        "flawed": 0,
        "likeliest": "wrong gold",
        "ratio": 0,
        "gold": "B",
        "rival": "C",
        "for_gold": 0,
        "for_rival": 5,
        "accuracy": 0.0,
        "n": 5,
    }
    assert found[0]["ratio"] > 0 > found[-1]["ratio"]
    assert [row["flawed"] for row in found] == sorted((row["flawed"] for row in found), reverse=True)


def test_tasks_may_be_called_otherwise() -> None:
    wrong = {f"item{i}": "BBBBA" if i % 4 == 0 else "AAAAB" for i in range(10)}
    by_name = [
        results(rows(5, **wrong), [{**item, f"tag.{name}": "pq"[n // 10]} for n, item in enumerate(ITEMS)])
        for name in ("task", "category")
    ]
    alone, named = (MEASURES["wrong-golds"].measure(by_name[1], Settings(own=own)).table for own in ({}, TASK))
    assert named.equals(measure(by_name[0]).table)
    assert not named.equals(alone)
    with pytest.raises(InputError, match="categry"):
        MEASURES["wrong-golds"].measure(by_name[1], Settings(own={"task": "categry"}))


def test_unread_answers_are_not_choices() -> None:
    found = {row["item"]: row for row in table(rows(item0="A----", item4="-----"))}
    assert (found["0"]["n"], found["0"]["accuracy"]) == (1, 0.2)
    assert (found["4"]["n"], found["4"]["ratio"]) == (0, pytest.approx(0))


def test_a_model_that_chooses_this_and_that_chooses_nothing() -> None:
    again = [row | {"order": order} for order in (0, 1) for row in rows(item2="CCCCC" if order else "BBBBC")]
    assert {row["item"]: row["n"] for row in table(again)}["2"] == 1
    twice = [*again, *(row | {"order": 2} for row in rows(item2="BBBBC"))]
    found = {row["item"]: row for row in table(twice)}
    assert (found["2"]["rival"], found["2"]["for_rival"], found["2"]["n"]) == ("B", 4, 5)


def test_protocols_are_judged_apart() -> None:
    blind = [row | {"sight": "blind"} for row in rows(item1="DDDDD")]
    found = measure(results([*rows(), *blind], ITEMS)).table
    assert found.columns[:2] == ["sight", "item"]
    assert len(found) == 40
    assert found.row(0)[:2] == ("blind", "1")


def test_a_protocol_of_too_few_models_is_left_out_and_named() -> None:
    blind = [row | {"sight": "blind"} for row in rows(models=1)]
    found = measure(results([*rows(), *blind], ITEMS))
    assert set(found.table["sight"]) == {"image"}
    assert found.notes[-1] == "left out: sight with fewer than 2 models that chose an option"


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


def test_people_are_told_what_the_list_is_worth() -> None:
    found = measure(results(*slipping()))
    assert "a queue for people" in found.notes[0]
    assert found.notes[1].startswith("3 items of 100 rather flawed than sound; by these odds 3 of them are, and ")
    assert set(found.table["item"][:3]) == WRONG
    assert set(found.table["likeliest"][:3]) == {"wrong gold"}


def test_eight_copies_of_a_model_are_one_voice() -> None:
    answers, items = slipping(1)
    copies = [row | {"model": f"{row['model']} {copy}"} for row in answers for copy in range(8)]
    found = measure(results(copies, items)).table
    assert found["flawed"].max() < 0.5  # type: ignore[operator]
    assert set(found["item"][:3]) < {*WRONG, *(row["item"] for row in answers if not row["score"])}


def test_items_with_several_right_options_are_left_out() -> None:
    answers = [row | {"score": 1.0} if row["item"] == "7" else row for row in rows(item7="AAADD")]
    found = measure(results(answers, ITEMS))
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
        measure(unsuitable)


def test_two_models_are_an_order_to_look_in_and_one_is_none() -> None:
    found = measure(results(rows(models=2, item5="CC", item9="AC"), ITEMS))
    assert found.table["item"][0] == "5"
    assert any("hardly evidence" in note for note in found.notes)
    assert not any("hardly evidence" in note for note in measure(results(rows(), ITEMS)).notes)
    with pytest.raises(NotMeasurable, match="fewer than 2 models"):
        measure(results(rows(models=1), ITEMS))


def test_moved_golds_of_a_real_benchmark_are_found_better_than_by_counting_wrong_answers(shared: Path) -> None:
    """Ten runs on MMMU-Pro's four options choose as they chose; one gold of twenty is moved to another option."""
    items = [json.loads(line) for line in (shared / "data/mmmu_pro/items.jsonl").read_text("utf-8").splitlines()]
    numbers = np.array([len(item["options"]) for item in items])
    golds = np.array([ord(item["answer"]) - ord("A") for item in items])
    chosen = (
        pl.read_parquet(shared / "data/mmmu_pro/predictions.parquet")
        .filter(pl.col("variant") == "standard4")
        .with_columns(pl.col("model") + pl.col("setting"))
        .select("model", pl.col("item_id").alias("item"), pl.col("derived_answer").alias("choice"))
        .rows(named=True)
    )
    areas = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        moved = rng.random(len(items)) < 0.05
        shown = np.where(moved, (golds + rng.integers(1, np.maximum(numbers, 2))) % numbers, golds)
        known = [
            {"item": item["id"], "options": int(number), "gold": letter(gold), "position": int(gold)}
            for item, number, gold in zip(items, numbers, shown, strict=True)
        ]
        right = {item["item"]: item["gold"] for item in known}
        scored = [row | {"score": float(row["choice"] == right[row["item"]])} for row in chosen]
        found = measure(results(scored, known)).table
        flagged = found["item"].is_in([items[place]["id"] for place in np.flatnonzero(moved)]).to_numpy()
        areas.append([roc_auc_score(flagged, found["flawed"]), roc_auc_score(flagged, -found["accuracy"].to_numpy())])
    consensus, accuracy = np.mean(areas, axis=0)
    assert consensus > accuracy + 0.005
    assert consensus > 0.8


CORRECTED = ("validation_Design_15", "validation_Art_Theory_4")
"""MMMU-Pro's golds that its maintainers corrected in July 2026 (their issue 84)."""


def test_golds_that_were_corrected_since_stand_near_the_head(shared: Path) -> None:
    """Of 1,730 items with ten options, eleven runs; skill alone ranked them 9th and 35th."""
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
    found = measure(results(answers, known)).table
    ranks = sorted(found["item"].to_list().index(item) + 1 for item in CORRECTED)
    assert ranks[0] <= 5
    assert ranks[1] <= 20
    assert found.filter(pl.col("item").is_in(CORRECTED))["likeliest"].to_list() == ["wrong gold"] * 2
    assert found.filter(pl.col("flawed") > 0.5).height < len(items) / 10
