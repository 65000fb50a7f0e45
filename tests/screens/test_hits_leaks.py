"""Pairs of a model and its language model: one answers blind what the other cannot."""

import pytest

from eyetest.errors import InputError
from eyetest.records import Stage
from eyetest.screens import Seat
from tests.screens.said import KINDS, Table, evidence, judged, stage, told, words

HALF = stage(screen="leak-hits", keep={"share": {"op": "<=", "value": 0.5}})
PAIRS = [Seat("m0", "m1"), Seat("m1"), Seat("m2", "m3"), Seat("m3"), Seat("m4", "m1"), Seat("m5", "elsewhere")]
"""Two models share a base; the last one's base is not on the panel."""


def leaked(*right: int) -> list[str]:
    return [str(one) for one in right]


def judge(table: Table, rule: Stage = HALF) -> dict[str, str]:
    return words(judged(rule, evidence(table), seats=PAIRS))


def test_a_pair_hits_where_only_the_larger_model_answers() -> None:
    table = {
        "both": leaked(1, 1, 1, 1, 1, 1),
        "neither": leaked(0, 0, 0, 0, 0, 0),
        "base only": leaked(0, 1, 0, 1, 0, 0),
        "one pair": leaked(1, 0, 1, 1, 0, 1),
        "two pairs": leaked(1, 0, 1, 1, 1, 0),
        "all pairs": leaked(1, 0, 1, 0, 1, 0),
    }
    found = judged(HALF, evidence(table), seats=PAIRS)
    assert [row.hits for row in found.values()] == [0, 0, 0, 1, 2, 3]
    assert words(found) == {
        "both": "keep",
        "neither": "keep",
        "base only": "keep",
        "one pair": "keep",
        "two pairs": "drop",
        "all pairs": "drop",
    }
    assert found["two pairs"].reason == "leaked to 2 of 3 pairs"
    assert found["two pairs"].n == 3


def test_a_pair_without_one_of_its_answers_goes_to_people() -> None:
    table: Table = {"q": [[1], ["failed"], [1], [0], [1], [0]]}
    found = judged(HALF, evidence(table), seats=PAIRS)["q"]
    assert (found.verdict, found.reason, found.n) == ("review", "2 pairs missing", 1)
    enough = stage(screen="leak-hits", keep={"hits": {"op": "<", "value": 1}}, min_answers=1)
    assert judge(table, enough) == {"q": "drop"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_plain_answer_is_no_hit_and_is_counted(kind: str) -> None:
    table: Table = {"q": [[kind], [0], [1], [0], [0], [0]]}
    found = judged(HALF, evidence(table), seats=PAIRS)["q"]
    assert found.hits == 1
    assert told(found)["not_plain"] == {kind: 1}


def test_a_stage_may_say_what_becomes_of_leaked_items() -> None:
    rule = stage(screen="leak-hits", keep={"hits": {"op": "<", "value": 2}}, then="review")
    assert judge({"q": leaked(1, 0, 1, 0, 1, 0)}, rule) == {"q": "review"}


def test_several_trials_are_one_answer_by_majority() -> None:
    table: Table = {"q": ["110", "100", "100", "110", "111", "000"]}
    assert judged(HALF, evidence(table), seats=PAIRS)["q"].hits == 2


def test_a_panel_without_pairs_is_refused() -> None:
    with pytest.raises(InputError, match="no model of the panel sits beside its language model"):
        judged(HALF, evidence({"q": ["1", "0"]}))
