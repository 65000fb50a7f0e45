from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.measures import Results, Settings
from eyetest.measures.compare import Terms, contest, flips_of, verdict
from eyetest.measures.results import narrowed
from eyetest.measures.stats.paired import holm, paired, smallest_difference, smallest_shift
from tests.measures.tables import asked, grid, mcnemar, measure, results

THREE: dict[str, list[float | None]] = {
    "a": [1, 1, 1, 1, 1, 1, 0, 1, 1, 1],
    "b": [0, 0, 0, 1, 1, 0, 0, 1, 0, 0],
    "c": [1, 0, 1, 1, 0, 1, 0, None, 1, 1],
}


def test_every_pair_of_models_has_a_row() -> None:
    table = measure("differences", grid(THREE)).table
    assert table.select("a", "b").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    first = table.row(0, named=True)
    assert (first["a_mean"], first["b_mean"], first["difference"]) == pytest.approx((0.9, 0.3, 0.6))
    assert (first["only_a"], first["only_b"], first["n"], first["clusters"]) == (6, 0, 10, 10)
    assert first["p"] == mcnemar(6, 0)
    assert first["test"] == "mcnemar"
    assert first["difference_low"] < 0.6 < first["difference_high"]
    assert table.get_column("p_adjusted").to_list() == holm(table.get_column("p").to_list())
    assert table.get_column("detectable").to_list()[0] == smallest_difference(10, 0.6)


def test_tests_of_an_item_are_averaged_and_fractions_compared_by_t() -> None:
    by_order = {"a": [(1, 1, 1, 0), (1, 0, 1, 0)], "b": [(0, 1, 0, 0), (1, 0, 0, 1)]}
    rows = [row for m, orders in by_order.items() for n in (0, 1) for row in asked(m, orders[n], order=n)]
    found = measure("differences", results(rows)).table.row(0, named=True)
    expected = paired([1, 0.5, 1, 0], [0.5, 0.5, 0, 0.5])
    assert (found["difference"], found["p"]) == pytest.approx((expected.difference, expected.p))
    assert (found["test"], found["only_a"], found["n"]) == ("paired t", None, 4)
    assert expected.error is not None
    assert found["detectable"] == smallest_shift(expected.error, 4)


def test_what_one_pair_could_see_and_one_of_many() -> None:
    rng = np.random.default_rng(0)
    given = grid({model: [float(s) for s in rng.random(200) < 0.5] for model in "abc"})
    panels = (narrowed(given, [("model", "ab")]), given)
    one, many = (measure("differences", panel).table.row(0, named=True) for panel in panels)
    assert one["detectable"] == one["detectable_adjusted"] == many["detectable"]
    assert many["detectable_adjusted"] == smallest_difference(
        200, (many["only_a"] + many["only_b"]) / 200, 0.8, 1 - 0.05 / 3
    )
    assert many["detectable_adjusted"] > many["detectable"]


FEW = Settings(resamples=200)
SKILLS = {"weak": 0.2, "even": 0.5, "like": 0.5, "best": 0.9}


def scored(skills: dict[str, float], items: int = 200, **axes: Any) -> Results:
    rng = np.random.default_rng(5)
    shares = rng.random((items, len(skills)))
    columns = zip(skills.items(), shares.T, strict=True)
    return grid({model: [float(x < skill) for x in column] for (model, skill), column in columns}, **axes)


def together(*parts: Results) -> Results:
    return Results(pl.concat([part.scores for part in parts]), parts[0].items)


def test_all_pairs_and_their_flips_in_the_order_of_the_ranking_better_model_first() -> None:
    results = scored(SKILLS)
    found = contest(results, (), FEW)
    order = found.ranking.get_column("model").to_list()
    assert (order[0], order[-1]) == ("best", "weak")
    assert found.pairs.select("a", "b").rows() == list(combinations(order, 2))
    assert (found.pairs.get_column("difference") >= 0).all()
    lists = flips_of(results, found)
    assert lists.select("a", "b").unique(maintain_order=True).rows() == found.pairs.select("a", "b").rows()
    for row in found.pairs.iter_rows(named=True):
        assert row["difference"] == pytest.approx(row["a_mean"] - row["b_mean"])
        assert row["difference_low"] <= row["difference"] <= row["difference_high"]
        assert row["only_a"] - row["only_b"] == round(row["difference"] * row["n"])
        assert f"{row['a']} leads {row['b']} by" in row["verdict"]
        here = lists.filter(a=row["a"], b=row["b"])
        assert len(here.filter(only=row["a"])) == row["only_a"]
        assert len(here.filter(only=row["b"])) == row["only_b"]


def test_each_protocol_has_an_order_of_its_own() -> None:
    results = together(scored({"x": 0.9, "y": 0.2}), scored({"x": 0.2, "y": 0.9}, ask="cot"))
    found = contest(results, (), FEW)
    assert found.pairs.select("ask", "a", "b").rows() == [("cot", "y", "x"), ("direct", "x", "y")]
    lists = flips_of(results, found)
    cot = lists.filter(ask="cot", only="y")
    assert set(lists.get_column("ask")) == {"cot", "direct"}
    assert (cot.get_column("b_score") == 0).all()
    assert len(cot) == found.pairs.item(0, "only_a")


PAIR: dict[str, Any] = {
    **{"a": "A", "b": "B", "difference": 0.021, "difference_low": -0.005, "difference_high": 0.047},
    **{"p": 0.12, "p_adjusted": 0.12, "only_a": 40, "only_b": 34, "n": 300, "clusters": 300},
    **{"detectable": 0.04, "detectable_adjusted": 0.04},
}
CLOSE = "A leads B by 2.1 points [−0.5, 4.7] on 300 items: too close to call"


LEVEL = {"difference": 0.0, "difference_low": -0.03, "difference_high": 0.03, "p": 1.0, "p_adjusted": 1.0}
TOO_FEW = f"{CLOSE}; too few items differ to find any lead at 80 % power"


@pytest.mark.parametrize(
    ("terms", "changed", "sentence"),
    [
        (Terms(), {}, f"{CLOSE}; this benchmark can tell 4.0 points apart at 80 % power"),
        (Terms(), {"p": 0.003, "p_adjusted": 0.003}, "on 300 items: a clear lead (p = 0.003)"),
        (
            Terms(pairs=45),
            {"p": 1e-4, "p_adjusted": 0.0045},
            "a clear lead (p = 0.0045 after Holm's correction for 45 pairs)",
        ),
        (
            Terms(),
            LEVEL | {"only_a": 0, "only_b": 0, "detectable_adjusted": None},
            "A and B are level [−3.0, 3.0] on 300 items: too close to call; both are right on the same items",
        ),
        (Terms(), {"detectable_adjusted": None}, TOO_FEW),
        (Terms(), {"detectable_adjusted": 1.18}, TOO_FEW),
        (Terms(), {"n": 1, "clusters": 1, "p": 1.0, "p_adjusted": 1.0}, "on 1 item: too little to test"),
        (
            Terms(),
            {"difference_low": None, "difference_high": None, "p": None, "p_adjusted": None},
            "A leads B by 2.1 points on 300 items: too little to test",
        ),
    ],
)
def test_each_verdict_is_a_sentence(terms: Terms, changed: dict[str, Any], sentence: str) -> None:
    assert verdict({**PAIR, **changed}, terms).endswith(sentence)
