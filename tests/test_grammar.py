"""The small languages of options: every part takes effect, or one line says which part does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.errors import InputError
from eyetest.grammar import Filterable, read_filters, read_names, read_open_filters, read_pairs
from tests.support.refusals import refusal

ROWS = [
    {"modality": "image", "shots": "none", "city": "Paris, Texas"},
    {"modality": "image", "shots": "two", "city": "Rome"},
    {"modality": "no-image", "shots": "none", "city": "Rome"},
    {"modality": "no-image", "shots": "two", "city": "a=b"},
]
TABLE = Filterable(list(ROWS[0]), lambda column: {row[column] for row in ROWS})


def selected(*words: str) -> list[int]:
    filters = read_filters(words, TABLE)
    return [number for number, row in enumerate(ROWS) if all(row[one.column] in one.values for one in filters)]


def test_several_columns_between_commas_all_hold() -> None:
    assert selected("modality=no-image,shots=two") == selected("modality=no-image", "shots=two") == [3]
    assert selected("modality=image,no-image,shots=two") == [1, 3]


def test_values_with_commas_and_equals_signs_are_recognised_where_they_are() -> None:
    assert selected("city=Paris, Texas") == [0]
    assert selected("city=Rome,Paris, Texas") == [0, 1, 2]
    assert selected("city=a=b") == [3]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["modality"], "--where: found 'modality', expected COLUMN=VALUE"),
        (["modalty=image"], "--where: no column 'modalty'; did you mean \"modality\"?"),
        (["modality=imag"], "--where: no modality 'imag'; did you mean \"image\"?"),
        (["modality=image,imag"], "no modality 'imag'"),
        (["modality=no-image,shot=two"], "no column 'shot'; did you mean \"shots\"?"),
        (["modality=image,"], "found an empty part in 'modality=image,'"),
        (["modality=,image"], "found an empty part"),
        (["modality=image,,no-image"], "found an empty part"),
        (["modality="], "found an empty part in 'modality='; a value is missing"),
        (["modality=,shots=two"], "found an empty part"),
        (["modality=image,image"], "'image' is given twice"),
        (["modality=image", "modality=no-image"], "'modality' is given twice; write modality=A,B"),
        (["modality=image,modality=no-image"], "'modality' is given twice"),
        (["shots=three"], "--where: no shots 'three'; known: none, two"),
    ],
)
def test_a_filter_part_without_effect_is_refused(words: list[str], message: str) -> None:
    assert message in refusal(read_filters, words, TABLE)


PARTS = st.sampled_from(
    ["modality=image", "modality=no-image", "shots=two", "shots=none", "image", "two", "", "x", "x=y", "city=Rome"]
)


@given(st.lists(PARTS, min_size=1, max_size=4))
def test_no_part_of_any_filter_is_dropped(parts: list[str]) -> None:
    """Where filters are read, each part stands in one of them; everything else is refused."""
    try:
        filters = read_filters([",".join(parts)], TABLE)
    except InputError:
        return
    words = {value for one in filters for value in one.values}
    words |= {f"{one.column}={one.values[0]}" for one in filters}
    assert set(parts) <= words
    assert sum(len(one.values) for one in filters) == len(parts)


@given(st.lists(PARTS, min_size=1, max_size=4))
def test_filters_of_a_file_select_as_filters_of_a_table_do(parts: list[str]) -> None:
    """What is refused once all rows are known is what is refused where they are known from the beginning."""
    word = ",".join(parts)
    try:
        expected = selected(word)
    except InputError:
        expected = None
    try:
        conditions = read_open_filters([word], "where", list(ROWS[0]))
        found = []
        for number, row in enumerate(ROWS):
            is_selected = all(one.is_met(row[one.column]) for one in conditions)
            for one in conditions:
                one.note(row[one.column], is_selected=is_selected)
            found += [number] * is_selected
        for one in conditions:
            one.refuse_unmet()
    except InputError:
        found = None
    assert found == expected


@given(st.lists(st.sampled_from(["a=1", "b=2", "a=2", "a", "=1", "", "c=x=y"]), min_size=1, max_size=4))
def test_pairs_are_all_kept_or_refused(parts: list[str]) -> None:
    try:
        pairs = read_pairs([",".join(parts)], "set", "a=1", between=",")
    except InputError:
        return
    assert [f"{key}={value}" for key, value in pairs.items()] == parts


@given(st.lists(st.sampled_from(["a", "b", "", " ", "Smith, Jane"]), min_size=1, max_size=4))
def test_names_are_all_kept_or_refused(parts: list[str]) -> None:
    try:
        names = read_names([",".join(parts)], "model", {"a", "b", "Smith, Jane"})
    except InputError:
        assert "" in map(str.strip, parts) or len(set(parts)) < len(parts)
        return
    assert names == parts
