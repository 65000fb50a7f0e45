"""Blind hits against chance and shared beliefs: who goes, who is looked at by people, and why."""

import numpy as np
import pytest

from tests.filters.answers import judged, stage
from tests.filters.simulated import Drawn

RULE = stage(filter="chance-aware", rate=0.05)


def panel(known: int, options: int = 4, believed: int = 0) -> Drawn:
    """Items that every seat knows in nine samples of ten, others where it believes the second option as firmly, and
    forty without any preference."""
    rng = np.random.default_rng(options)
    chosen = rng.integers(options, size=(known + believed + 40, 4, 10))
    chosen[:known], chosen[known : known + believed] = 0, 1
    chosen[: known + believed, :, 9] = options - 1
    return Drawn(np.arange(len(chosen)) < known, chosen)


@pytest.mark.parametrize(("options", "enough"), [(3, 10), (4, 7), (10, 3)])
def test_what_is_known_goes_where_there_is_enough_of_it(options: int, enough: int) -> None:
    """Fewer such items could be a belief that happens to be right: people are asked."""
    for known, verdict in ((enough, "drop"), (enough - 1, "review")):
        found = [one.verdict for one in panel(known, options).verdicts(RULE, options)]
        assert found == [verdict] * known + ["keep"] * 40


def test_as_many_wrong_favourites_speak_for_the_good_items() -> None:
    """Ten items on whose gold all agree, ten on whose second option all agree: a shared belief, not knowledge."""
    assert {one.verdict for one in panel(10, believed=10).verdicts(RULE)} == {"keep"}


def test_without_choices_hits_are_held_against_the_spread_of_hits() -> None:
    found = [one.verdict for one in panel(3).verdicts(RULE, with_choices=False)]
    assert found == ["drop"] * 3 + ["keep"] * 40


def test_an_incomplete_item_has_no_part_in_the_decision() -> None:
    sure = {f"sure{i}": ["1" * 10 + "-" * 2] for i in range(50)}
    close = {"close": ["1" * 5 + "0" * 7]}
    alone = judged(RULE, close)["close"]
    together = judged(RULE, close | sure, tests=12)
    assert alone.p == together["close"].p
    assert together["close"].verdict == alone.verdict
    assert {row.verdict for name, row in together.items() if name != "close"} == {"review"}
