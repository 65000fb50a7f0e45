from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from eyetest.measures.compare import contest, flips_of
from tests.measures.tables import grid

FEW = Settings(resamples=200)
SKILLS = {"weak": 0.2, "even": 0.5, "like": 0.5, "best": 0.9}


def scored(skills: dict[str, float], items: int = 200, **axes: Any) -> Results:
    rng = np.random.default_rng(5)
    shares = rng.random((items, len(skills)))
    columns = zip(skills.items(), shares.T, strict=True)
    return grid({model: [float(x < skill) for x in column] for (model, skill), column in columns}, **axes)


def together(*parts: Results) -> Results:
    return Results(pl.concat([part.scores for part in parts]), parts[0].items)


def test_neighbours_in_the_ranking_better_model_first() -> None:
    found = contest(scored(SKILLS), (), FEW)
    order = found.ranking.get_column("model").to_list()
    assert (order[0], order[-1]) == ("best", "weak")
    assert found.pairs.select("a", "b").rows() == list(pairwise(order))
    assert (found.pairs.get_column("difference") >= 0).all()
    for row in found.pairs.iter_rows(named=True):
        assert row["difference"] == pytest.approx(row["a_mean"] - row["b_mean"])
        assert row["difference_low"] <= row["difference"] <= row["difference_high"]
        assert row["only_a"] - row["only_b"] == round(row["difference"] * row["n"])
        assert f"{row['a']} leads {row['b']} by" in row["verdict"]


def test_the_adjustment_is_for_all_pairs_whichever_are_shown() -> None:
    results = scored(SKILLS)
    some, every = contest(results, (), FEW), contest(results, (), FEW, all_pairs=True)
    assert (len(some.pairs), len(every.pairs), some.together, every.together) == (3, 6, 6, 6)
    assert some.pairs.rows() == every.pairs.join(some.pairs, on=("a", "b"), how="semi").rows()
    plain = MEASURES["differences"].measure(results, FEW).table
    assert sorted(every.pairs.get_column("p_adjusted")) == pytest.approx(sorted(plain.get_column("p_adjusted")))


def test_models_share_a_rank_where_the_pair_is_too_close_to_call() -> None:
    found = contest(scored(SKILLS), (), FEW)
    ties = dict(found.ranking.select("model", "tie").iter_rows())
    for row in found.pairs.iter_rows(named=True):
        assert (ties[row["a"]] == ties[row["b"]]) == ("too close to call" in row["verdict"])
    assert ties == {"best": 1, "even": 2, "like": 2, "weak": 4}


def test_named_models_are_alone_with_each_other() -> None:
    results = together(scored(SKILLS), scored({"weak": 0.3}, ask="cot"))
    found = contest(results, ["weak", "best"], FEW)
    assert found.pairs.select("ask", "a", "b").rows() == [("direct", "weak", "best")]
    assert found.together == 1
    assert found.pairs.item(0, "p") == found.pairs.item(0, "p_adjusted")
    assert found.pairs.item(0, "verdict").startswith("direct: best leads weak")
    alone = contest(results, ["even", "like"], FEW)
    assert alone.families == ()
    with pytest.raises(InputError, match="no scores of model 'wek'"):
        contest(results, ["wek", "best"], FEW)


def test_each_protocol_has_an_order_of_its_own() -> None:
    results = together(scored({"x": 0.9, "y": 0.2}), scored({"x": 0.2, "y": 0.9}, ask="cot"))
    found = contest(results, (), FEW)
    assert found.pairs.select("ask", "a", "b").rows() == [("cot", "y", "x"), ("direct", "x", "y")]
    lists = flips_of(results, found)
    cot = lists.filter(ask="cot", only="y")
    assert set(lists.get_column("ask")) == {"cot", "direct"}
    assert (cot.get_column("b_score") == 0).all()
    assert len(cot) == found.pairs.item(0, "only_a")


def test_flips_are_those_of_the_pairs_in_the_table() -> None:
    results = scored(SKILLS)
    found = contest(results, (), FEW)
    lists = flips_of(results, found)
    assert lists.select("a", "b").unique(maintain_order=True).rows() == found.pairs.select("a", "b").rows()
    for row in found.pairs.iter_rows(named=True):
        here = lists.filter(a=row["a"], b=row["b"])
        assert len(here.filter(only=row["a"])) == row["only_a"]
        assert len(here.filter(only=row["b"])) == row["only_b"]


def test_fewer_than_two_are_refused() -> None:
    with pytest.raises(NotMeasurable, match="only x has scores"):
        contest(grid({"x": [1, 0], "y": [None, None]}), (), FEW)
    with pytest.raises(NotMeasurable, match="no answer has a score"):
        contest(grid({"x": [None]}), (), FEW)
    with pytest.raises(NotMeasurable, match="the same items"):
        contest(grid({"x": [1, None], "y": [None, 1]}), (), FEW)


def test_equals_are_level_from_either_side() -> None:
    found = contest(grid({"x": [1, 0, 0], "y": [0, 1, 0], "z": [1, 1, 1]}), (), FEW, all_pairs=True)
    assert "-0" not in {str(row[0])[:2] for row in found.pairs.select("difference").rows()}
    assert found.pairs.row(2, named=True)["verdict"].startswith("x and y are level [")


def test_scores_beyond_one_are_told_as_they_are() -> None:
    found = contest(grid({"x": [1.5, 2.5, 0.1, 0.2], "y": [0.1, 1.9, 0.3, 0.2]}), (), FEW)
    assert found.pairs.item(0, "verdict").startswith("x leads y by 0.45 [")
