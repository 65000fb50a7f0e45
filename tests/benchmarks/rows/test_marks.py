import pytest

from eyetest.benchmarks.rows.options import bring_letters, without_letters


@pytest.mark.parametrize(
    ("options", "letters", "texts"),
    [
        (["A. cat", "B. dog"], ("A", "B"), ("cat", "dog")),
        (["(A) cat", "(B) dog"], ("A", "B"), ("cat", "dog")),
        (["(a)cat", "(b)dog"], ("a", "b"), ("cat", "dog")),
        (["A) cat", "B) dog"], ("A", "B"), ("cat", "dog")),
        (["A: cat", "B: dog"], ("A", "B"), ("cat", "dog")),
        (["A.cat", "B.dog", "C.cow"], ("A", "B", "C"), ("cat", "dog", "cow")),
        (["A、猫", "B、犬"], ("A", "B"), ("猫", "犬")),
        (["1) 12 cm", "2) 13 cm"], ("1", "2"), ("12 cm", "13 cm")),
        (["[1] x", "[2] y"], ("1", "2"), ("x", "y")),
        (["A. -5", "B. +5"], ("A", "B"), ("-5", "+5")),
        ([" A.  cat ", "B. <image 1>"], ("A", "B"), ("cat ", "<image 1>")),
        (["A. A. cat", "B. B. dog"], ("A", "B"), ("cat", "dog")),
    ],
)
def test_letters_are_taken_off(options: list[str], letters: tuple[str, ...], texts: tuple[str, ...]) -> None:
    assert without_letters(options) == (letters, texts)
    assert bring_letters(options)
    assert not bring_letters(texts)


@pytest.mark.parametrize(
    "options",
    [
        ["cat", "dog"],
        ["A. cat"],
        ["A. cat", "dog"],
        ["A. cat", "B) dog"],
        ["A. cat", "C. dog"],
        ["A", "B", "C"],
        ["(A)", "(B)"],
        ["A.", "B."],
        ["1.5", "2.5", "3.5"],
        ["1: 2", "2: 3"],
        ["(1) and (2)", "(2) and (3)"],
        ["(A) only", "(B) only"],
        ["(A) is larger", "(B) is smaller"],
        ["A.M.", "B.C."],
        ["A cat", "B dog"],
        ["Alpha. x", "Beta. y"],
        [],
    ],
)
def test_what_only_looks_like_letters_stays(options: list[str]) -> None:
    assert without_letters(options) == ((), tuple(options))


def test_letters_may_follow_the_gaps_of_a_file() -> None:
    assert without_letters(["A. cat", "C. dog"], ["A", "C"]).texts == ("cat", "dog")


def test_letters_in_another_order_are_letters_all_the_same() -> None:
    assert bring_letters(["B. cat", "A. dog"])
    assert without_letters(["B. cat", "A. dog"]).letters == ()
