"""Old golds on twins: memory shows, blindness and clumsiness do not."""

from random import Random
from typing import Any

import pytest

from eyetest.measures import MEASURES, NotMeasurable, Settings
from tests.measures.tables import results

PAIRS, LETTERS = 2000, "ABCD"
Row = dict[str, Any]


def items(rng: Random) -> list[Row]:
    rows = []
    for index in range(PAIRS):
        old, new = rng.sample(LETTERS, 2)
        for edition, gold in (("original", old), ("twin", new), ("fresh", rng.choice(LETTERS))):
            name = str(index) if edition == "original" else f"{index}-{edition}"
            known = {"item": name, "group": str(index), "cluster": str(index)}
            rows.append(known | {"options": 4, "gold": gold, "tag.edition": edition})
    return rows


def answers(rows: list[Row], model: str, rng: Random, sees: float, leaked: float = 0.0) -> list[Row]:
    """Who sees a share and guesses the rest, one guess a question; of the first items it knows the gold."""
    told = []
    guesses: dict[str, str] = {}
    golds = {row["item"]: row["gold"] for row in rows}
    for row in rows:
        guess = guesses.setdefault(row["group"], rng.choice(LETTERS))
        choice = row["gold"] if rng.random() < sees else guess
        if int(row["group"]) < leaked * PAIRS and row["tag.edition"] != "fresh":
            choice = golds[row["group"]]
        told.append({"item": row["item"], "model": model, "choice": choice, "score": float(choice == row["gold"])})
    return told


@pytest.fixture(scope="module")
def table() -> dict[str, Row]:
    rng = Random(1)
    rows = items(rng)
    said = [
        *answers(rows, "blind", rng, 0.0),
        *answers(rows, "weak", rng, 0.4),
        *answers(rows, "sharp", rng, 0.9),
        *answers(rows, "few", rng, 0.6, 0.1),
        *answers(rows, "many", rng, 0.6, 0.5),
    ]
    measured = MEASURES["leak-by-twin"].measure(results(said, rows), Settings())
    return {row["model"]: row for row in measured.table.iter_rows(named=True)}


@pytest.mark.parametrize("model", ["blind", "weak", "sharp"])
def test_whoever_never_met_the_test_shows_no_leak(table: dict[str, Row], model: str) -> None:
    row = table[model]
    assert abs(row["leak"]) < 0.03
    assert abs(row["drop"]) < 0.03
    assert abs(row["fresh_drop"]) < 0.03
    assert row["p_adjusted"] > 0.05
    assert row["n"] == PAIRS


@pytest.mark.parametrize(("model", "leaked"), [("few", 0.1), ("many", 0.5)])
def test_whoever_knows_it_by_heart_gives_the_old_gold(table: dict[str, Row], model: str, leaked: float) -> None:
    row = table[model]
    assert row["leak_low"] < leaked < row["leak_high"]
    assert row["leak_low"] > 0
    assert row["drop"] > 0
    assert row["fresh_drop_low"] > 0
    assert row["leak"] == pytest.approx(row["old_gold"] - row["new_gold"])


def test_a_guessable_prior_shows_beside_fresh_items_that_it_is_no_memory() -> None:
    """Golds are mostly A, twins are not: a blind model that says A shows a leak, and loses nothing on fresh items."""
    rng = Random(2)
    rows = items(rng)
    for row in rows:
        likely = "A" if rng.random() < 0.8 else rng.choice("BCD")
        row["gold"] = likely if row["tag.edition"] != "twin" else rng.choice("BCD")
    said = [{"item": row["item"], "choice": "A", "score": float(row["gold"] == "A")} for row in rows]
    (row,) = MEASURES["leak-by-twin"].measure(results(said, rows), Settings()).table.iter_rows(named=True)
    assert row["leak"] > 0.5
    assert row["fresh_drop_low"] < 0 < row["fresh_drop_high"]


def test_answers_in_words_count_for_the_drop_alone() -> None:
    rows = [row | {"gold": None, "options": None} for row in items(Random(3)) if row["tag.edition"] != "fresh"]
    said = [{"item": row["item"], "score": float(row["tag.edition"] == "original")} for row in rows]
    measured = MEASURES["leak-by-twin"].measure(results(said, rows), Settings())
    (row,) = measured.table.iter_rows(named=True)
    assert (row["drop"], row["leak"], row["old_gold"]) == (1.0, None, None)
    assert "fresh_drop" not in row
    assert "2,000 originals" in measured.notes[0]


def test_without_twins_it_says_who_draws_some() -> None:
    with pytest.raises(NotMeasurable, match="harden twins"):
        MEASURES["leak-by-twin"].measure(results([{"item": "1", "score": 1.0}], [{"item": "1"}]), Settings())
