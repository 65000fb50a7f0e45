"""Hits against luck: the p-value of each item, which are too small together, and coins that are looked at twice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from eyetest.records import Item
from eyetest.screens.chance import discovery_limit
from tests.screens.said import KINDS, evidence, item, judged, stage, told, words

RULE = stage(screen="chance-aware", rate=0.05)


@given(st.lists(st.floats(0, 1), max_size=60), st.sampled_from([0.01, 0.05, 0.2, 0.5]))
def test_the_limit_is_that_of_benjamini_and_hochberg(p_values: list[float], rate: float) -> None:
    limit = discovery_limit(p_values, rate)
    ours = [p <= limit for p in p_values]
    theirs = multipletests(p_values, rate, method="fdr_bh")[0].tolist() if p_values else []
    assert ours == theirs


@pytest.mark.parametrize("options", [2, 3, 4, 10])
def test_p_is_the_chance_of_so_many_hits_by_guessing(options: int) -> None:
    table = {str(hits): ["1" * hits + "0" * (20 - hits)] for hits in range(21)}
    found = judged(RULE, evidence(table), items=[item(name, options) for name in table])
    for hits in range(21):
        expected = stats.binom.sf(hits - 1, 20, 1 / options)
        assert found[str(hits)].p == pytest.approx(expected, rel=1e-9)
    assert (found["0"].verdict, found["20"].verdict) == ("keep", "drop")
    assert found["20"].reason.startswith("20 of 20 blind answers right, p = ")


def test_verdicts_are_those_of_all_items_together() -> None:
    rng = np.random.default_rng(1)
    table = {f"q{i}": ["".join(map(str, (rng.random(10) < rng.choice([0.25, 0.6])) * 1))] * 4 for i in range(200)}
    found = judged(RULE, evidence(table))
    expected = multipletests([row.p for row in found.values()], 0.05, method="fdr_bh")[0]
    assert [row.verdict == "drop" for row in found.values()] == expected.tolist()
    assert 10 < expected.sum() < 190


def test_several_golds_are_several_chances() -> None:
    heard = evidence({"one": ["11110"], "two": ["11110"], "all": ["11110"]})
    items = [item("one"), item("two", gold=(1, 3)), item("all", gold=(0, 1, 2, 3))]
    found = judged(RULE, heard, items=items)
    assert found["one"].p == pytest.approx(stats.binom.sf(3, 5, 0.25))
    assert found["two"].p == pytest.approx(stats.binom.sf(3, 5, 0.5))
    assert found["all"].p == 1


def test_a_request_that_is_sent_again_is_no_further_coin() -> None:
    many, once = ({"q": ["1" * trials] * 4} for trials in (10, 1))
    assert judged(RULE, evidence(many))["q"].p == pytest.approx(0.25**40, rel=1e-9, abs=0)
    found = judged(RULE, evidence(many, same=True))["q"]
    assert found.p == judged(RULE, evidence(once))["q"].p == pytest.approx(0.25**4)
    assert (found.n, found.hits, found.responses) == (4, 4, ("q/0/0", "q/1/0", "q/2/0", "q/3/0"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_plain_answer_is_no_hit_and_is_counted(kind: str) -> None:
    found = judged(RULE, evidence({"q": [[1] * 9 + [kind]]}))["q"]
    assert (found.hits, told(found)["not_plain"]) == (9, {kind: 1})
    if kind == "failed":
        assert (found.verdict, found.reason, found.n) == ("review", "1 answer missing", 9)
    else:
        assert (found.verdict, found.n) == ("drop", 10)


def test_enough_answers_are_enough() -> None:
    heard = evidence({"q": [[1] * 9 + ["failed"]], "r": [[1] * 8 + ["failed"] * 2]})
    found = judged(stage(screen="chance-aware", rate=0.05, min_answers=9), heard)
    assert words(found) == {"q": "drop", "r": "review"}


def test_an_incomplete_item_has_no_part_in_the_correction() -> None:
    sure = {f"sure{i}": ["1" * 10 + "-" * 2] for i in range(50)}
    close = {"close": ["1" * 5 + "0" * 7]}
    alone = judged(RULE, evidence(close))["close"]
    together = judged(RULE, evidence(close | sure, tests=12))
    assert alone.p == together["close"].p
    assert together["close"].verdict == alone.verdict == "keep"
    assert {row.verdict for name, row in together.items() if name != "close"} == {"review"}


def test_where_nothing_is_to_choose_there_is_no_chance() -> None:
    heard = evidence({"q": [[1] * 10]})
    found = judged(RULE, heard, items=[Item(id="q", question="?", references=("x",))])["q"]
    assert (found.verdict, found.p) == ("keep", None)
    assert "nothing to choose from" in found.reason
