from typing import Any

import pytest

from eyetest.benchmarks.rows import options as reading
from eyetest.benchmarks.rows.layout import GoldStyle
from eyetest.benchmarks.rows.options import is_missing, plain_offer
from eyetest.errors import InputError

ANIMALS = ("cat", "dog", "bird", "fish")


def find_gold(answer: Any, options: tuple[str, ...], style: GoldStyle) -> tuple[int, ...] | None:
    return reading.find_gold(answer, plain_offer(options), style)


def choose_style(answers: list[tuple[Any, tuple[str, ...]]], where: str) -> GoldStyle:
    return reading.choose_style([(answer, plain_offer(options)) for answer, options in answers], where)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("A", (0,)),
        ("D", (3,)),
        ("b", (1,)),
        ("(B)", (1,)),
        ("(b)", (1,)),
        ("B)", (1,)),
        ("B.", (1,)),
        ("B:", (1,)),
        (" B\n", (1,)),
        ("AC", (0, 2)),
        ("A, C", (0, 2)),
        ("A;C", (0, 2)),
        ("A C", (0, 2)),
        (["A", "C"], (0, 2)),
        (["C", "(a)"], (0, 2)),
        (("A",), (0,)),
        (["A", "A"], (0,)),
        ("E", None),
        ("AE", None),
        (["A", "E"], None),
        ("CA", None),
        ("AA", None),
        ("ac", None),
        ("cat", None),
        ("", None),
        (1, None),
        (None, None),
    ],
)
def test_gold_by_letter(answer: Any, expected: tuple[int, ...] | None) -> None:
    assert find_gold(answer, ANIMALS, "letter") == expected


@pytest.mark.parametrize(
    ("answer", "options", "expected"),
    [
        ("dog", ANIMALS, (1,)),
        (" dog ", ANIMALS, (1,)),
        ("dog", ("cat", " dog"), (1,)),
        ("dog ", ("dog", "dog "), (1,)),
        ("dog", ("dog ", "dog"), (1,)),
        ("dog", ("dog", "dog"), (0,)),
        (3, ("2", "3"), (1,)),
        (2.5, ("2.5", "3"), (0,)),
        (["fish", "cat"], ANIMALS, (0, 3)),
        ("Dog", ANIMALS, None),
        ("B", ANIMALS, None),
        (["cat", "cow"], ANIMALS, None),
        ("None", ("None", "all"), (0,)),
    ],
)
def test_gold_by_text(answer: Any, options: tuple[str, ...], expected: tuple[int, ...] | None) -> None:
    assert find_gold(answer, options, "text") == expected


@pytest.mark.parametrize(
    ("answer", "by_index", "by_number"),
    [
        (0, (0,), None),
        (1, (1,), (0,)),
        (4, None, (3,)),
        (5, None, None),
        (-1, None, None),
        ("0", (0,), None),
        (" 3 ", (3,), (2,)),
        ("4", None, (3,)),
        ([0, 2], (0, 2), None),
        ([4, 1], None, (0, 3)),
        (True, None, None),
        ("1.0", None, None),
        ("-1", None, None),
        ("A", None, None),
        (10**30, None, None),
        ("9" * 5000, None, None),
    ],
)
def test_gold_by_index_and_by_number(
    answer: Any, by_index: tuple[int, ...] | None, by_number: tuple[int, ...] | None
) -> None:
    assert find_gold(answer, ANIMALS, "index") == by_index
    assert find_gold(answer, ANIMALS, "number") == by_number


def test_what_counts_as_a_held_back_answer() -> None:
    assert all(map(is_missing, (None, "", "?", " ? ", "\n", [])))
    assert not any(map(is_missing, ("A", "??", "None", "nan", 0, False, [""], ["?"], ())))


@pytest.mark.parametrize(
    ("answers", "style"),
    [
        (["A", "d", "(C)"], "letter"),
        (["A", "AC", ["B", "D"]], "letter"),
        (["dog", "cat"], "text"),
        ([0, 1, 3], "index"),
        (["0", "2"], "index"),
        ([4, 1], "number"),
        (["A", "?", None, ""], "letter"),
    ],
)
def test_the_only_style_that_fits_every_answer_is_chosen(answers: list[Any], style: GoldStyle) -> None:
    assert choose_style([(answer, ANIMALS) for answer in answers], "file") == style


def test_styles_that_read_the_same_are_no_ambiguity() -> None:
    assert choose_style([("A", ("A", "B")), ("B", ("A", "B"))], "file") == "letter"
    assert choose_style([(0, ("0", "1")), (1, ("0", "1"))], "file") == "text"


@pytest.mark.parametrize(
    ("answers", "options", "first", "second"),
    [
        ([1, 2, 3], ANIMALS, "index", "number"),
        (["A", "B"], ("B", "A"), "letter", "text"),
        (["1", "2"], ("1", "2", "3"), "text", "index"),
        (["2"], ("2", "1", "0"), "text", "index"),
    ],
)
def test_answers_that_fit_two_styles_are_not_guessed(
    answers: list[Any], options: tuple[str, ...], first: str, second: str
) -> None:
    with pytest.raises(InputError) as raised:
        choose_style([(answer, options) for answer in answers], "mine.tsv")
    assert str(raised.value).startswith("mine.tsv: ")
    assert f"--gold-style {first} or --gold-style {second}" in str(raised.value)


def test_the_style_of_most_answers_is_chosen_where_none_fits_all() -> None:
    assert choose_style([("cat", ANIMALS), ("dog", ANIMALS), ("cow", ANIMALS), ("A", ANIMALS)], "file") == "text"


def test_a_file_without_answers_is_read_by_letter() -> None:
    assert choose_style([("?", ANIMALS)], "file") == "letter"
    assert choose_style([], "file") == "letter"
