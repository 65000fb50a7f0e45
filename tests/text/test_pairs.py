"""The table of pairs: at which levels two short texts say the same."""

import random
from itertools import pairwise
from pathlib import Path

import pytest

from eyetest.text import Level, same
from tests.support.tables import read_csv

PAIRS = read_csv(Path(__file__).parent / "pairs.csv")
LEVELS = {level.name.lower(): level for level in Level}


@pytest.mark.parametrize("row", PAIRS, ids=lambda row: f"{row['a']}|{row['b']}")
def test_each_pair_at_each_level(row: dict[str, str]) -> None:
    """The order matters for a tolerance alone."""
    for name, level in LEVELS.items():
        found = same(row["a"], row["b"], level)
        assert found == bool(int(row[name])), name
        if level is not Level.RELAXED:
            assert same(row["b"], row["a"], level) == found, name


def test_the_table_is_large_and_each_level_is_looser_than_the_one_before() -> None:
    assert len(PAIRS) >= 150
    for row in PAIRS:
        assert all(row[tight] <= row[loose] for tight, loose in pairwise(LEVELS))


def test_any_two_texts_of_the_table_are_compared_consistently() -> None:
    texts = sorted({row[side] for row in PAIRS for side in "ab"})
    draw = random.Random(1)
    for _ in range(1_500):
        one, other = draw.choice(texts), draw.choice(texts)
        found = [same(one, other, level) for level in Level]
        assert found == sorted(found), (one, other)
        assert found[:-1] == [same(other, one, level) for level in list(Level)[:-1]], (one, other)
