"""Contamination: an exact test of which item of a family is the original; memory shows, blindness does not."""

from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import special

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
    assert drawn.mean == pytest.approx(np.mean(sums))
    assert memorization.redrawn(table[:, :1], 100, 0, relative=True).excess == pytest.approx(0)  # no twins


def test_a_preference_for_a_letter_is_subtracted() -> None:
    """By hand: B is twice as likely as A everywhere, and the second item doubles it: half of the doubling is left."""
    logs = np.log([[1 / 3, 2 / 3, np.nan], [0.2, 0.8, np.nan]])
    shares = memorization.without_letters(logs)
    assert shares[:, 2].tolist() == [0, 0]
    assert shares[1, 1] / shares[1, 0] == pytest.approx(2**0.5)
    assert shares.sum(axis=1) == pytest.approx([1, 1])


def test_a_clean_panel_gives_a_t_test_of_one_new_value() -> None:
    """Three clean values 0, 1, 2: mean 1, spread 1; the new value 1 + 4/√3·√… has t = 2.92 with p = .05."""
    clean = np.array([0.0, 1.0, 2.0])
    assert memorization.calibrated(1 + 2.919986 * (4 / 3) ** 0.5, clean) == pytest.approx(0.05, abs=1e-6)
    assert memorization.calibrated(1.0, clean) == pytest.approx(0.5)
    assert memorization.calibrated(1.0, np.ones(3)) is None


def with_likelihoods(
    rng: np.random.Generator, rows: list[Row], models: dict[str, float], prefer: float = 0
) -> Results:
    """Log-likelihoods without the image: noise, a taste for B, and for a share of originals their gold."""
    said, golds = [], {row["item"]: row["gold"] for row in rows}
    for model, leaked in models.items():
        noise = rng.normal(0, 0.3, (ORIGINALS, 4)) + np.array([0, 1, 0, 0])
        seen = rng.choice(ORIGINALS, round(leaked * ORIGINALS), replace=False)
        for row in rows:
            logs = noise[int(row["group"])].copy()
            logs[ord(golds[row["group"]]) - 65] += 5 * (int(row["group"]) in seen) + prefer
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
def test_twins_that_are_less_plausible_need_clean_models_beside() -> None:
    """Every model holds golds of originals a little more: p is small for clean ones unless relative to such."""
    rows = [row for row in items(Random(3)) if row["tag.edition"] != "fresh"]
    models = {f"clean-{number}": 0.0 for number in range(8)} | {"new": 0.0, "leaked": 0.03}
    found = with_likelihoods(np.random.default_rng(1), rows, models, prefer=0.4)
    assert max(measure("contamination", found).table["p"]) < 0.01
    beside = measure("contamination", found, clean=",".join(list(models)[:8]))
    rest = {row["model"]: row["p"] for row in beside.table.iter_rows(named=True)}
    assert rest["clean-0"] is None
    assert rest["leaked"] < 0.01 < rest["new"]
    assert any("given as clean" in note and "twice as certain" in note for note in beside.notes)
    for wrong in ("clean-0,clean-1", "clean-0,clean-1,nemo"):
        with pytest.raises(InputError, match="clean"):
            measure("contamination", found, clean=wrong)


@pytest.mark.parametrize("share", [0.01, 0.03])
def test_clean_models_with_few_answers_of_worth_are_not_found(share: float) -> None:
    """The references give an old gold in 1 % of families; nearly all answers of all models are worth 0."""
    rng, p = np.random.default_rng(5), list[float | None]()

    def excess(share: float) -> float:
        return memorization.redrawn((rng.random((400, 2)) < share).astype(float), 10, 0).excess

    for _ in range(60):
        known = np.array([excess(0.01) for _ in range(10)])
        p += [memorization.calibrated(excess(share), known) for _ in range(10)]
    assert np.mean([one is not None and one < 0.05 for one in p]) < 0.1
    assert np.mean([one is not None and one < 0.01 for one in p]) < 0.02


@pytest.mark.science
@pytest.mark.parametrize("times", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_clean_models_of_another_decidedness_are_not_found(times: float) -> None:
    """Originals are more plausible for all models. Without division by what twins usually have, 9 % of models twice
    as decided as the references and 23 % of those three times as decided are below .01.
    """
    rng, clean, leaked = np.random.default_rng(5), [], []

    def excess(common: Floats, decided: float, seen: float = 0) -> float:
        logits = 0.6 * decided * (common + rng.normal(0, 0.5, common.shape))
        logits[rng.random(len(logits)) < seen, 0] += 5
        return memorization.redrawn(special.softmax(logits, axis=1) ** 4, 10, 0, relative=True).excess

    for _ in range(12):
        common = rng.normal(size=(400, 4)) + np.array([0.15, 0, 0, 0])
        known = np.array([excess(common, np.exp(rng.normal(0, 0.15))) for _ in range(20)])
        clean += [memorization.calibrated(excess(common, times), known) for _ in range(10)]
        leaked += [memorization.calibrated(excess(common, times, 0.05), known) for _ in range(10)]
    print(times, np.mean(np.array(clean) < 0.01), np.mean(np.array(leaked) < 0.01))
    assert np.mean(np.array(clean) < 0.01) <= 0.05
    assert np.mean(np.array(leaked) < 0.01) >= (0.9 if times <= 1 else 0.2)


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
    said += [row for number in range(3) for row in answers(rows, f"clean-{number}", rng, 0.4)]
    notes = measure("contamination", results(said, rows), clean="clean-0,clean-1,clean-2").notes
    assert "p is relative to clean-0, clean-1, clean-2, given as clean" in notes  # certainty is about likelihoods


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
