"""What accuracy is by sums of log-probabilities, and by sums made comparable."""

from typing import Any

import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES, Measured, NotMeasurable, Results, Settings
from eyetest.measures.stats.paired import paired
from tests.measures.tables import choice_items, results, weighed

NAME = "normalisations"


def measured(of: Results, by: tuple[str, ...] = (), **own: Any) -> Measured:
    return MEASURES[NAME].measure(of, Settings(by=by, own=own))


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
    told = measured(weighed(two_items(), ITEMS))
    assert told.table.select("normalisation", "accuracy", "difference", "n").rows() == [
        ("sum", 0.5, None, 2),
        ("per token", 1.0, 0.5, 2),
        ("per byte", 0.5, 0.0, 2),
        ("PMI", 0.5, 0.0, 2),
        ("image-PMI", 0.5, 0.0, 2),
    ]
    pair = paired([1, 1], [0, 1])
    assert told.table.row(1, named=True)["difference_low"] == pytest.approx(pair.low)
    assert told.notes == ()


def test_the_right_one_of_each_is_known() -> None:
    one = measured(weighed(two_items(), [{**item, "tag.n": item["item"]} for item in ITEMS]), by=("n",)).table
    first = dict(one.filter(one["tag.n"] == "0").select("normalisation", "accuracy").iter_rows())
    assert first == {"sum": 0, "per token": 1, "per byte": 1, "PMI": 1, "image-PMI": 0}


def test_blind_has_its_own_pmi_and_no_image_pmi() -> None:
    rows = two_items() + [{"item": str(i), "modality": "nothing", "weights": [-9.0, -1.0]} for i in range(2)]
    told = measured(weighed(rows, ITEMS), modality="no-image")
    assert told.table.select("normalisation", "accuracy").rows() == [("sum", 0.0), ("PMI", 0.5)]
    assert told.notes == (
        "sum per token: not measured (the number of tokens of choices was not stored)",
        "sum per byte: not measured (the number of bytes of choices was not stored)",
    )


def test_what_is_missing_is_said_with_what_to_ask() -> None:
    alone = [row for row in two_items() if row["modality"] == "image"]
    told = measured(weighed(alone, ITEMS))
    assert told.table["normalisation"].to_list() == ["sum", "per token", "per byte"]
    assert [note.split(":")[0] for note in told.notes] == ["PMI", "image-PMI"]
    assert "no-question" in told.notes[0]
    half = [row for row in two_items() if row["modality"] != "no-image" or row["item"] == "0"]
    told = measured(weighed(half, ITEMS))
    assert told.table.select("normalisation", "n").rows()[-1] == ("image-PMI", 1)
    assert told.notes == ("image-PMI: 1 of 2 answers lack what it takes, and are left out",)


def test_impossible_choices_ties_and_wrong_numbers_of_weights_are_as_in_scoring() -> None:
    rows: list[dict[str, Any]] = [
        {"item": "0", "weights": [None, -9.0]},
        {"item": "1", "weights": [-1.0, -1.0]},
        {"item": "2", "weights": [-1.0]},
        {"item": "3", "weights": [None, None]},
    ]
    table = measured(weighed(rows, choice_items([[1], [0], [0], [0]], 2))).table
    assert table.row(0, named=True)["accuracy"] == 0.25
    several = measured(weighed([{"item": "0", "weights": [-3.0, -1.0, -2.0]}], choice_items([[0, 1]], 3))).table
    assert several.row(0, named=True)["accuracy"] == 1, "any of several right choices is right"


def test_templates_are_tests_of_one_item() -> None:
    rows = [
        {"item": "0", "template": template, "weights": [[-1.0, -2.0], [-2.0, -1.0]][template % 2]}
        for template in range(5)
    ]
    row = measured(weighed(rows, choice_items([[0]], 2))).table.row(0, named=True)
    assert (row["accuracy"], row["n"]) == (pytest.approx(0.6), 1)


def test_nothing_to_measure_says_what_to_ask() -> None:
    generated = results([{"item": "0", "score": 1.0}], ITEMS)
    with pytest.raises(NotMeasurable, match=r"no choice was weighed; .*likelihood"):
        measured(generated)
    with pytest.raises(NotMeasurable, match="no right choice is known"):
        measured(weighed(two_items()))
    with pytest.raises(InputError, match="no choice was weighed under gray"):
        measured(weighed(two_items(), ITEMS), modality="gray")
    golds = weighed([{"item": "0", "weights": [-1.0, -2.0], "score": None}], choice_items([[0]], 2))
    with pytest.raises(NotMeasurable, match="has a right choice"):
        measured(golds)
