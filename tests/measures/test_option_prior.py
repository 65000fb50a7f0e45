"""A preference for letters: estimated on items that changed places, taken off the others."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES, Measured, NotMeasurable, Results, Settings
from eyetest.records.tables import REVERSED, order_of
from tests.measures.tables import choice_items, weighed


def measured(of: Results, name: str = "option-prior", **own: Any) -> Measured:
    return MEASURES[name].measure(of, Settings(own=own, resamples=400))


def known(number: int, options: int, items: str = "") -> list[dict[str, Any]]:
    """Items whose gold stands anywhere."""
    golds = np.random.default_rng(options).integers(0, options, number).tolist()
    return [{**item, "item": items + item["item"]} for item in choice_items([[gold] for gold in golds], options)]


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
            rows.append(about | {"weights": logs.tolist(), "score": float(logs.argmax() == item["position"])})
    return rows


def panel(shares: list[float], number: int = 120, orders: Sequence[int] = (0, 1, 2, 3)) -> Results:
    return weighed(answered(shares, number, orders), known(number, len(shares)))


STRONG = [0.6, 0.2, 0.15, 0.05]


def test_a_strong_prior_is_recovered_and_its_removal_helps() -> None:
    of = panel(STRONG)
    prior = measured(of).table
    assert prior["mark"].to_list() == ["A", "B", "C", "D"]
    assert prior["n"].to_list() == [24] * 4
    for row, true in zip(prior.iter_rows(named=True), STRONG, strict=True):
        assert row["prior"] == pytest.approx(true, abs=0.02)
        assert row["prior_low"] < row["prior"] < row["prior_high"]
    assert prior["recall"][0] > prior["recall"][3] + 0.3, "who likes A finds what stands at A"
    removed = prior.row(0, named=True)
    assert removed["tested"] == 96
    assert removed["difference_low"] > 0.05
    assert removed["accuracy_after"] == pytest.approx(removed["accuracy"] + removed["difference"])
    assert removed["recall_sd_after"] < removed["recall_sd"] / 2
    assert removed["recall_sd_change_high"] < 0


def test_where_no_mark_is_liked_nothing_is_lost() -> None:
    of = panel([0.25] * 4)
    for row in measured(of).table.iter_rows(named=True):
        assert row["prior"] == pytest.approx(0.25, abs=0.01)
    removed = measured(of).table.row(0, named=True)
    assert abs(removed["difference"]) < 0.01
    assert removed["difference_low"] < 0 < removed["difference_high"]


def test_a_few_items_that_changed_places_will_do_and_are_not_tried_on() -> None:
    turned = {str(item) for item in range(8)}
    rows = [row for row in answered(STRONG, 120) if row["item"] in turned or not row["order"]]
    of = weighed(rows, known(120, 4))
    prior = measured(of).table
    assert prior["n"].to_list() == [8] * 4
    assert prior["prior"][0] == pytest.approx(0.6, abs=0.05)
    assert prior["tested"].to_list() == [112] * 4


def test_by_hand_with_two_options() -> None:
    """Log-odds of A over B: 2 and 0 as options change places, so A is worth 1; the last says B once that is off."""
    turned: list[tuple[int, list[float]]] = [(0, [-1.0, -3.0]), (REVERSED, [-1.5, -1.5])]
    rows = [{"item": str(i), "order": order, "weights": weights} for i in range(5) for order, weights in turned]
    rows += [{"item": "5", "order": 0, "weights": [-1.0, -1.4]}]
    of = weighed([{**row, "method": "first-token"} for row in rows], choice_items([[0]] * 5 + [[1]], 2))
    table = measured(of, share=0.9).table
    odds = np.exp(1.0)
    assert table["prior"].to_list() == pytest.approx([odds / (1 + odds), 1 / (1 + odds)])
    assert table.select("mark", "recall", "recall_after").rows() == [("A", None, None), ("B", 0.0, 1.0)]
    removed = table.row(0, named=True)
    assert (removed["accuracy"], removed["accuracy_after"], removed["recall_sd"]) == (0, 1, 0)


def test_each_number_of_options_and_each_kind_of_letters_has_its_own() -> None:
    rows = [*answered([0.8, 0.2], 30, items="two"), *answered(STRONG, 30), *answered(STRONG, 30, letters="digit")]
    table = measured(weighed(rows, [*known(30, 2, items="two"), *known(30, 4)])).table
    letters = [("digit", 4, *"1"), ("digit", 4, *"2"), ("digit", 4, *"3"), ("digit", 4, *"4")]
    letters += [("upper", 2, "A"), ("upper", 2, "B"), *(("upper", 4, mark) for mark in "ABCD")]
    assert table.select("letters", "options", "mark").rows() == letters
    assert table.filter(options=2)["prior"][0] == pytest.approx(0.8, abs=0.03)


def test_letters_are_named_as_they_were_shown() -> None:
    rows = answered(STRONG, 30, letters="lower")
    assert measured(weighed(rows, known(30, 4))).table["mark"].to_list() == ["a", "b", "c", "d"]


def test_what_to_ask_in_one_line() -> None:
    with pytest.raises(NotMeasurable, match=r"option-prior: fewer than 5 items .* ask some with .*0,1,2,3"):
        measured(panel(STRONG, 20, orders=(0,)))
    with pytest.raises(NotMeasurable, match=r"no choice was weighed; .*first-token.*0,1,2,3"):
        measured(weighed([{"item": "0", "weights": [-1.0, -2.0]}], choice_items([[0]], 2)))
    with pytest.raises(NotMeasurable, match="orders that tell letters apart"):
        measured(panel(STRONG, 20, orders=(0, REVERSED)))
    with pytest.raises(InputError, match="between 0 and 1"):
        measured(panel(STRONG, 20), share=1.0)
