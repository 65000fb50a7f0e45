"""What guessing scores."""

import pytest

from eyetest.measures import MEASURES, NotMeasurable, Settings
from eyetest.measures.stats.chance import guessing
from tests.measures.tables import grid


def test_random_is_the_mean_of_one_over_n_and_frequent_the_best_letter() -> None:
    assert tuple(guessing([2, 4, 4], [0, 1, 1])) == pytest.approx((1 / 3, 2 / 3, 1, 3))
    assert guessing([4, 4], [2, 0]) == (0.25, 0.5, 0, 2)


def test_by_tag_and_without_text_items() -> None:
    golds = [("y", 2, 1), ("x", 4, 0), ("x", 4, 0), ("y", None, None)]
    items = [{"item": str(i), "tag.core": t, "options": o, "position": p} for i, (t, o, p) in enumerate(golds)]
    found = MEASURES["guessing"].measure(grid({"a": [1] * 4}, items), Settings(by=("core",)))
    columns = ("benchmark", "tag.core", "random", "frequent", "letter", "items")
    assert found.notes == ("left out: 1 item without options or a known gold",)
    assert found.table.select(columns).rows() == [("bench", "x", 0.25, 1.0, "A", 2), ("bench", "y", 0.5, 1.0, "B", 1)]
    with pytest.raises(NotMeasurable, match="--bench"):
        MEASURES["guessing"].measure(grid({"a": [1]}), Settings())
