from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.contingency_tables import SquareTable
from statsmodels.stats.multitest import multipletests

from eyetest.errors import InputError
from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from eyetest.measures.choices import agreement, decisions_agreement
from eyetest.measures.tables import with_adjusted
from eyetest.reports.figures import FIGURES
from eyetest.reports.report import Material
from tests.measures.tables import results

MEASURE = MEASURES["positions"]


def answered(golds: str, picks: str, clusters: int | None = None, **more: Any) -> Results:
    """Items with these golds, and which choice was picked of each; ``?`` was not read."""

    def rows() -> Iterator[dict[str, Any]]:
        for i, (gold, pick) in enumerate(zip(golds, picks, strict=True)):
            yield {"item": str(i), "choice": None if pick == "?" else pick, "score": float(gold == pick), **more}

    items: list[dict[str, Any]] = [{"item": str(i), "options": 4, "gold": gold} for i, gold in enumerate(golds)]
    for i, item in enumerate(items):
        item["cluster"] = None if clusters is None else f"c{i % clusters}"
    return results(rows(), items)


def test_shares_and_differences() -> None:
    table = MEASURE.measure(answered("AABBCD", "AAAABC"), Settings()).table
    assert table.select("place", "picked", "gold", "difference", "n").rows() == [
        ("A", pytest.approx(4 / 6), pytest.approx(2 / 6), pytest.approx(2 / 6), 6),
        ("B", pytest.approx(1 / 6), pytest.approx(2 / 6), pytest.approx(-1 / 6), 6),
        ("C", pytest.approx(1 / 6), pytest.approx(1 / 6), pytest.approx(0), 6),
        ("D", 0, pytest.approx(1 / 6), pytest.approx(-1 / 6), 6),
    ]
    assert table.get_column("total_variation").to_list() == pytest.approx([2 / 6] * 4)
    for low, difference, high in table.select("difference_low", "difference", "difference_high").rows():
        assert low < difference < high


def test_only_the_order_as_written_says_where_a_choice_was() -> None:
    both = answered("AB", "AB")
    turned = both.scores.with_columns(pl.lit(3, pl.Int64).alias("order"), pl.lit("B").alias("choice"))
    measured = MEASURE.measure(Results(pl.concat([both.scores, turned]), both.items), Settings())
    assert measured.table.get_column("difference").to_list() == [0, 0]
    assert "order as written" in measured.notes[0]
    with pytest.raises(NotMeasurable, match=r"positions: .*order 0"):
        MEASURE.measure(Results(turned, both.items), Settings())


def test_answers_that_were_not_read_have_no_place() -> None:
    table = MEASURE.measure(answered("ABC", "A?B"), Settings()).table
    assert table.get_column("n").to_list() == [2, 2, 2]


def test_likelihoods_are_of_choices_that_were_not_shown() -> None:
    with pytest.raises(NotMeasurable):
        MEASURE.measure(answered("AB", "AB", method="likelihood"), Settings())


def test_without_items_there_are_no_golds() -> None:
    with pytest.raises(NotMeasurable, match="positions: no right choice is known"):
        MEASURE.measure(results([{"item": "1", "choice": "A", "score": 1.0}]), Settings())


@pytest.mark.parametrize("seed", range(4))
def test_the_test_is_stuart_and_maxwells(seed: int) -> None:
    draw = np.random.default_rng(seed)
    golds = draw.choice(list("ABCD"), 200)
    picks = np.where(draw.random(200) < 0.5, golds, draw.choice(list("ABCD"), 200, p=[0.4, 0.2, 0.2, 0.2]))
    counts = [[int(((golds == g) & (picks == p)).sum()) for p in "ABCD"] for g in "ABCD"]
    theirs = SquareTable(np.array(counts), shift_zeros=False).homogeneity(method="stuart_maxwell").pvalue
    table = MEASURE.measure(answered("".join(golds), "".join(picks)), Settings()).table
    assert table.get_column("p").to_list() == pytest.approx([theirs] * 4)


CIRCULAR = MEASURES["circular"]


def turned(item: str, scores: list[float | None], **more: Any) -> list[dict[str, Any]]:
    """An item in some orders."""
    return [{"item": item, "order": order, "score": score, **more} for order, score in enumerate(scores)]


@pytest.mark.parametrize(
    ("asked", "grouped", "expected"),
    [
        ({"1": [1, 1, 1, 1], "2": [1, 1, 1, 0], "3": [0, 0, 0, 0]}, False, (1 / 3, 1.75 / 3, 3, 0)),
        ({"a1": [1], "a2": [1], "b1": [1], "b2": [0]}, True, (0.5, 0.75, 2, 0)),
        ({"a1": [1, 1], "a2": [1, 0]}, True, (0, 0.75, 1, 0)),
        ({"wrong": [None, 0], "unknown": [None, 1], "nothing": [None, None], "1": [1, 1]}, False, (0.5, 0.5, 2, 2)),
    ],
    ids=["every order", "rotated copies", "copies in orders", "failed calls"],
)
def test_right_in_every_order(asked: dict[str, Any], grouped: bool, expected: tuple[float, ...]) -> None:
    items = [{"item": item, "group": item[0], "cluster": item[0]} for item in asked if grouped]
    rows = [row for item, scores in asked.items() for row in turned(item, scores)]
    row = CIRCULAR.measure(results(rows, items), Settings()).table.row(0, named=True)
    assert [row[name] for name in ("circular", "plain", "n", "undecided")] == pytest.approx(expected)
    assert row["difference"] == pytest.approx(row["circular"] - row["plain"])
    if row["n"] > 1 and row["difference"]:
        assert row["difference_low"] < row["difference"] < row["difference_high"]


def test_items_in_one_order_and_texts_are_out() -> None:
    texts = [dict(row, metric="open", reading="text") for row in turned("t", [1, 1])]
    measured = CIRCULAR.measure(results([*turned("1", [1, 0]), *turned("2", [1]), *texts]), Settings())
    assert measured.table.select("circular", "n", "one_order", "undecided").row(0) == (0, 1, 1, 0)
    assert "1 item" in measured.notes[0]


def test_other_tests_have_to_be_right_too() -> None:
    rows = [*turned("1", [1, 1]), *turned("1", [1, 0], template=2)]
    measured = CIRCULAR.measure(results(rows), Settings())
    assert measured.table.select("circular", "plain").row(0) == (0, 0.75)
    assert "template varied too" in measured.notes[0]


FORMATS = MEASURES["format-hits"]


def said(marked: bool | None, item: str = "1", reading: str | None = "chosen", **more: Any) -> dict[str, Any]:
    return {"item": item, "marked": marked, "reading": reading, "score": 0.0, **more}


CHOICE = [{"item": "1", "options": 4}, {"item": "2", "options": 4}]


@pytest.mark.parametrize(
    ("answer", "hits"),
    [
        (said(True), 1),
        (said(True, outcome="truncated"), 1),
        (said(True, metric="given", rule="given"), 1),
        (said(False), 0),
        (said(False, metric="given", rule="given"), 0),
        (said(True, rule="eyetest/2 stated by text"), 1),
        (said(None, reading="refused"), 0),
        (said(None, reading="unparsed"), 0),
        (said(None, reading="ambiguous"), 0),
    ],
)
def test_what_is_a_hit(answer: dict[str, Any], hits: int) -> None:
    measured = FORMATS.measure(results([answer], CHOICE), Settings())
    assert measured.table.get_column("format_hits").to_list() == [hits]


@pytest.mark.parametrize(
    "answer",
    [
        said(None, outcome="failed", reading=None),
        said(None, outcome="blocked", reading=None),
        said(None, reading=None),
        said(None, reading="text", metric="open"),
        said(None, method="likelihood"),
        said(None),
        said(None, reading="text", metric="given"),
        said(None, reading=None, metric="given"),
    ],
)
def test_what_does_not_count(answer: dict[str, Any]) -> None:
    with pytest.raises(NotMeasurable, match="format-hits: "):
        FORMATS.measure(results([answer], CHOICE), Settings())
    table = FORMATS.measure(results([answer | {"item": "2"}, said(True)], CHOICE), Settings()).table
    assert table.select("format_hits", "n", "answers").row(0) == (1, 1, 1)


def test_with_and_without_the_format_shot() -> None:
    rows = [
        *(said(marked, str(i)) for i, marked in enumerate([True, False, True, True])),
        *(said(True, str(i), shots="format") for i in range(4)),
    ]
    table = FORMATS.measure(results(rows), Settings()).table
    assert table.select("shots", "format_hits", "n").rows() == [("format", 1, 4), ("none", 0.75, 4)]
    low, high = table.select("format_hits_low", "format_hits_high").row(0)
    assert 0.4 < low < high == 1


def test_each_family_is_adjusted_by_itself_and_what_was_not_tested_is_left_out() -> None:
    table = pl.DataFrame({"of": ["x", "y", "x", "x", "y"], "p": [0.01, 0.04, None, 0.03, 0.02], "n": range(5)})
    found = with_adjusted(table, ["of"])
    assert found.columns == ["of", "p", "p_adjusted", "n"]
    assert found.get_column("p_adjusted").to_list() == pytest.approx([0.02, 0.04, None, 0.03, 0.04])
    together = with_adjusted(table, []).get_column("p_adjusted").drop_nulls().to_list()
    assert together == pytest.approx(multipletests([0.01, 0.04, 0.03, 0.02], method="holm")[1])


def guessers(models: int, items: int = 200, seed: int = 0) -> Results:
    """Models that draw lots among four options, with the image and without it."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 4, items)
    rows = []
    for model in range(models):
        for modality in ("image", "no-image"):
            picked = rng.integers(0, 4, items)
            rows += [
                {
                    "item": str(i),
                    "model": f"m{model:02}",
                    "modality": modality,
                    "choice": "ABCD"[pick],
                    "score": float(pick == gold[i]),
                }
                for i, pick in enumerate(picked)
            ]
    known = [
        {"item": str(i), "options": 4, "position": int(g), "gold": "ABCD"[g], "tag.core": "abcdefgh"[i % 8]}
        for i, g in enumerate(gold)
    ]
    return results(rows, known)


def test_places_that_no_model_prefers_are_not_in_colour() -> None:
    """Of 160 places that lots were drawn for, intervals alone blame several."""
    found = guessers(40)
    shown = FIGURES["positions"].numbers(Material(found))
    alone = shown.filter((pl.col("difference_low") > 0) | (pl.col("difference_high") < 0))
    assert len(alone) > 3
    assert not shown.get_column("preferred").any()


FAST = Settings(resamples=200)
CHOICES = {"a": "AABBCCDDAB", "b": "AABBCCDDBA", "c": "ABBBCADDA."}


def chosen(choices: dict[str, str], items: list[dict[str, object]] | None = None, **axes: object) -> Results:
    rows = [
        {"model": model, "item": str(i), "choice": None if letter == "." else letter, "score": 1, **axes}
        for model, letters in choices.items()
        for i, letter in enumerate(letters)
    ]
    return results(rows, items or [])


def of(table: pl.DataFrame, coefficient: str, **which: object) -> dict[str, float]:
    return table.filter(coefficient=coefficient, **which).row(0, named=True)


def test_models_are_raters_and_choices_their_labels() -> None:
    table = agreement.measure(chosen(CHOICES), FAST).table
    assert table.get_column("coefficient").to_list() == ["observed", "fleiss", "krippendorff", "gwet"] + 3 * ["cohen"]
    pair = of(table, "cohen", a="a", b="b")
    assert pair["agreement"] == pytest.approx(cohen_kappa_score(list(CHOICES["a"]), list(CHOICES["b"])))
    assert (pair["n"], pair["raters"]) == (10, 2)
    assert pair["agreement_low"] < pair["agreement"] < pair["agreement_high"]
    assert of(table, "cohen", a="a", b="c")["n"] == 9
    assert of(table, "fleiss")["raters"] == 3
    assert 0 < of(table, "fleiss")["agreement"] < of(table, "observed")["agreement"] < 1


def test_it_needs_two_models_with_choices() -> None:
    with pytest.raises(NotMeasurable, match="at least two models"):
        agreement.measure(chosen({"a": "AB"}), FAST)
    with pytest.raises(NotMeasurable):
        agreement.measure(chosen({"a": "AB", "b": ".."}), FAST)


def decided(*rows: tuple[str, int, str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["item", "round", "reviewer", "decision"], orient="row")


def test_people_agree_by_round() -> None:
    first = [(str(i), 1, who, word) for i in range(6) for who, word in (("ann", "keep"), ("bob", "keep"))]
    second = [
        (str(i), 2, who, word)
        for who, words in (("ann", "kkdd" * 3), ("bob", "kkdk" * 3), ("cy", "kddd" * 3))
        for i, word in enumerate(words)
    ]
    table = decisions_agreement(decided(*first, *second), FAST)
    unanimous = table.filter(pl.col("round") == 1)
    assert of(unanimous, "observed")["agreement"] == 1
    assert of(unanimous, "fleiss")["agreement"] is None
    later = table.filter(pl.col("round") == 2)
    assert len(later.filter(coefficient="cohen")) == 3
    assert of(later, "cohen", a="ann", b="bob")["agreement"] == pytest.approx(
        cohen_kappa_score(list("kkdd" * 3), list("kkdk" * 3))
    )
    assert of(later, "observed")["agreement"] == pytest.approx((1 + 1 / 3 + 1 + 1 / 3) / 4)


def test_below_ten_items_no_coefficient_is_given_but_the_share_that_agrees() -> None:
    choices = {"a": "ABABABABA", "b": "BABABABAB"}
    found = agreement.measure(chosen(choices), FAST)
    assert dict(found.table.select("coefficient", "agreement").iter_rows()) == {
        "observed": 0.0, "fleiss": None, "krippendorff": None, "gwet": None, "cohen": None
    }  # fmt: skip
    assert found.notes == ("no agreement beyond chance where fewer than 10 items were rated twice",)
    more = agreement.measure(chosen({name: words + "A" for name, words in choices.items()}), FAST)
    assert of(more.table, "fleiss")["agreement"] < 0
    assert more.notes == ()


def test_a_persons_last_decision_counts() -> None:
    rows = decided(
        ("1", 1, "ann", "keep"), ("1", 1, "bob", "drop"), ("2", 1, "ann", "drop"), ("2", 1, "bob", "drop"),
        ("1", 1, "bob", "keep"),
    )  # fmt: skip
    assert of(decisions_agreement(rows, FAST), "observed")["agreement"] == 1
    earlier = rows.with_columns(time=pl.Series(["2", "2", "2", "2", "1"]))
    assert of(decisions_agreement(earlier, FAST), "observed")["agreement"] == 0.5


def test_a_table_that_lacks_a_column_is_refused() -> None:
    with pytest.raises(InputError, match="found no column reviewer, expected item, round, reviewer, decision"):
        decisions_agreement(decided(("1", 1, "ann", "keep")).drop("reviewer"))
