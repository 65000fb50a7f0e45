"""Which items a query means, counted by hand."""

import pytest

from eyetest.pages.item_links import parse_query
from eyetest.review.collection import Collection


def shown(collection: Collection, text: str) -> str:
    """The numbers of the items that a query shows, in order."""
    view = collection.view(parse_query(text))
    return " ".join(row.id.removeprefix("q") for row in collection.rows(view))


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", "0 1 2 3 4 5"),
        ("answer=right:a@image", "0 1 3 4 5"),
        ("answer=wrong:a@image", "2"),
        ("answer=right:a@image&answer=wrong:b@image", "1 3 4"),
        ("answer=refused", "2"),
        ("answer=refused:b", ""),
        ("answer=unparsed", "3"),
        ("answer=failed", "5"),
        ("answer=failed:a@image", ""),
        ("blind-right=a", "0 4"),
        ("blind-right=b", "1 3"),
        ("tag.task=birds", "0 1"),
        ("tag.task=birds&tag.year=2021", "1"),
        ("tag.year=2021&tag.year=2025", "1 5"),
        ("gold=B", "4 5"),
        ("difficulty=1", "2"),
        ("difficulty=..0.5", "0 1 3 4 5"),
        ("disagreement=1", "1 3 4"),
        ("gain=0.5..", "0 5"),
        ("text=frog", "0 1 2 3 4 5"),
        ("text=NUMBER+3", "3"),
        ("text=RUNES+mysterious", "3"),
        ("text=%22mysterious+runes%22", "3"),
        ("text=%22runes+mysterious%22", ""),
        ("text=frog+runes", ""),
        ("id=q3&id=q1", "1 3"),
        ("sort=-tag.year&tag.task=birds", "1 0"),
        ("sort=-difficulty", "2 1 3 4 0 5"),
        ("benchmark=zoo&gold=A", "0 1 2 3"),
    ],
)
def test_each_filter_shows_what_a_person_counts(collection: Collection, query: str, numbers: str) -> None:
    assert shown(collection, query) == numbers
