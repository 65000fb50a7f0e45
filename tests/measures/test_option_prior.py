"""The prior of option letters as columns of ``positions``, and accuracy once it is removed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.measures import MEASURES, Measured, Results, Settings
from eyetest.records import letter
from eyetest.records.tables import REVERSED, order_of
from tests.measures.tables import choice_items, weighed


def measured(of: Results) -> Measured:
    return MEASURES["positions"].measure(of, Settings(resamples=400))


def known(number: int, options: int, items: str = "") -> list[dict[str, Any]]:
    """Items whose gold stands anywhere."""
    golds = np.random.default_rng(options).integers(0, options, number).tolist()
    made = choice_items([[gold] for gold in golds], options)
    return [{**item, "item": items + item["item"], "gold": letter(item["position"])} for item in made]


def answered(
    shares: list[float], number: int, orders: Sequence[int] = (0, 1, 2, 3), items: str = "", **more: Any
) -> list[dict[str, Any]]:
    """A model that knows two answers in three, and likes letters as ``shares`` say."""
    rng, options = np.random.default_rng(5), len(shares)
    rows = []
    for item in known(number, options, items):
        content = rng.normal(0, 0.5, options)
        content[item["position"]] += 1.5
        for order in orders:
            places = np.argsort(order_of(item["item"], options, order))
            logs = content + np.log(shares)[places] + rng.normal(0, 0.1, options)
            about = {"item": item["item"], "order": order, "method": "first-token", **more}
            chosen = int(logs.argmax())
            about |= {"choice": letter(chosen), "score": float(chosen == item["position"])}
            rows.append(about | {"weights": logs.tolist()})
    return rows


def panel(shares: list[float], number: int = 120, orders: Sequence[int] = (0, 1, 2, 3)) -> Results:
    return weighed(answered(shares, number, orders), known(number, len(shares)))


STRONG = [0.6, 0.2, 0.15, 0.05]


def test_a_strong_prior_is_recovered_and_its_removal_helps() -> None:
    found = measured(panel(STRONG))
    assert found.table["place"].to_list() == ["A", "B", "C", "D"]
    for row, true in zip(found.table.iter_rows(named=True), STRONG, strict=True):
        assert row["prior"] == pytest.approx(true, abs=0.02)
        assert row["prior_low"] < row["prior"] < row["prior_high"]
    removed = found.table.row(0, named=True)
    assert removed["tested"] == 96
    assert removed["gained_low"] > 0.05
    assert removed["accuracy_after"] == pytest.approx(removed["accuracy"] + removed["gained"])
    assert len(found.notes) == 1


def test_a_few_items_that_changed_places_will_do_and_are_not_tried_on() -> None:
    turned = {str(item) for item in range(8)}
    rows = [row for row in answered(STRONG, 120) if row["item"] in turned or not row["order"]]
    table = measured(weighed(rows, known(120, 4))).table
    assert table["prior"][0] == pytest.approx(0.6, abs=0.05)
    assert table["tested"].to_list() == [112] * 4


def test_numbers_of_options_have_priors_of_their_own() -> None:
    rows = answered(STRONG, 120) + answered([0.8, 0.2], 40, items="two ")
    table = measured(weighed(rows, known(120, 4) + known(40, 2, "two "))).table
    assert table["prior"].to_list() == pytest.approx(STRONG, abs=0.03), "those of the usual number are shown"
    assert table["tested"].to_list() == [96 + 32] * 4


def test_by_hand_with_two_options() -> None:
    """Log-odds of A over B: 2 and 0 as options change places, so A is worth 1; the last says B once that is off."""
    turned: list[tuple[int, list[float]]] = [(0, [-1.0, -3.0]), (REVERSED, [-1.5, -1.5])]
    rows = [{"item": str(i), "order": order, "weights": weights} for i in range(5) for order, weights in turned]
    rows += [{"item": "5", "order": 0, "weights": [-1.0, -1.4]}]
    items = [{**item, "gold": letter(item["position"])} for item in choice_items([[0]] * 5 + [[1]], 2)]
    table = measured(weighed([{**row, "method": "first-token", "choice": "A"} for row in rows], items)).table
    odds = np.exp(1.0)
    assert table["prior"].to_list() == pytest.approx([odds / (1 + odds), 1 / (1 + odds)])
    assert table.row(0, named=True)["accuracy"] == 0
    assert table.row(0, named=True)["accuracy_after"] == 1


def test_other_methods_have_no_prior_and_a_note_says_what_to_ask() -> None:
    written = [{"item": str(i), "choice": "A", "score": 0.0} for i in range(20)]
    both = measured(weighed([*answered(STRONG, 120), *written], known(120, 4))).table
    assert both.filter(pl.col("method") == "generate")["prior"].null_count() == 4
    assert "prior" not in measured(weighed(written, known(20, 4))).table.columns
    for orders in ((0,), (0, REVERSED)):
        found = measured(panel(STRONG, 20, orders=orders))
        assert "prior" not in found.table.columns
        assert "unknown for 1 of 1 series; it takes 5 items asked with first-token+order=0/1/2/3" in found.notes[1]
