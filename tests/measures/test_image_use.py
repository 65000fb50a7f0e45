"""How much of a model's choice comes from the image."""

import math
from typing import Any

import numpy as np
import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES, Measured, NotMeasurable, Results, Settings
from tests.measures.tables import choice_items, weighed


def measured(of: Results, name: str = "image-use", by: tuple[str, ...] = (), **own: Any) -> Measured:
    return MEASURES[name].measure(of, Settings(by=by, own=own))


def logs(*chances: float) -> list[float | None]:
    return [math.log(chance) if chance else None for chance in chances]


def asked(item: int, image: list[float | None], blind: list[float | None], **more: Any) -> list[dict[str, Any]]:
    sides = (("image", image), ("no-image", blind))
    return [{"item": str(item), "modality": modality, "weights": weights, **more} for modality, weights in sides]


SEEN = asked(0, logs(0.07, 0.02, 0.01), logs(0.2, 0.3, 0.5))
"""The right choice, A, goes from 0.2 to 0.7 among the choices, while all of them got less likely."""
UNSEEN = asked(1, logs(0.04, 0.05, 0.01), logs(0.4, 0.5, 0.1))
MISLED = asked(2, logs(0.1, 0.8, 0.1), logs(0.7, 0.2, 0.1))
ITEMS = choice_items([[0]] * 3, 3)


def test_what_the_image_does_to_a_right_choice_and_to_the_chosen_one() -> None:
    row = measured(weighed(SEEN, ITEMS)).table.row(0, named=True)
    assert row["gold_pmi"] == row["chosen_pmi"] == pytest.approx(math.log(0.07 / 0.2))
    others = (math.log(0.02 / 0.3) + math.log(0.01 / 0.5)) / 2
    assert row["gold_lead"] == pytest.approx(math.log(0.07 / 0.2) - others)
    assert row["moved"] == pytest.approx(0.5)
    assert (row["helped"], row["hurt"], row["left_alone"], row["n"]) == (1, 0, 0, 1)
    row = measured(weighed([*SEEN, *UNSEEN, *MISLED], ITEMS)).table.row(0, named=True)
    assert row["gold_pmi"] == pytest.approx((math.log(0.35) + math.log(0.1) + math.log(1 / 7)) / 3)
    assert row["chosen_pmi"] == pytest.approx((math.log(0.35) + math.log(0.1) + math.log(4)) / 3)
    assert row["moved"] == pytest.approx((0.5 + 0 + 0.6) / 3)
    assert (row["helped"], row["hurt"], row["left_alone"]) == pytest.approx((1 / 3,) * 3)
    assert row["moved_low"] < row["moved"] < row["moved_high"]


def test_items_whose_image_nobody_uses_come_first() -> None:
    others = [{**row, "model": "b"} for row in [*UNSEEN, *asked(0, logs(0.5, 0.3, 0.2), logs(0.5, 0.2, 0.3))]]
    told = measured(weighed([*SEEN, *UNSEEN, *MISLED, *others], ITEMS), over="items").table
    assert told["item"].to_list() == ["1", "0", "2"]
    first, second, _ = told.iter_rows(named=True)
    assert first["most_moved"] == pytest.approx(0, abs=1e-12)
    assert first["gold_pmi"] == pytest.approx(math.log(0.1))
    assert (first["with_image"], first["no_image"], first["n"]) == (0, 0, 2)
    assert second["most_moved"] == pytest.approx(0.5)
    assert second["moved"] == pytest.approx((0.5 + 0.1) / 2)
    assert (second["with_image"], second["no_image"], second["helped"], second["hurt"]) == (1.0, 0.5, 0.5, 0)


def test_a_model_that_finds_everything_likelier_and_knows_nothing_has_no_lead() -> None:
    rng = np.random.default_rng(3)
    rows: list[dict[str, Any]] = []
    for item in range(400):
        before, noise = rng.normal(-3, 1, 4), rng.normal(0.5, 1, 4)
        rows += asked(item, [float(log) for log in before + noise], [float(log) for log in before])
    golds = [[int(gold)] for gold in rng.integers(0, 4, 400)]
    row = measured(weighed(rows, choice_items(golds, 4))).table.row(0, named=True)
    assert row["gold_pmi_low"] > 0
    assert row["gold_lead_low"] < 0 < row["gold_lead_high"]


def test_a_model_that_ignores_images_uses_none() -> None:
    """An image that only makes every answer less likely, with rounding, moves nothing."""
    rng = np.random.default_rng(0)
    rows = []
    for item in range(60):
        blind = np.log(rng.dirichlet(np.ones(4)))
        rows += asked(item, (blind - 2.5 + rng.normal(0, 1e-4, 4)).tolist(), blind.tolist())
    row = measured(weighed(rows, choice_items([[0]] * 60, 4))).table.row(0, named=True)
    assert row["moved"] < 1e-3
    assert (row["helped"], row["hurt"], row["left_alone"]) == (0, 0, 1)
    assert row["left_alone_low"] > 0.9


def test_a_grey_image_is_the_floor_where_one_was_shown() -> None:
    grey = {"item": "0", "modality": "gray", "weights": logs(0.3, 0.3, 0.4)}
    row = measured(weighed([*SEEN, *MISLED, grey], ITEMS)).table.row(0, named=True)
    assert row["moved"] == pytest.approx((0.5 + 0.6) / 2)
    assert row["moved_by_grey"] == pytest.approx(0.1)
    assert "moved_by_grey" not in measured(weighed(SEEN, ITEMS)).table.columns
    shown = measured(weighed([*SEEN, grey], ITEMS), with_image="gray").table.row(0, named=True)
    assert shown["moved"] == pytest.approx(0.1)


def test_impossible_choices_and_several_right_ones() -> None:
    rows = asked(0, logs(0.0, 0.6, 0.4), logs(0.5, 0.3, 0.2)) + asked(1, logs(0.2, 0.2, 0.6), logs(0.0, 0.5, 0.5))
    told = measured(weighed(rows, choice_items([[0], [0]], 3)))
    row = told.table.row(0, named=True)
    assert row["gold_pmi"] is None
    assert (row["hurt"], row["helped"]) == (0.5, 0.5)
    assert told.notes == ("2 answers without a PMI: the right choice was impossible on one side",)
    both = measured(weighed(asked(0, logs(0.2, 0.4, 0.4), logs(0.1, 0.1, 0.8)), choice_items([[0, 1]], 3))).table
    assert both.row(0, named=True)["gold_pmi"] == pytest.approx(math.log(3))


def test_items_without_a_image_and_what_to_ask() -> None:
    plain = [{**row, "request": "same"} for row in asked(2, logs(0.5, 0.5), logs(0.5, 0.5))]
    items = choice_items([[0]] * 3, 2)
    told = measured(weighed([*asked(0, logs(0.5, 0.5), logs(0.4, 0.6)), *plain], items))
    assert told.table["n"].to_list() == [1]
    assert told.notes == ("1 answer about no image left out",)
    with pytest.raises(NotMeasurable, match="no item has an image"):
        measured(weighed(plain, items))
    with pytest.raises(NotMeasurable, match=r"with and without the image.*image,no-image"):
        measured(weighed(SEEN[:1], ITEMS))
    with pytest.raises(NotMeasurable, match="image,gray"):
        measured(weighed(SEEN, ITEMS), no_image="gray")
    with pytest.raises(InputError, match="share from 0 to 1"):
        measured(weighed(SEEN, ITEMS), least=1.5)


def test_templates_go_with_their_like_and_first_tokens_stand_apart() -> None:
    rows = [
        *asked(0, logs(0.5, 0.5), logs(0.25, 0.75), template=0),
        *asked(0, logs(0.75, 0.25), logs(0.75, 0.25), template=1),
        *asked(0, logs(0.9, 0.1), logs(0.1, 0.9), method="first-token"),
    ]
    table = measured(weighed(rows, choice_items([[0]], 2))).table
    assert table.select("method", "moved", "n").rows() == [
        ("first-token", pytest.approx(0.8), 1),
        ("likelihood", pytest.approx(0.125), 1),
    ]
