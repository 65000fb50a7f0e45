"""Log-probabilities of choices: accuracy by normalisation, effect of the image, generated answers."""

import math
from functools import partial
from typing import Any

import pytest

from eyetest.errors import InputError
from eyetest.measures import NotMeasurable
from eyetest.measures.likelihood import NORMALISATIONS
from tests.measures.tables import choice_items, measure, results, weighed

measured = partial(measure, "likelihood")


def two_items(**more: Any) -> list[dict[str, Any]]:
    """Right by sum: the second. By token: both. By byte, PMI (a tie) and image-PMI: one or the other."""
    image: list[Any] = [[(-2.0, 1, 2), (-3.0, 3, 12)], [(-1.0, 2, 2), (-4.0, 4, 20)]]
    blind, unasked = [[-2.5, -3.0], [-3.0, -3.0]], [[-0.5, -2.9], [-1.0, -4.0]]
    modalities: dict[str, list[Any]] = {"image": image, "no-image": blind, "no-question": unasked}
    return [
        {"item": str(i), "modality": modality, "weights": weights, **more}
        for modality, of in modalities.items()
        for i, weights in enumerate(of)
    ]


ITEMS = choice_items([[1], [0]], 2)


def test_every_normalisation_of_the_same_numbers() -> None:
    found = measured(weighed(two_items(), ITEMS))
    assert found.table.select(NORMALISATIONS).rows() == [(0.5, 1.0, 0.5, 0.5, 0.5)]
    assert found.table["n"].to_list() == [2]
    assert found.notes == ()


def test_missing_modalities_are_named() -> None:
    alone = [row for row in two_items() if row["modality"] == "image"]
    found = measured(weighed(alone, ITEMS))
    assert found.table.columns[1::3] == ["sum", "per_token", "per_byte", "n"]
    assert [note.split(":")[0] for note in found.notes] == ["pmi", "image_pmi"]
    assert "no-question" in found.notes[0]
    half = [row for row in two_items() if row["modality"] != "no-image" or row["item"] == "0"]
    assert measured(weighed(half, ITEMS)).table.item(0, "image_pmi") == 0.0, "the other item is left out"


def test_impossible_choices_ties_and_wrong_numbers_of_weights_are_as_in_scoring() -> None:
    rows: list[dict[str, Any]] = [
        {"item": "0", "weights": [None, -9.0]},
        {"item": "1", "weights": [-1.0, -1.0]},
        {"item": "2", "weights": [-1.0]},
        {"item": "3", "weights": [None, None]},
    ]
    table = measured(weighed(rows, choice_items([[1], [0], [0], [0]], 2))).table
    assert table.item(0, "sum") == 0.25
    several = measured(weighed([{"item": "0", "weights": [-3.0, -1.0, -2.0]}], choice_items([[0, 1]], 3))).table
    assert several.item(0, "sum") == 1, "any of several right choices is right"


def test_nothing_to_measure_says_what_to_ask() -> None:
    generated = results([{"item": "0", "score": 1.0}], ITEMS)
    with pytest.raises(NotMeasurable, match=r"no choice was weighed; .*likelihood"):
        measured(generated)
    with pytest.raises(NotMeasurable, match="no right choice is known"):
        measured(weighed(two_items()))
    golds = weighed([{"item": "0", "weights": [-1.0, -2.0], "score": None}], choice_items([[0]], 2))
    with pytest.raises(NotMeasurable, match="with a right one"):
        measured(golds)
    with pytest.raises(InputError, match="expected items"):
        measured(weighed(two_items(), ITEMS), over="models")


def logs(*chances: float) -> list[float | None]:
    return [math.log(chance) if chance else None for chance in chances]


def asked(item: int, image: list[float | None], blind: list[float | None], **more: Any) -> list[dict[str, Any]]:
    sides = (("image", image), ("no-image", blind))
    return [{"item": str(item), "modality": modality, "weights": weights, **more} for modality, weights in sides]


SEEN = asked(0, logs(0.07, 0.02, 0.01), logs(0.2, 0.3, 0.5))
"""The right choice, A, goes from 0.2 to 0.7 among the choices, while all of them got less likely."""
UNSEEN = asked(1, logs(0.04, 0.05, 0.01), logs(0.4, 0.5, 0.1))
MISLED = asked(2, logs(0.1, 0.8, 0.1), logs(0.7, 0.2, 0.1))
SHOWN = choice_items([[0]] * 3, 3)


def test_what_the_image_does_to_a_right_choice() -> None:
    row = measured(weighed(SEEN, SHOWN)).table.row(0, named=True)
    others = (math.log(0.02 / 0.3) + math.log(0.01 / 0.5)) / 2
    assert row["gold_lead"] == pytest.approx(math.log(0.07 / 0.2) - others)
    assert row["moved"] == pytest.approx(0.5)
    assert (row["gold_pmi"], row["n"]) == (pytest.approx(math.log(0.07 / 0.2)), 1)
    row = measured(weighed([*SEEN, *UNSEEN, *MISLED], SHOWN)).table.row(0, named=True)
    assert row["moved"] == pytest.approx((0.5 + 0 + 0.6) / 3)
    assert row["moved_low"] < row["moved"] < row["moved_high"]


def test_items_whose_image_moves_nothing_come_first() -> None:
    others = [{**row, "model": "b"} for row in [*UNSEEN, *asked(0, logs(0.5, 0.3, 0.2), logs(0.5, 0.2, 0.3))]]
    found = measured(weighed([*SEEN, *UNSEEN, *MISLED, *others], SHOWN), over="items").table
    assert found["item"].to_list() == ["1", "0", "2"]
    first, second, _ = found.iter_rows(named=True)
    assert (first["gold_pmi"], first["n"]) == (pytest.approx(math.log(0.1)), 2)
    assert first["moved"] == pytest.approx(0, abs=1e-12)
    assert second["moved"] == pytest.approx((0.5 + 0.1) / 2)
    with pytest.raises(NotMeasurable, match="with and without the image"):
        measured(weighed(SEEN[:1], SHOWN), over="items")


def test_impossible_choices_and_several_right_ones() -> None:
    rows = asked(0, logs(0.0, 0.6, 0.4), logs(0.5, 0.3, 0.2)) + asked(1, logs(0.2, 0.2, 0.6), logs(0.0, 0.5, 0.5))
    row = measured(weighed(rows, choice_items([[0], [0]], 3))).table.row(0, named=True)
    assert "gold_lead" not in row, "the right choice was impossible on one side"
    both = weighed(asked(0, logs(0.2, 0.4, 0.4), logs(0.1, 0.1, 0.8)), choice_items([[0, 1]], 3))
    assert measured(both, over="items").table.item(0, "gold_pmi") == pytest.approx(math.log(3))
