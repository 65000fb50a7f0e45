from typing import Any

import polars as pl
import pytest

from eyetest.measures import instability as repeats
from eyetest.measures.instability import batches, sources
from eyetest.measures.results import TESTS


def asked(*rows: dict[str, Any]) -> pl.DataFrame:
    usual: dict[str, Any] = {"template": 0, "order": 0, "letters": "upper", "sample": 0}
    return pl.DataFrame([usual | row for row in rows], schema=list(TESTS))


def chosen(tests: pl.DataFrame) -> dict[str, list[int]]:
    """Which rows each source looks at."""
    numbered = tests.with_row_index("row")
    return {name: numbered.filter(only).get_column("row").to_list() for name, only in sources(tests).items()}


def test_the_others_are_as_usual() -> None:
    tests = asked({}, {"template": 2}, {"order": 7}, {"order": 7, "template": 2}, {"letters": "digit"}, {"sample": 1})
    assert chosen(tests) == {
        "all": [0, 1, 2, 3, 4, 5],
        "instruction": [0, 1],
        "order": [0, 2],
        "letters": [0, 4],
        "sample": [0, 5],
    }


def test_what_never_varies_alone_is_no_source() -> None:
    assert chosen(asked({}, {"template": 1, "order": 1}, {"template": 2, "order": 2})) == {"all": [0, 1, 2]}


def test_where_the_usual_value_was_never_used_the_first_one_is() -> None:
    tests = asked({"template": 3, "order": 1}, {"template": 3, "order": 2}, {"template": 4, "order": 1})
    assert chosen(tests) == {"all": [0, 1, 2], "instruction": [0, 2], "order": [0, 1]}


def test_a_source_that_is_all_there_is() -> None:
    found = sources(asked({"template": 5}, {"template": 5, "letters": "lower"}))
    assert list(found) == ["all", "letters"]
    assert found["letters"] is found["all"]


@pytest.mark.parametrize(
    ("columns", "found"), [(1, [["a", "b"], ["c"]]), (2, [["a", "b"], ["c"]]), (10, [["a"], ["b"], ["c"]])]
)
def test_batches(monkeypatch: pytest.MonkeyPatch, columns: int, found: list[list[str]]) -> None:
    """A model that is too large by itself is a batch all the same."""
    monkeypatch.setattr(repeats, "_MOST_ROWS", 8)
    monkeypatch.setattr(repeats, "_MOST_CELLS", 40)
    tests = pl.DataFrame({"model": ["c", "a", "b", "a", "b"], "len": [20, 1, 3, 2, 1]})
    assert batches(tests, columns) == found
