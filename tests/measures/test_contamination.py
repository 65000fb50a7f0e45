"""Contamination: an exact test of which item of a family is the original; memory shows, blindness does not."""

from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from eyetest.errors import InputError
from eyetest.measures import NotMeasurable, Results
from eyetest.measures.results import EXCHANGED_TYPES
from eyetest.measures.stats import memorization
from tests.measures.tables import by_model, measure, results, weighed

"""How often a model that knows an original gives its gold on a twin, against what it sees."""
ORIGINALS, LETTERS = 600, "ABCD"
HOLDS = 0.8
Row = dict[str, Any]
Floats = NDArray[np.float64]


def measured(said: list[Row], rows: list[Row]) -> dict[str, Row]:
    return by_model(measure("contamination", results(said, rows)).table)


def items(rng: Random, twins: int = 3, count: int = ORIGINALS) -> list[Row]:
    """Of every third original one twin less."""
    rows = []
    for index in range(count):
        golds = rng.sample(LETTERS, max(2, 1 + twins - (index % 3 == 0)))
        named = [("original", ""), *(("twin", f"-twin{number}") for number in range(len(golds) - 1))]
        for (edition, end), gold in zip([*named, ("fresh", "-fresh")], [*golds, rng.choice(LETTERS)], strict=True):
            known = {"item": f"{index}{end}", "group": str(index), "cluster": str(index), "golds": [ord(gold) - 65]}
            rows.append(known | {"options": len(LETTERS), "gold": gold, "tag.edition": edition})
    return rows


def answers(
    rows: list[Row], model: str, rng: Random, sees: float, leaked: float = 0.0, modality: str = "image"
) -> list[Row]:
    """A model that sees a share and guesses the rest, one guess a question; it mostly knows the first golds."""
    answers = []
    guesses: dict[str, str] = {}
    golds = {row["item"]: row["gold"] for row in rows}
    for row in rows:
        guess = guesses.setdefault(row["group"], rng.choice(LETTERS))
        choice = row["gold"] if rng.random() < sees else guess
        knows = int(row["group"]) < leaked * ORIGINALS and row["tag.edition"] != "fresh"
        if knows and (row["tag.edition"] == "original" or rng.random() < HOLDS):
            choice = golds[row["group"]]
        about = {"item": row["item"], "model": model, "modality": modality}
        answers.append(about | {"choice": choice, "score": float(choice == row["gold"])})
    return answers


@pytest.mark.parametrize(
    "held", [[[0.9, 0.1], [0.8, 0.2]], [[0.5, 0.9, 0.1], [0.7, 0.3, np.nan]], [[0.5, 0.5], [0.2, 0.4], [0.6, 0.1]]]
)
def test_p_is_the_share_of_all_draws_with_a_sum_as_large(held: list[list[float]]) -> None:
    table = np.array(held)
    sums = [sum(draw) for draw in product(*([value for value in row if value == value] for row in held))]
    by_hand = sum(one >= sum(row[0] for row in held) - 1e-12 for one in sums) / len(sums)
    assert memorization.redrawn(table, 100, 0).p == pytest.approx(by_hand)
    drawn = memorization.redrawn(table, 1, 0)._replace(sums=np.array(sums * 500), drawn=True)
    assert drawn.p == pytest.approx(by_hand, abs=0.001)


def test_a_preference_for_a_letter_is_subtracted() -> None:
    """By hand: B is twice as likely as A everywhere, and the second item doubles it: half of the doubling is left."""
    logs = np.log([[1 / 3, 2 / 3, np.nan], [0.2, 0.8, np.nan]])
    shares = memorization.without_letters(logs)
    assert shares[:, 2].tolist() == [0, 0]
    assert shares[1, 1] / shares[1, 0] == pytest.approx(2**0.5)
    assert shares.sum(axis=1) == pytest.approx([1, 1])


def with_likelihoods(
    rng: np.random.Generator, rows: list[Row], models: dict[str, float], prefer: dict[str, float] | float = 0.0
) -> Results:
    """Log-likelihoods without the image: noise, a taste for B, and for a share of originals their gold.

    ``prefer``: what all golds of originals have more, of every model or by model.
    """
    said, golds = [], {row["item"]: row["gold"] for row in rows}
    for model, leaked in models.items():
        more = prefer if isinstance(prefer, float) else prefer[model]
        noise = rng.normal(0, 0.3, (ORIGINALS, 4)) + np.array([0, 1, 0, 0])
        seen = rng.choice(ORIGINALS, round(leaked * ORIGINALS), replace=False)
        for row in rows:
            logs = noise[int(row["group"])].copy()
            logs[ord(golds[row["group"]]) - 65] += 5 * (int(row["group"]) in seen) + more
            chosen = "ABCD"[int(logs.argmax())]
            known = {"item": row["item"], "model": model, "modality": "no-image", "choice": chosen}
            said.append(known | {"weights": logs.tolist(), "score": float(chosen == row["gold"])})
    return weighed(said, rows)


def test_likelihoods_find_two_items_in_a_hundred_and_their_share() -> None:
    rows = [row for row in items(Random(3)) if row["tag.edition"] != "fresh"]
    doses = {"clean": 0.0, "two": 0.02, "ten": 0.1}
    found = measure("contamination", with_likelihoods(np.random.default_rng(1), rows, doses)).table
    for row in found.iter_rows(named=True):
        assert row["evidence"] == "no-image likelihoods"
        assert row["dose_low"] <= doses[row["model"]] <= row["dose_high"]
        assert (row["p"] < 0.01) == (doses[row["model"]] > 0)
        assert (row["n"], row["twins"], row["drop"]) == (ORIGINALS, ORIGINALS * 8 // 3, None)
    clean = found.row(by_predicate=pl.col("model") == "clean", named=True)
    assert 0 < clean["detectable"] < 0.02 < clean["detectable_half"] < 0.3


@pytest.mark.science
def test_where_people_chose_the_keys_models_are_compared_with_clean_ones() -> None:
    """Every model holds keys of originals more, and one that knows more far more: all of them are below .01 by the
    exact test. Beside clean models the one that knows more has a sentence in place of a p.
    """
    rows = [row for row in items(Random(3)) if row["tag.edition"] != "fresh"]
    clean = [f"clean-{number}" for number in range(12)]
    models = dict.fromkeys(clean, 0.0) | {"alike": 0.0, "knows": 0.0, "leaked": 0.03}
    found = with_likelihoods(np.random.default_rng(2), rows, models, dict.fromkeys(models, 0.4) | {"knows": 0.8})
    assert max(measure("contamination", found).table["p"]) < 0.01
    beside = measure("contamination", found, clean=",".join(clean))
    table = by_model(beside.table)
    assert (table["clean-0"]["p"], table["clean-0"]["no_p"]) == (None, "named as clean")
    assert table["leaked"]["p"] < 0.01 < table["alike"]["p"]
    assert table["leaked"]["p_adjusted"] == pytest.approx(2 * table["leaked"]["p"])  # Holm, over two
    assert (table["leaked"]["dose"], table["leaked"]["detectable"]) == (None, None)
    assert (table["knows"]["p"], table["knows"]["dose"]) == (None, None)
    assert "outside the range of the clean models (originals preferred to twins" in table["knows"]["no_p"]
    assert any(note.startswith("knows has no p: its ability") for note in beside.notes)
    assert any(", ".join(clean) in note for note in beside.notes)
    for wrong in ("clean-0,clean-1,clean-2,clean-3", "clean-0,clean-1,nemo"):
        with pytest.raises(InputError, match="clean"):
            measure("contamination", found, clean=wrong)


def test_without_clean_models_it_says_what_the_exact_p_rests_on() -> None:
    rows = items(Random(1), count=60)
    notes = measure("contamination", results(answers(rows, "weak", Random(1), 0.4), rows)).notes
    assert any("each key was drawn evenly among the options" in note for note in notes)


@pytest.mark.parametrize("modality", ["image", "no-image"])
def test_answers_show_memory_too(modality: str) -> None:
    """With images: old golds on twins; without: golds that are chosen unseen."""
    rng = Random(1)
    rows = items(rng)
    kinds = {"blind": (0.0, 0.0), "weak": (0.4, 0.0), "sharp": (0.9, 0.0), "few": (0.6, 0.1), "many": (0.6, 0.5)}
    blind = modality == "no-image"
    said = []
    for model, (sees, leaked) in kinds.items():
        said += answers(rows, model, rng, 0.0 if blind else sees, leaked, modality)
    table = measured(said, rows)
    for model, (_, leaked) in kinds.items():
        row = table[model]
        assert row["evidence"] == ("no-image answers" if blind else "answers to twins")
        assert row["dose_low"] <= leaked <= row["dose_high"]
        assert (row["p_adjusted"] < 0.05) == (leaked > 0)
        if not blind:
            assert (row["drop"] > 0.04) == (leaked > 0)
            assert (row["fresh_drop_low"] > 0) == (leaked > 0)


@pytest.mark.parametrize("twins", [1, 2, 3])
def test_p_of_clean_models_is_uniform(twins: int) -> None:
    """Thirty-six models on few items: on average one in twenty is below .05."""
    rng = Random(4)
    rows = items(rng, twins, 120)
    said = [row for number in range(36) for row in answers(rows, f"m{number}", rng, 0.3 * (number % 3))]
    table = measured(said, rows)
    assert sum(row["p"] < 0.05 for row in table.values()) <= 6
    assert 0.3 < sum(row["p"] for row in table.values()) / len(table) < 0.75


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
    words = [reply | {"choice": None, "metric": "open"} for reply in replies]
    return replace(
        results(words, [row | {"gold": None} for row in rows]), exchanged=pl.LazyFrame(kin, schema=EXCHANGED_TYPES)
    )


def test_answers_in_words_count_as_letters_do() -> None:
    rng = Random(8)
    rows = items(rng, count=90)
    said = [*answers(rows, "weak", rng, 0.4), *answers(rows, "many", rng, 0.6, 0.05)]
    letters = measured(said, rows)
    for row in measure("contamination", in_words(said, rows)).table.iter_rows(named=True):
        assert row == letters[row["model"]]
    assert letters["many"]["dose"] > 0.2


@pytest.mark.parametrize("modality", ["image", "no-image"])
def test_fresh_items_show_the_ability_of_models_that_answer(modality: str) -> None:
    """Of two models that know more than the clean ones, the one that sees more fresh items too has no p."""
    rng, rows = Random(9), items(Random(9), count=150)
    said = [row for number in range(12) for row in answers(rows, f"clean-{number}", rng, 0.3, modality=modality)]
    said += [
        *answers(rows, "alike", rng, 0.3, modality=modality),
        *answers(rows, "able", rng, 0.8, modality=modality),
    ]
    names = ",".join(f"clean-{number}" for number in range(12))
    table = by_model(measure("contamination", results(said, rows), clean=names).table)
    assert table["alike"]["p"] > 0.01
    assert table["able"]["p"] is None
    assert "fresh items" in table["able"]["no_p"]


def test_without_words_answers_count_for_the_drop_alone() -> None:
    rows = [row | {"gold": None, "options": None} for row in items(Random(3)) if row["tag.edition"] != "fresh"]
    said = [{"item": row["item"], "score": float(row["tag.edition"] == "original")} for row in rows]
    (row,) = measure("contamination", results(said, rows)).table.iter_rows(named=True)
    assert (row["drop"], row["p"], row["dose"], row["n"]) == (1.0, None, None, ORIGINALS)
    assert "fresh_drop" not in row


def test_a_model_without_answers_to_originals_is_left_out() -> None:
    rows = items(Random(4), count=90)
    twins = [row for row in rows if row["tag.edition"] == "twin"]
    said = answers(rows, "weak", Random(1), 0.4) + answers(twins, "other", Random(2), 0.4, modality="no-image")
    assert set(measure("contamination", results(said, rows)).table["model"]) == {"weak"}


def test_without_twins_it_says_how_to_draw_some() -> None:
    with pytest.raises(NotMeasurable, match="harden renew --twins"):
        measure("contamination", results([{"item": "1", "score": 1.0}], [{"item": "1"}]))
