"""Old golds on twins: memory shows, blindness and clumsiness do not, and several twins show more of it than one."""

from dataclasses import replace
from math import sqrt
from random import Random
from statistics import mean, stdev, variance
from typing import Any

import polars as pl
import pytest

from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from eyetest.measures.results import EXCHANGED_TYPES
from tests.measures.tables import results

"""How often a model that knows an original gives its gold on a twin, against what it sees."""
ORIGINALS, LETTERS = 1200, "ABCD"
HOLDS = 0.8
Row = dict[str, Any]


def measured(said: list[Row], rows: list[Row]) -> dict[str, Row]:
    table = MEASURES["leak-by-twin"].measure(results(said, rows), Settings(resamples=400)).table
    return {row["model"]: row for row in table.iter_rows(named=True)}


def items(rng: Random, twins: int = 3, letters: str = LETTERS) -> list[Row]:
    """Of every third original one twin less, of the letters that are there."""
    rows = []
    for index in range(ORIGINALS):
        golds = rng.sample(letters, max(2, 1 + twins - (index % 3 == 0)))
        named = [("original", ""), *(("twin", f"-twin{number}") for number in range(len(golds) - 1))]
        for (edition, end), gold in zip([*named, ("fresh", "-fresh")], [*golds, rng.choice(letters)], strict=True):
            known = {"item": f"{index}{end}", "group": str(index), "cluster": str(index)}
            rows.append(known | {"options": len(letters), "gold": gold, "tag.edition": edition})
    return rows


def answers(rows: list[Row], model: str, rng: Random, sees: float, leaked: float = 0.0) -> list[Row]:
    """Who sees a share and guesses the rest, one guess a question; of the first items it mostly knows the gold.

    ``sees`` is the mean: half of the questions are harder, half easier.
    """
    answers = []
    guesses: dict[str, str] = {}
    golds = {row["item"]: row["gold"] for row in rows}
    letters = sorted(set(golds.values()))
    for row in rows:
        guess = guesses.setdefault(row["group"], rng.choice(letters))
        clear = sees + min(sees, 1 - sees) * (-1) ** (len(guesses) % 2) / 2
        choice = row["gold"] if rng.random() < clear else guess
        knows = int(row["group"]) < leaked * ORIGINALS and row["tag.edition"] != "fresh"
        if knows and (row["tag.edition"] == "original" or rng.random() < HOLDS):
            choice = golds[row["group"]]
        answers.append({"item": row["item"], "model": model, "choice": choice, "score": float(choice == row["gold"])})
    return answers


@pytest.fixture(scope="module")
def table() -> dict[str, Row]:
    rng = Random(1)
    rows = items(rng)
    said = [
        *answers(rows, "no-image", rng, 0.0),
        *answers(rows, "weak", rng, 0.4),
        *answers(rows, "sharp", rng, 0.9),
        *answers(rows, "few", rng, 0.6, 0.05),
        *answers(rows, "many", rng, 0.6, 0.5),
    ]
    return measured(said, rows)


@pytest.mark.parametrize("model", ["no-image", "weak", "sharp"])
def test_a_model_that_never_met_the_test_shows_no_leak(table: dict[str, Row], model: str) -> None:
    row = table[model]
    assert row["leak_low"] < 0 < row["leak_high"]
    assert abs(row["drop"]) < 0.04
    assert abs(row["fresh_drop"]) < 0.05
    assert row["p_adjusted"] > 0.05
    assert (row["n"], row["twins"]) == (ORIGINALS, ORIGINALS * 8 // 3)


@pytest.mark.parametrize(("model", "leaked"), [("few", 0.05), ("many", 0.5)])
def test_a_model_that_memorized_it_gives_the_old_gold(table: dict[str, Row], model: str, leaked: float) -> None:
    row = table[model]
    assert row["leak_low"] < leaked * HOLDS
    assert 0.4 * leaked < row["leak"] < leaked
    assert row["leak_low"] > 0
    assert row["p_adjusted"] < 0.05
    assert row["old_gold"] > row["new_gold"]
    assert row["drop"] > 0
    assert row["leak"] == pytest.approx(row["memorized"] - row["by_chance"])


def test_the_leak_is_zero_on_average_and_its_interval_holds_for_every_model() -> None:
    """Twelve models of each kind on few items with two, three and four options: about one interval in twenty errs."""
    rng = Random(4)
    for letters, twins in (("AB", 1), ("ABC", 2), ("ABCD", 3)):
        rows = [row for row in items(rng, twins, letters) if int(row["group"]) < 120]
        said = [
            row
            for kind, sees in (("no-image", 0.0), ("weak", 0.4), ("sharp", 0.9))
            for number in range(12)
            for row in answers(rows, f"{kind}-{number}", rng, sees)
        ]
        table = measured(said, rows)
        for kind in ("no-image", "weak", "sharp"):
            leaks = [row["leak"] for name, row in table.items() if name.startswith(kind)]
            assert abs(mean(leaks)) < 3.5 * stdev(leaks) / sqrt(len(leaks))
        assert sum(row["leak_low"] <= 0 <= row["leak_high"] for row in table.values()) >= 31
        assert sum(row["p"] < 0.05 for row in table.values()) <= 6


def test_three_twins_tell_a_leak_of_one_in_twenty_from_none_where_one_twin_does_not() -> None:
    rng = Random(5)
    rows = [row for row in items(rng) if int(row["group"]) >= ORIGINALS // 2 or int(row["group"]) < 30]
    said = [
        row
        for number in range(10)
        for model, leaked in (("clean", 0.0), ("leaked", 0.025))
        for row in answers(rows, f"{model}-{number}", rng, 0.6, leaked)
    ]
    one = {row["item"] for row in rows if not row["item"].endswith(("twin1", "twin2"))}
    gaps = {}
    for twins, kept in ((3, {row["item"] for row in rows}), (1, one)):
        there = [row for row in rows if row["item"] in kept]
        table = measured([row for row in said if row["item"] in kept], there)
        clean, leaked = (
            [row["leak"] for name, row in table.items() if name.startswith(start)] for start in ("clean", "leaked")
        )
        gaps[twins] = (mean(leaked) - mean(clean)) / sqrt((variance(leaked) + variance(clean)) / 2)
    assert gaps[3] > 1.5 * gaps[1] > 0


def test_a_failed_twin_leaves_the_others_to_count() -> None:
    """By hand: an original with three twins, one of which failed, and one that has a single twin."""
    golds = {"1": "A", "1-t": "B", "1-u": "C", "1-v": "D", "2": "A", "2-t": "B"}
    rows = [
        {"item": name, "group": name[0], "cluster": name[0], "options": 4, "gold": gold}
        | {"tag.edition": "twin" if "-" in name else "original"}
        for name, gold in golds.items()
    ]
    choices = {"1": "A", "1-t": "A", "1-u": "C", "2": "B", "2-t": "B"}
    said: list[Row] = [
        {"item": name, "choice": choice, "score": float(choice == golds[name])} for name, choice in choices.items()
    ]
    said.append({"item": "1-v", "outcome": "failed"})
    row = measured(said, rows)["m"]
    assert row["memorized"] == pytest.approx((0.5**2 + 0) / 2)
    assert row["by_chance"] == pytest.approx((0 + 1) / 2)
    assert row["old_gold"] == pytest.approx((0.5 + 0) / 2)
    assert row["new_gold"] == pytest.approx((0 + 1) / 2)
    assert row["drop"] == pytest.approx((1 - 0.5 + 0 - 1) / 2)
    assert (row["n"], row["twins"]) == (2, 3)


def test_a_guessable_prior_shows_beside_fresh_items_that_it_is_no_memory() -> None:
    """Golds are mostly A, twins are not: a blind model that says A shows a leak, and loses nothing on fresh items."""
    rng = Random(2)
    rows = items(rng, twins=1)
    for row in rows:
        likely = "A" if rng.random() < 0.8 else rng.choice("BCD")
        row["gold"] = likely if row["tag.edition"] != "twin" else rng.choice("BCD")
    said = [{"item": row["item"], "choice": "A", "score": float(row["gold"] == "A")} for row in rows]
    row = measured(said, rows)["m"]
    assert row["leak"] > 0.5
    assert row["fresh_drop_low"] < 0 < row["fresh_drop_high"]


def in_words(said: list[Row], rows: list[Row]) -> Results:
    """The same answers as words: no letters, and beside each reply what it is worth by each gold of its family."""
    families: dict[str, list[Row]] = {}
    for row in rows:
        families.setdefault(row["group"], []).append(row)
    group_of = {row["item"]: row["group"] for row in rows}
    replies = [answer | {"request": f"{answer['model']} {answer['item']}"} for answer in said]
    kin = [
        {"benchmark": "bench", "request": reply["request"], "whose": row["item"]}
        | {"worth": float(reply["choice"] == row["gold"])}
        for reply in replies
        for row in families[group_of[reply["item"]]]
        if row["tag.edition"] != "fresh"
    ]
    plain = results(
        [reply | {"choice": None, "metric": "open"} for reply in replies],
        [row | {"gold": None, "options": None} for row in rows],
    )
    return replace(plain, exchanged=pl.LazyFrame(kin, schema=EXCHANGED_TYPES))


def test_answers_in_words_count_as_letters_do() -> None:
    rng = Random(8)
    rows = [row for row in items(rng) if int(row["group"]) < 90]
    said = [*answers(rows, "weak", rng, 0.4), *answers(rows, "many", rng, 0.6, 0.05)]
    letters = measured(said, rows)
    table = MEASURES["leak-by-twin"].measure(in_words(said, rows), Settings(resamples=400)).table
    for row in table.iter_rows(named=True):
        assert row == letters[row["model"]]
    assert letters["many"]["leak"] > 0.3


def test_without_words_answers_count_for_the_drop_alone() -> None:
    rows = [row | {"gold": None, "options": None} for row in items(Random(3)) if row["tag.edition"] != "fresh"]
    said = [{"item": row["item"], "score": float(row["tag.edition"] == "original")} for row in rows]
    reported = MEASURES["leak-by-twin"].measure(results(said, rows), Settings())
    (row,) = reported.table.iter_rows(named=True)
    assert (row["drop"], row["leak"], row["old_gold"]) == (1.0, None, None)
    assert "fresh_drop" not in row
    assert "1,200 originals" in reported.notes[0]


def test_without_twins_it_says_who_draws_some() -> None:
    with pytest.raises(NotMeasurable, match="harden renew --twins"):
        MEASURES["leak-by-twin"].measure(results([{"item": "1", "score": 1.0}], [{"item": "1"}]), Settings())
