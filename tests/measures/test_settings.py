"""A measure's own settings, said in words on the command line and in values in Python."""

from pathlib import Path
from typing import Any

import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES
from eyetest.measures.results import own_settings, read_external


@pytest.mark.parametrize(
    ("measure", "said", "meant"),
    [
        ("abnormal-hit-rate", {"at-least": "0.5"}, {"blind": "any", "at-least": 0.5}),
        ("abnormal-hit-rate", {"at-least": 1}, {"blind": "any", "at-least": 1.0}),
        ("agreement", {"pairs": "no"}, {"pairs": False}),
        ("agreement", {"pairs": False}, {"pairs": False}),
        ("spread", {"sizes": [3, 10]}, {"sizes": "3,10"}),
        ("correlation", {"external": {"a": 1.0}}, {"external": {"a": 1.0}}),
    ],
)
def test_words_and_values_mean_the_same(measure: str, said: dict[str, Any], meant: dict[str, Any]) -> None:
    assert own_settings(MEASURES[measure], said) == meant


@pytest.mark.parametrize(
    ("measure", "said", "why"),
    [
        ("abnormal-hit-rate", {"at-least": True}, "expected a number"),
        ("abnormal-hit-rate", {"at-least": float("inf")}, "expected a number"),
        ("agreement", {"pairs": 1}, "expected yes or no"),
        ("gain", {"blnd": "grey"}, 'did you mean "blind"'),
        ("accuracy", {"x": 1}, "no settings of its own"),
    ],
)
def test_what_makes_no_sense_is_refused(measure: str, said: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        own_settings(MEASURES[measure], said)


def test_scores_from_outside(tmp_path: Path) -> None:
    (tmp_path / "elo.csv").write_text("model,elo\na,1000\n\nb,900.5\n")
    assert read_external(tmp_path / "elo.csv") == {"a": 1000.0, "b": 900.5}
    (tmp_path / "none.csv").write_text("model,elo\n")
    with pytest.raises(InputError, match="holds no score"):
        read_external(tmp_path / "none.csv")
