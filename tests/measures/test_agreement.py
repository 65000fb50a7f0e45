import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

from eyetest.errors import InputError
from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from eyetest.measures.choices import agreement, decisions_agreement
from tests.measures.tables import results

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


def test_it_is_registered() -> None:
    assert MEASURES["agreement"].summary


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


def test_pairs_may_be_left_out() -> None:
    table = agreement.measure(chosen(CHOICES), Settings(resamples=50, own={"pairs": False})).table
    assert "cohen" not in table.get_column("coefficient").to_list()


def test_an_item_in_another_order_is_another_unit_of_the_same_cluster() -> None:
    """The same choices in two orders double the units; the interval is that of the items."""
    once = agreement.measure(chosen(CHOICES), FAST).table
    both = [chosen(CHOICES, order=order).scores for order in (0, 1)]
    twice = agreement.measure(Results(pl.concat(both), chosen(CHOICES).items), FAST).table
    assert of(twice, "cohen", a="a", b="b")["n"] == 20
    values = ("agreement", "agreement_low", "agreement_high")
    for row in (0, 4):
        assert [twice.row(row, named=True)[v] for v in values] == pytest.approx(
            [once.row(row, named=True)[v] for v in values], abs=1e-9
        )


def test_each_protocol_is_apart() -> None:
    parts = [chosen(CHOICES).scores, chosen({"a": "ABAB" * 3, "b": "ABBA" * 3}, modality="no-image").scores]
    table = agreement.measure(Results(pl.concat(parts), chosen(CHOICES).items), FAST).table
    assert of(table, "cohen", modality="no-image", a="a", b="b")["agreement"] == pytest.approx(0)
    assert of(table, "cohen", modality="image", a="a", b="b")["agreement"] > 0.5


def test_a_tag_splits_the_table() -> None:
    items: list[dict[str, object]] = [{"item": str(i), "tag.task": "one" if i < 10 else "two"} for i in range(20)]
    choices = {"a": "ABCAB" * 2 + "AB" * 5, "b": "ABCAB" * 2 + "BA" * 5}
    table = agreement.measure(chosen(choices, items), Settings(by=("task",), resamples=50)).table
    assert of(table, "cohen", **{"tag.task": "one"}, a="a", b="b")["agreement"] == 1
    assert of(table, "cohen", **{"tag.task": "two"}, a="a", b="b")["agreement"] == -1


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


def test_reviewers_may_be_called_anything() -> None:
    table = decisions_agreement(decided(("1", 1, "item", "keep"), ("1", 1, "cluster", "drop")), FAST)
    assert table.filter(coefficient="cohen").select("a", "b").rows() == [("cluster", "item")]
