import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES, Measured, NotMeasurable, Results, Settings
from tests.measures.tables import grid, results

ITEMS = [{"item": str(i), "options": 4, "gold": "ABCD"[i % 4], "position": i % 4} for i in range(20)]


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
    assert {row["item"] for row in found[:3]} == {"5", "3", "9"}
    assert found[0] | {"ratio": 0, "flawed": 0} == {
        "item": "5",
        "flawed": 0,
        "ratio": 0,
        "gold": "B",
        "rival": "C",
        "for_gold": 0,
        "for_rival": 5,
        "accuracy": 0.0,
        "n": 5,
    }
    assert found[0]["ratio"] > 0 > found[-1]["ratio"]
    assert [row["ratio"] for row in found] == sorted((row["ratio"] for row in found), reverse=True)


def test_tasks_may_be_called_otherwise() -> None:
    wrong = {f"item{i}": "BBBBA" if i % 4 == 0 else "AAAAB" for i in range(10)}
    by_name = [
        results(rows(5, **wrong), [{**item, f"tag.{name}": "pq"[n // 10]} for n, item in enumerate(ITEMS)])
        for name in ("task", "category")
    ]
    of_task, named = (
        MEASURES["wrong-golds"].measure(found, Settings(own={"task": name})).table
        for found, name in zip(by_name, ("task", "category"), strict=True)
    )
    assert named.equals(of_task)
    assert not named.equals(measure(by_name[1]).table)
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
    blind = [row | {"modality": "no-image"} for row in rows(item1="DDDDD")]
    found = measure(results([*rows(), *blind], ITEMS)).table
    assert found.columns[:2] == ["modality", "item"]
    assert len(found) == 40
    assert found.row(20)[:2] == ("no-image", "1")


def test_a_protocol_of_too_few_models_is_left_out_and_named() -> None:
    blind = [row | {"modality": "no-image"} for row in rows(models=1)]
    found = measure(results([*rows(), *blind], ITEMS))
    assert set(found.table["modality"]) == {"image"}
    assert found.notes[-1] == "left out: modality with fewer than 2 models that chose an option"


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


def test_notes_say_what_the_list_is_worth() -> None:
    found = measure(results(*slipping()))
    assert "a queue for people" in found.notes[0]
    assert found.notes[1] == "by these odds 1 of 100 golds are wrong, if at most 3.0% of golds are wrong"
    assert set(found.table["item"][:3]) == WRONG
    known = MEASURES["wrong-golds"].measure(results(*slipping()), Settings(own={"people": 0.999})).table
    assert known["flawed"].sum() < 0.5 < found.table["flawed"].sum()
    with pytest.raises(InputError, match="people is a share"):
        MEASURES["wrong-golds"].measure(results(*slipping()), Settings(own={"people": 95}))


def test_eight_copies_of_a_model_are_one_and_give_no_odds() -> None:
    answers, items = slipping(1)
    copies = [row | {"model": f"{row['model']} {copy}"} for row in answers for copy in range(8)]
    found = measure(results(copies, items))
    assert found.table["flawed"].null_count() == len(items)
    assert any(note.startswith("models count as 1.0 independent ones") for note in found.notes)
    assert set(found.table["item"][:3]) < {*WRONG, *(row["item"] for row in answers if not row["score"])}


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
    assert any("no odds" in note for note in found.notes)
    assert not any("no odds" in note for note in measure(results(*slipping())).notes)
    with pytest.raises(NotMeasurable, match="fewer than 2 models"):
        measure(results(rows(models=1), ITEMS))


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
    found = MEASURES["wrong-golds"].measure(results(answers, known), Settings(own={"task": "task"})).table
    ranks = sorted(found["item"].to_list().index(item) + 1 for item in CORRECTED)
    assert ranks[0] <= 20
    assert ranks[1] <= 100
    assert found["flawed"].sum() <= 0.03 * len(items)
