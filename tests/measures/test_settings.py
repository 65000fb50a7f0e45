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
        ("items", {"right": "0.5"}, {"right": 0.5}),
        ("items", {"right": 1}, {"right": 1.0}),
        ("agreement", {"pairs": "no"}, {"pairs": False}),
        ("agreement", {"pairs": False}, {"pairs": False}),
        ("overall", {"task": ["a", "b"]}, {"task": "a,b", "domain": ""}),
        ("correlation", {"external": {"a": 1.0}}, {"external": {"a": 1.0}}),
    ],
)
def test_words_and_values_mean_the_same(measure: str, said: dict[str, Any], meant: dict[str, Any]) -> None:
    assert own_settings(MEASURES[measure], said) == meant


@pytest.mark.parametrize(
    ("measure", "said", "why"),
    [
        ("items", {"right": True}, "expected a number"),
        ("items", {"right": float("inf")}, "expected a number"),
        ("agreement", {"pairs": 1}, "expected yes or no"),
        ("gain", {"noimage": "gray"}, 'did you mean "no_image"'),
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
