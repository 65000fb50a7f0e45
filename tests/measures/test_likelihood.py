"""What accuracy is by sums of log-probabilities, and by sums made comparable."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES, Measured, NotMeasurable, Results, Settings
from eyetest.measures.stats.agreement import cohen
from eyetest.measures.stats.paired import paired
from eyetest.records import ModelEntry
from eyetest.records.tables import REVERSED, order_of
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


GAP = "generation-likelihood"
GOLD = "A"
BASES = {"a": ModelEntry(spec="x:a", base="lm"), "b": ModelEntry(spec="x:b", base="lm"), "c": ModelEntry(spec="x:c")}


def gaps(of: Results, by: tuple[str, ...] = ()) -> Measured:
    return MEASURES[GAP].measure(of, Settings(by=by))


def said(model: str, method: str, choices: Sequence[str | None], **more: Any) -> list[dict[str, Any]]:
    """Answers to items 0, 1, 2 …, whose gold is A."""
    return [
        {"item": str(i), "model": model, "method": method, "choice": choice, "score": float(choice == GOLD), **more}
        for i, choice in enumerate(choices)
    ]


ROWS = [
    *said("a", "generate", ["A", "B", "A", None]),
    *said("a", "likelihood", ["A", "A", "C", "A"]),
    *said("b", "generate", ["B", "B", "B", "B"]),
    *said("b", "likelihood", ["B", "A", "A", "B"]),
    *said("c", "generate", ["A", "A", "A", "A"]),
    *said("c", "first-token", ["A", "A", "A", "B"]),
]


def test_the_gap_of_each_model_its_backbone_and_all() -> None:
    table = gaps(results(ROWS, models=BASES)).table
    told = ["weighed_by", "base", "model", "generated", "weighed", "difference", "n"]
    assert table.select(told).rows() == [
        ("likelihood", "lm", "a", 0.5, 0.75, -0.25, 4),
        ("likelihood", "lm", "b", 0.0, 0.5, -0.5, 4),
        ("likelihood", "lm", "2 models", 0.25, 0.625, -0.375, 8),
        ("likelihood", None, "all models", 0.25, 0.625, -0.375, 8),
        ("first-token", None, "c", 1.0, 0.75, 0.25, 4),
    ]
    first, both = paired([1, 0, 1, 0], [1, 1, 0, 1]), table.row(2, named=True)
    assert table.row(0, named=True)["difference_low"] == pytest.approx(first.low)
    stacked = paired([1, 0, 1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 0, 1, 1, 0], list("01230123"))
    assert (both["difference_low"], both["difference_high"]) == pytest.approx((stacked.low, stacked.high))
    assert both["clusters"] == 4, "two models about one item are no two items"


def test_who_chooses_alike_and_who_is_right() -> None:
    row = gaps(results(ROWS, models=BASES)).table.row(0, named=True)
    assert row["same"] == pytest.approx(1 / 3)
    assert row["unread"] == 0.25
    kappa = cohen([("A", "A"), ("B", "A"), ("A", "C")])
    assert row["kappa"] == pytest.approx(kappa.value)
    cells = [row[name] for name in ("both", "only_generated", "only_weighed", "neither")]
    assert cells == [0.25, 0.25, 0.5, 0.0]
    assert sum(cells) == 1
    assert row["generated"] - row["weighed"] == cells[1] - cells[2]


def test_like_goes_with_like() -> None:
    """Five templates weighed, one generated: only that template; orders, which weighing lacks, are all compared."""
    rows = [
        *(row for t in range(5) for row in said("a", "likelihood", ["A" if t == 2 else "B"], template=t)),
        *(row for order in (0, 7) for row in said("a", "generate", ["A"], template=2, order=order)),
        *said("a", "generate", ["B"], template=2, order=9),
    ]
    row = gaps(results(rows)).table.row(0, named=True)
    assert (row["weighed"], row["n"]) == (1.0, 1)
    assert (row["generated"], row["same"], row["both"], row["neither"]) == pytest.approx((2 / 3, 2 / 3, 2 / 3, 0))


def test_what_to_ask_where_one_way_lacks() -> None:
    with pytest.raises(NotMeasurable, match=r"both generated and weighed.*likelihood,generate"):
        gaps(results(ROWS[:4]))
    told = gaps(results(ROWS[:8]))
    assert "base" in told.notes[0]
    assert gaps(results(ROWS, models=BASES)).notes == ()


def uses(of: Results, name: str = "image-use", by: tuple[str, ...] = (), **own: Any) -> Measured:
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
SHOWN = choice_items([[0]] * 3, 3)


def test_what_the_image_does_to_a_right_choice_and_to_the_chosen_one() -> None:
    row = uses(weighed(SEEN, SHOWN)).table.row(0, named=True)
    assert row["gold_pmi"] == row["chosen_pmi"] == pytest.approx(math.log(0.07 / 0.2))
    others = (math.log(0.02 / 0.3) + math.log(0.01 / 0.5)) / 2
    assert row["gold_lead"] == pytest.approx(math.log(0.07 / 0.2) - others)
    assert row["moved"] == pytest.approx(0.5)
    assert (row["helped"], row["hurt"], row["left_alone"], row["n"]) == (1, 0, 0, 1)
    row = uses(weighed([*SEEN, *UNSEEN, *MISLED], SHOWN)).table.row(0, named=True)
    assert row["gold_pmi"] == pytest.approx((math.log(0.35) + math.log(0.1) + math.log(1 / 7)) / 3)
    assert row["chosen_pmi"] == pytest.approx((math.log(0.35) + math.log(0.1) + math.log(4)) / 3)
    assert row["moved"] == pytest.approx((0.5 + 0 + 0.6) / 3)
    assert (row["helped"], row["hurt"], row["left_alone"]) == pytest.approx((1 / 3,) * 3)
    assert row["moved_low"] < row["moved"] < row["moved_high"]


def test_items_whose_image_nobody_uses_come_first() -> None:
    others = [{**row, "model": "b"} for row in [*UNSEEN, *asked(0, logs(0.5, 0.3, 0.2), logs(0.5, 0.2, 0.3))]]
    told = uses(weighed([*SEEN, *UNSEEN, *MISLED, *others], SHOWN), over="items").table
    assert told["item"].to_list() == ["1", "0", "2"]
    first, second, _ = told.iter_rows(named=True)
    assert first["most_moved"] == pytest.approx(0, abs=1e-12)
    assert first["gold_pmi"] == pytest.approx(math.log(0.1))
    assert (first["with_image"], first["no_image"], first["n"]) == (0, 0, 2)
    assert second["most_moved"] == pytest.approx(0.5)
    assert second["moved"] == pytest.approx((0.5 + 0.1) / 2)
    assert (second["with_image"], second["no_image"], second["helped"], second["hurt"]) == (1.0, 0.5, 0.5, 0)


def test_a_grey_image_is_the_floor_where_one_was_shown() -> None:
    grey = {"item": "0", "modality": "gray", "weights": logs(0.3, 0.3, 0.4)}
    row = uses(weighed([*SEEN, *MISLED, grey], SHOWN)).table.row(0, named=True)
    assert row["moved"] == pytest.approx((0.5 + 0.6) / 2)
    assert row["moved_by_grey"] == pytest.approx(0.1)
    assert "moved_by_grey" not in uses(weighed(SEEN, SHOWN)).table.columns
    shown = uses(weighed([*SEEN, grey], SHOWN), with_image="gray").table.row(0, named=True)
    assert shown["moved"] == pytest.approx(0.1)


def test_impossible_choices_and_several_right_ones() -> None:
    rows = asked(0, logs(0.0, 0.6, 0.4), logs(0.5, 0.3, 0.2)) + asked(1, logs(0.2, 0.2, 0.6), logs(0.0, 0.5, 0.5))
    told = uses(weighed(rows, choice_items([[0], [0]], 3)))
    row = told.table.row(0, named=True)
    assert row["gold_pmi"] is None
    assert (row["hurt"], row["helped"]) == (0.5, 0.5)
    assert told.notes == ("2 answers without a PMI: the right choice was impossible on one side",)
    both = uses(weighed(asked(0, logs(0.2, 0.4, 0.4), logs(0.1, 0.1, 0.8)), choice_items([[0, 1]], 3))).table
    assert both.row(0, named=True)["gold_pmi"] == pytest.approx(math.log(3))


def test_items_without_a_image_and_what_to_ask() -> None:
    plain = [{**row, "request": "same"} for row in asked(2, logs(0.5, 0.5), logs(0.5, 0.5))]
    items = choice_items([[0]] * 3, 2)
    told = uses(weighed([*asked(0, logs(0.5, 0.5), logs(0.4, 0.6)), *plain], items))
    assert told.table["n"].to_list() == [1]
    assert told.notes == ("1 answer about no image left out",)
    with pytest.raises(NotMeasurable, match="no item has an image"):
        uses(weighed(plain, items))
    with pytest.raises(NotMeasurable, match=r"with and without the image.*image,no-image"):
        uses(weighed(SEEN[:1], SHOWN))
    with pytest.raises(NotMeasurable, match="image,gray"):
        uses(weighed(SEEN, SHOWN), no_image="gray")
    with pytest.raises(InputError, match="share from 0 to 1"):
        uses(weighed(SEEN, SHOWN), least=1.5)


def priors(of: Results, name: str = "option-prior", **own: Any) -> Measured:
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
    prior = priors(of).table
    assert prior["mark"].to_list() == ["A", "B", "C", "D"]
    assert prior["n"].to_list() == [24] * 4
    for row, true in zip(prior.iter_rows(named=True), STRONG, strict=True):
        assert row["prior"] == pytest.approx(true, abs=0.02)
        assert row["prior_low"] < row["prior"] < row["prior_high"]
    removed = prior.row(0, named=True)
    assert removed["tested"] == 96
    assert removed["difference_low"] > 0.05
    assert removed["accuracy_after"] == pytest.approx(removed["accuracy"] + removed["difference"])


def test_a_few_items_that_changed_places_will_do_and_are_not_tried_on() -> None:
    turned = {str(item) for item in range(8)}
    rows = [row for row in answered(STRONG, 120) if row["item"] in turned or not row["order"]]
    of = weighed(rows, known(120, 4))
    prior = priors(of).table
    assert prior["n"].to_list() == [8] * 4
    assert prior["prior"][0] == pytest.approx(0.6, abs=0.05)
    assert prior["tested"].to_list() == [112] * 4


def test_by_hand_with_two_options() -> None:
    """Log-odds of A over B: 2 and 0 as options change places, so A is worth 1; the last says B once that is off."""
    turned: list[tuple[int, list[float]]] = [(0, [-1.0, -3.0]), (REVERSED, [-1.5, -1.5])]
    rows = [{"item": str(i), "order": order, "weights": weights} for i in range(5) for order, weights in turned]
    rows += [{"item": "5", "order": 0, "weights": [-1.0, -1.4]}]
    of = weighed([{**row, "method": "first-token"} for row in rows], choice_items([[0]] * 5 + [[1]], 2))
    table = priors(of, share=0.9).table
    odds = np.exp(1.0)
    assert table["prior"].to_list() == pytest.approx([odds / (1 + odds), 1 / (1 + odds)])
    removed = table.row(0, named=True)
    assert (removed["accuracy"], removed["accuracy_after"]) == (0, 1)


def test_what_to_ask_in_one_line() -> None:
    with pytest.raises(NotMeasurable, match=r"option-prior: fewer than 5 items .* ask some with .*0,1,2,3"):
        priors(panel(STRONG, 20, orders=(0,)))
    with pytest.raises(NotMeasurable, match=r"no choice was weighed; .*first-token.*0,1,2,3"):
        priors(weighed([{"item": "0", "weights": [-1.0, -2.0]}], choice_items([[0]], 2)))
    with pytest.raises(NotMeasurable, match="orders that tell letters apart"):
        priors(panel(STRONG, 20, orders=(0, REVERSED)))
    with pytest.raises(InputError, match="between 0 and 1"):
        priors(panel(STRONG, 20), share=1.0)
