import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eyetest.benchmarks.rows.options import join_options, named_letters, split_options

WORDS = st.lists(
    st.sampled_from(
        ["cat", "nan", " ", ",", ", ", "\n", "A", "B", "C", ": ", "B: ", "(A) ", "A. ", "(B) ", "Options:"]
    ),
    max_size=5,
).map("".join)
OPTIONS = st.one_of(
    st.lists(WORDS, min_size=1, max_size=26), st.lists(st.text(max_size=8), min_size=1, max_size=5)
).map(tuple)


@pytest.mark.parametrize(
    ("text", "question", "options"),
    [
        ("What is it?\nOptions: A: a cat, B: a dog", "What is it?", ("a cat", "a dog")),
        ("What is it?\n Options : A: a cat, B: a dog", "What is it?", ("a cat", "a dog")),
        ("What is it?\nChoices: A: a cat, B: a dog", "What is it?", ("a cat", "a dog")),
        ("Options: A: a cat, B: a dog", "", ("a cat", "a dog")),
        ("What is it?\nChoices:\n(A) a cat\n(B) a dog", "What is it?", ("a cat", "a dog")),
        ("What is it?\n(A) a cat\n(B) a dog", "What is it?", ("a cat", "a dog")),
        ("What is it?\nOptions:\nA. a cat\nB. a dog", "What is it?", ("a cat", "a dog")),
        ("What is it?\nA. a cat\nB. a dog", "What is it?", ("a cat", "a dog")),
        ("What is it?\nA) a cat\nB) a dog", "What is it?", ("a cat", "a dog")),
        ("What is it?\nA: a cat\nB: a dog", "What is it?", ("a cat", "a dog")),
        ("What?\nOptions: A: red, green, B: one, two, C: x", "What?", ("red, green", "one, two", "x")),
        ("What?\nOptions: A: 1,000, B: 2,000", "What?", ("1,000", "2,000")),
        ("What?\nOptions: A: nan, B: nan, C: None", "What?", ("nan", "nan", "None")),
        ("What?\nOptions: A: , B: ", "What?", ("", "")),
        ("What?\nOptions: A: x:y, B: <image 2>", "What?", ("x:y", "<image 2>")),
        ("Two\nlines?\nOptions: A: x, B: y", "Two\nlines?", ("x", "y")),
        ("Options: many\nWhich?\nOptions: A: x, B: y", "Options: many\nWhich?", ("x", "y")),
        ("What?\n(A) two\nlines\n(B) y", "What?", ("two\nlines", "y")),
        ("A. first\nB. second\nWhich?\nA. x\nB. y", "A. first\nB. second\nWhich?", ("x", "y")),
        ("What? (A) a cat (B) a dog", "What?", ("a cat", "a dog")),
        ("What? (A)cat, (B)dog; (C)cow.", "What?", ("cat", "dog", "cow.")),
        ("How many?\n A) 10 B) 12 C) 14", "How many?", ("10", "12", "14")),
        ("Which? Select from A and B. (A) (B)", "Which? Select from A and B.", ("A", "B")),
        ("What is it? A. cat B. dog C. cow", "What is it?", ("cat", "dog", "cow")),
    ],
)
def test_the_question_alone_and_its_options(text: str, question: str, options: tuple[str, ...]) -> None:
    assert split_options(text) == (question, options)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is it?",
        "What are the options?",
        "What?\nOptions:",
        "What?\nOptions: a cat or a dog",
        "What?\nOptions: A: only one",
        "What?\nOptions: B: x, C: y",
        "What?\nA. only one",
        "What?\nB. x\nC. y",
        "What?\nA.x\nB.y",
        "See A. Smith and B. Jones",
        "What?\nOptions: A: x, B: y, B: z",
    ],
)
def test_a_question_without_options_that_can_be_told_apart(text: str) -> None:
    assert split_options(text) is None


def test_all_26_letters_are_options() -> None:
    options = tuple(f"option {number}" for number in range(26))
    joined = join_options("Which?", options)
    assert joined is not None
    assert joined.endswith(", Z: option 25")
    assert split_options(joined) == ("Which?", options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("a cat", "a dog"), "Q\nOptions: A: a cat, B: a dog"),
        (("x, B: y", "z"), "Q\nChoices:\n(A) x, B: y\n(B) z"),
        (("nan", "1, 2"), "Q\nOptions: A: nan, B: 1, 2"),
        (("x, B: y\n(A) z", "z"), "Q\nA. x, B: y\n(A) z\nB. z"),
    ],
)
def test_the_first_layout_that_reads_back_is_written(options: tuple[str, ...], expected: str) -> None:
    assert join_options("Q", options) == expected


@pytest.mark.parametrize("options", [(), ("only one",), ("x, B: y\n(A) z\nA. w", "z")])
def test_options_that_no_layout_holds_are_not_written(options: tuple[str, ...]) -> None:
    assert join_options("Q", options) is None


@given(question=WORDS, options=OPTIONS)
@example(question="Which of these options:", options=("x, B: y", "z"))
@example(question="", options=("cat", "dog"))
def test_what_is_joined_is_split_again(question: str, options: tuple[str, ...]) -> None:
    joined = join_options(question, options)
    assert joined is None or split_options(joined) == (question, options)


@given(options=st.lists(st.text("abc 123", max_size=9), min_size=2, max_size=26).map(tuple))
def test_plain_options_are_always_joined(options: tuple[str, ...]) -> None:
    assert join_options("Which?", options) is not None


@pytest.mark.parametrize("question", ["Select one of the following options:", "Consider these choices:"])
def test_a_sentence_that_ends_in_options_stays_whole(question: str) -> None:
    assert split_options(f"{question}\nA. x\nB. y") == (question, ("x", "y"))


def test_blanks_in_a_question_are_kept() -> None:
    """How the work grows with them is measured in ``speed/hostile.py``."""
    question = " " * 12_000 + "?"
    assert split_options(f"{question}\nA. x\nB. y") == (question, ("x", "y"))


@pytest.mark.parametrize(
    ("question", "letters"),
    [
        ("Which choice (A, B, C, or D) completes the series?", "ABCD"),
        ("Which box comes next? Select answers from A-E", "ABCDE"),
        ("Select which of options A to F fits.", "ABCDEF"),
        ("Which of the 3 figures (A,B,C) is a rotation?", "ABC"),
        ("Which figures (A-D) are green?", "ABCD"),
        ("Are B, C or D right?", ""),
        ("Is a B better than a C?", ""),
        ("What is it?", ""),
    ],
)
def test_letters_that_stand_for_what_the_image_shows(question: str, letters: str) -> None:
    assert named_letters(question) == tuple(letters)
