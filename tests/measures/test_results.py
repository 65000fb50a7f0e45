"""A measure's own settings, as words on the command line and as values in Python."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES, Results
from eyetest.measures.results import TAG, as_written, narrowed, own_settings, read_external, read_where


@pytest.mark.parametrize(
    ("measure", "given", "meant"),
    [
        ("overall", {"task": ["a", "b"]}, {"task": "a,b", "domain": ""}),
        ("correlation", {"external": {"a": 1.0}}, {"external": {"a": 1.0}}),
    ],
)
def test_words_and_values_mean_the_same(measure: str, given: dict[str, Any], meant: dict[str, Any]) -> None:
    assert own_settings(MEASURES[measure], given) == meant


@pytest.mark.parametrize(
    ("measure", "given", "why"),
    [
        ("no-image-hits", {"ovr": "items"}, 'did you mean "over"'),
        ("accuracy", {"x": 1}, "no settings of its own"),
    ],
)
def test_what_makes_no_sense_is_refused(measure: str, given: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        own_settings(MEASURES[measure], given)


def test_scores_from_outside(tmp_path: Path) -> None:
    (tmp_path / "elo.csv").write_text("model,elo\na,1000\n\nb,900.5\n")
    assert read_external(tmp_path / "elo.csv") == {"a": 1000.0, "b": 900.5}
    (tmp_path / "none.csv").write_text("model,elo\n")
    with pytest.raises(InputError, match="holds no score"):
        read_external(tmp_path / "none.csv")


SCORES = pl.DataFrame(
    {
        "benchmark": ["b"] * 4,
        "item": ["1", "2", "1", "2"],
        "model": ["a", "a", "one, two", "one, two"],
        "score": [1.0, 0.5, 0.0, 1.0],
    }
)
ITEMS = pl.DataFrame({"benchmark": ["b", "b"], "item": ["1", "2"], f"{TAG}core": ["p", "q"]})
RESULTS = Results(SCORES.lazy(), ITEMS)


def kept(*words: str) -> list[tuple[str, str]]:
    return narrowed(RESULTS, read_where(words)).scores.select("item", "model").collect().rows()


def test_columns_and_tags() -> None:
    assert kept("model=a") == [("1", "a"), ("2", "a")]
    assert kept("core=q", "model=a") == [("2", "a")]
    assert kept("score=1") == [("1", "a"), ("2", "one, two")]
    assert kept("score=1,0.5", "model=a") == [("1", "a"), ("2", "a")]


def test_a_name_with_a_comma_in_it() -> None:
    assert kept("model=one, two") == [("1", "one, two"), ("2", "one, two")]


def test_items_are_narrowed_with_their_scores() -> None:
    assert narrowed(RESULTS, [("core", ["p"])]).items["item"].to_list() == ["1"]
    assert narrowed(RESULTS, [("model", ["a"])]).items["item"].to_list() == ["1", "2"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("model", "expected COLUMN=VALUE"),
        ("modl=a", 'did you mean "model"'),
        ("core=z", "nothing is left; known: p, q"),
    ],
)
def test_words_that_mean_nothing(words: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        kept(words)


def test_values_as_people_write_them() -> None:
    assert [as_written(value) for value in (1.0, 0.5, 3, "x")] == ["1", "0.5", "3", "x"]
