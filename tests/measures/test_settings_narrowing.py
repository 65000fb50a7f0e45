"""Some of the scores, by columns and by tags."""

import polars as pl
import pytest

from eyetest.errors import InputError
from eyetest.measures import Results
from eyetest.measures.results import TAG, as_written, narrowed, read_where

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
