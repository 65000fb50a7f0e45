"""Queries for items: as text, and back."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.pages.item_links import ANSWER_KINDS, AnswerFilter, Query, parse_query, write_query
from tests.support.refusals import refusal

_TEXT = st.text(min_size=1, max_size=8)
_CONDITION = st.sampled_from(["", "image", "image cot", "no-image"])
_ENDS = st.floats(allow_nan=False)
_SPAN = st.none() | st.tuples(_ENDS, _ENDS).map(lambda ends: (min(ends), max(ends)))
QUERIES = st.builds(
    Query,
    text=st.just("") | _TEXT,
    tags=st.lists(st.tuples(_TEXT, _TEXT), max_size=3).map(tuple),
    gold=st.sampled_from(["", "A", "B"]),
    findings=st.lists(_TEXT, max_size=2).map(tuple),
    verdict=st.just("") | _TEXT,
    answers=st.lists(
        st.builds(AnswerFilter, st.sampled_from(ANSWER_KINDS), st.just("") | _TEXT, _CONDITION), max_size=3
    ).map(tuple),
    difficulty=_SPAN,
    doubt=_SPAN,
    ids=st.lists(_TEXT, max_size=3).map(tuple),
    sort=st.sampled_from(["", "-difficulty", "id"]),
)


@given(QUERIES)
def test_a_query_comes_back_from_its_text(query: Query) -> None:
    assert parse_query(write_query(query)) == query
    assert parse_query("#" + write_query(query)) == query


def test_the_text_is_one_that_people_can_write() -> None:
    query = Query(
        text="red car",
        tags=(("task", "count"), ("task", "colour")),
        answers=(AnswerFilter("wrong", "qwen", "image"), AnswerFilter("refused")),
        difficulty=(0.5, inf),
        sort="-id",
    )
    text = "text=red+car&tag.task=count&tag.task=colour&answer=wrong:qwen@image&answer=refused"
    text += "&difficulty=0.5..&sort=-id"
    assert write_query(query) == text
    assert parse_query(f"?{text}") == query
    assert parse_query("") == parse_query("#") == Query()
    assert write_query(Query()) == ""


def test_a_model_may_have_the_signs_of_the_grammar_in_its_name() -> None:
    assert AnswerFilter.parse("right:org/a:b@c@image cot") == AnswerFilter("right", "org/a:b@c", "image cot")
    assert str(AnswerFilter("right", "a@b")) == "right:a@b@"
    assert AnswerFilter.parse("wrong:@no-image") == AnswerFilter("wrong", "", "no-image")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("verdikt=drop", 'did you mean "verdict"?'),
        ("answer=rong:a", 'did you mean "wrong"?'),
        ("difficulty=hard", "expected LEAST..MOST"),
        ("difficulty=0.9..0.1", "the smaller first"),
        ("doubt=nan..1", "expected LEAST..MOST"),
        ("gold=A&gold=B", "given twice"),
        ("tag.=x", "no filter"),
        ("nonsense", "not a query"),
    ],
)
def test_what_is_not_understood_is_refused_in_one_line(text: str, words: str) -> None:
    assert words in refusal(parse_query, text)
