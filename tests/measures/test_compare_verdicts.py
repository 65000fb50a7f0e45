from typing import Any

import pytest

from eyetest.measures.compare import Terms, verdict

PAIR: dict[str, Any] = {
    **{"a": "A", "b": "B", "difference": 0.021, "difference_low": -0.005, "difference_high": 0.047},
    **{"p": 0.12, "p_adjusted": 0.12, "only_a": 40, "only_b": 34, "n": 300, "clusters": 300},
    **{"detectable": 0.04, "detectable_adjusted": 0.04},
}
CLOSE = "A leads B by 2.1 points [−0.5, 4.7] on 300 items: too close to call"


def said(terms: Terms | None = None, **changed: Any) -> str:
    return verdict({**PAIR, **changed}, terms or Terms())


def test_too_close_to_call_and_what_could_be_seen() -> None:
    assert said() == f"{CLOSE}; this benchmark can tell 4.0 points apart at 80 % power"
    assert said(Terms(power=0.9)).endswith("apart at 90 % power")


def test_the_leader_is_named_first_whichever_side_it_stands_on() -> None:
    turned = said(a="B", b="A", difference=-0.021, difference_low=-0.047, difference_high=0.005)
    assert turned == said()


def test_a_clear_lead() -> None:
    assert said(p=0.003, p_adjusted=0.003).endswith("on 300 items: a clear lead (p = 0.003)")
    many = said(Terms(pairs=45), p=1e-4, p_adjusted=0.0045)
    assert many.endswith("a clear lead (p = 0.0045 after Holm's correction for 45 pairs)")


def test_the_level_decides() -> None:
    assert "a clear lead" in said(Terms(level=0.85))
    assert "too close to call" in said(Terms(level=0.99), p=0.03, p_adjusted=0.03)


def test_what_one_pair_alone_would_show_is_told() -> None:
    line = said(Terms(pairs=28), p=0.013, p_adjusted=0.079, detectable_adjusted=0.055)
    assert "too close to call among so many (p = 0.013 alone, 0.079 after Holm's correction for 28 pairs)" in line
    assert "can tell 5.5 points apart" in line


def test_models_that_are_level_or_never_differ() -> None:
    level: dict[str, Any] = {
        "difference": 0.0,
        "difference_low": -0.03,
        "difference_high": 0.03,
        "p": 1.0,
        "p_adjusted": 1.0,
    }
    assert said(**level).startswith("A and B are level [−3.0, 3.0] on 300 items: too close to call; this benchmark")
    never = said(**level, only_a=0, only_b=0, detectable_adjusted=None)
    assert never.endswith("too close to call; both are right on the same items")
    assert "by 0.0 points [−0.0" not in said(difference=1e-9, difference_low=-1e-9)


@pytest.mark.parametrize("smallest", [None, 1.18])
def test_what_no_lead_could_show(smallest: float | None) -> None:
    assert said(detectable_adjusted=smallest) == f"{CLOSE}; too few items differ to find any lead at 80 % power"


def test_what_cannot_be_tested() -> None:
    assert said(n=1, clusters=1, p=1.0, p_adjusted=1.0).endswith("on 1 item: too little to test")
    untested = said(difference_low=None, difference_high=None, p=None, p_adjusted=None)
    assert untested == "A leads B by 2.1 points on 300 items: too little to test"


def test_clusters_are_told_where_items_share_them() -> None:
    assert "on 300 items in 120 clusters:" in said(clusters=120)


def test_scores_beyond_one_are_no_points() -> None:
    line = said(Terms(in_points=False), difference=0.213, detectable_adjusted=1.25)
    assert line.startswith("A leads B by 0.213 [−0.005, 0.047] on")
    assert "can tell 1.25 apart" in line
