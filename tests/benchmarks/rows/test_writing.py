from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.benchmarks.rows import plain_row
from eyetest.benchmarks.rows.layout import RESERVED
from eyetest.records import Choice, Item, Lineage, Turn
from tests.benchmarks.rows.memory import read_item

TEXT = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["A", "?", "[1]", "['x']", "0", "nan", " "]
)
NAME = st.text("abAB_1 ", min_size=1, max_size=6).filter(str.strip) | st.sampled_from(sorted(RESERVED))
VALUE = st.booleans() | st.integers() | TEXT | st.lists(TEXT, max_size=2)
ITEM = st.builds(
    Item,
    id=TEXT,
    question=TEXT,
    choices=st.lists(st.builds(Choice, TEXT, st.booleans()), max_size=26, unique_by=lambda c: c.text).map(tuple),
    hint=TEXT,
    history=st.lists(st.builds(Turn, TEXT, TEXT), max_size=2).map(tuple),
    description=TEXT,
    group=TEXT,
    lineage=st.lists(st.builds(Lineage, TEXT, seed=st.none() | st.integers(0, 9)), max_size=2).map(tuple),
    tags=st.dictionaries(NAME, VALUE, max_size=4),
)


def item_of(**values: Any) -> Item:
    return Item(**{"id": "1", "question": "What?", **values})


def read_back(item: Item) -> Item:
    return read_item({"question": "", "options": None, **plain_row(item)})


@given(item=ITEM)
def test_the_same_item_is_read_from_its_row(item: Item) -> None:
    assert read_back(item) == item


@given(references=st.lists(TEXT, max_size=3).map(tuple))
def test_the_same_references_are_read_from_their_row(references: tuple[str, ...]) -> None:
    item = item_of(references=references)
    assert read_back(item) == item


def test_two_equal_options_that_are_both_right_are_read_back() -> None:
    item = item_of(choices=(Choice("x", True), Choice("y"), Choice("x", True)))
    assert read_back(item) == item


def test_a_tag_without_a_value_is_read_back() -> None:
    item = item_of(tags={"unit": None}, references=("x",))
    assert read_back(item) == item


def test_what_is_empty_is_left_out() -> None:
    assert plain_row(item_of()) == {"id": "1", "question": "What?"}


@pytest.mark.parametrize(
    ("right", "answer", "letters"), [((1,), "dog", "B"), ((0, 2), ["cat", "bird"], "AC"), ((), None, None)]
)
def test_choices_and_their_gold(right: tuple[int, ...], answer: Any, letters: str | None) -> None:
    choices = tuple(Choice(text, i in right) for i, text in enumerate(("cat", "dog", "bird")))
    row = plain_row(item_of(choices=choices))
    assert row["options"] == ["cat", "dog", "bird"]
    assert (row.get("answer"), row.get("answer_letter")) == (answer, letters)


def test_references_and_records() -> None:
    row = plain_row(
        item_of(references=("x", "y"), history=(Turn("Who?", "Me"),), lineage=(Lineage("drawn"),), hint="h")
    )
    assert row == {
        "id": "1",
        "question": "What?",
        "answer": ["x", "y"],
        "hint": "h",
        "history": ({"question": "Who?", "answer": "Me"},),
        "lineage": ({"step": "drawn"},),
    }


@pytest.mark.parametrize("name", ["id", "question", "index", "answer", "image", "image_3", "A", "tags", "prompt"])
def test_a_tag_of_a_reserved_name_goes_into_tags(name: str) -> None:
    row = plain_row(item_of(tags={name: "mine", "category": "x"}))
    assert row == {"id": "1", "question": "What?", "category": "x", "tags": {name: "mine"}}


def test_the_caller_may_say_which_tags_are_columns() -> None:
    row = plain_row(item_of(tags={"a": 1, "b": "two"}), lambda _, value: isinstance(value, str))
    assert row == {"id": "1", "question": "What?", "b": "two", "tags": {"a": 1}}
