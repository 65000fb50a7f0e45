r"""Open answers: whole with whole, in any dress; a part of an answer is never the answer."""

import pytest

from eyetest.scoring.metrics import Context, item_metric
from eyetest.scoring.metrics.open_answer import open_answer

SAME = [
    # dress
    ("27000-4500\\pi", "27000 - 4500\\pi"),
    ("27000-4500\\pi", "$27000 - 4500\\pi$"),
    ("27000-4500\\pi", "\\boxed{27{,}000 - 4{,}500\\pi}"),
    ("\\pi", "So the result is $\\pi$."),
    ("18\\pi", "18π"),
    ("18\\pi", "\\(18 \\, \\pi\\)"),
    ("18\\pi", "The area is $18\\pi$ square units."),
    ("18\\pi", "After halving it we get an area of 18π cm²."),
    ("18\\pi", "First 6^2 = 36. So the answer is 18\\pi because the sector is a half."),
    ("\\frac{3}{7}", "\\dfrac37"),
    ("\\frac{3}{7}", "3/7"),
    ("\\sqrt{7}", "√7"),
    ("\\sqrt{7}", "**Final answer:** \\(\\sqrt7\\)"),
    ("x^{10}", "x¹⁰"),
    ("x^2", "x<sup>2</sup>"),
    ("a_1+a_2", "a₁ + a₂"),
    ("\\alpha+\\beta", "β + α"),
    ("\\left(\\frac{1}{4}\\right)e^{-3t}", "e^{-3t}/4"),
    ("2\\times 10^{-4}", "2 x 10^{-4}"),
    ("\\text{no solution}", "No solution."),
    # equal, otherwise written
    ("4500(6-\\pi)", "27000 - 4500\\pi"),
    ("(x+3)^2", "x^2 + 6x + 9"),
    ("\\frac{1}{\\sqrt{3}}", "\\frac{\\sqrt{3}}{3}"),
    ("\\sqrt{48}", "4\\sqrt{3}"),
    ("2-\\sqrt{2}", "\\frac{2}{2+\\sqrt{2}}"),
    ("\\log_2 32", "5"),
    ("5", "\\log_2 32"),
    ("\\sin^2 x", "1-\\cos^2 x"),
    ("\\tan x", "\\frac{\\sin x}{\\cos x}"),
    ("\\cos 60^\\circ", "\\frac{1}{2}"),
    ("\\ln(x^3)", "3\\ln x"),
    ("e^{2\\ln 3}", "9"),
    ("\\sqrt{3a^2}", "a\\sqrt{3}"),
    ("2^{1000}", "4^{500}"),
    ("\\frac{6!}{4!}", "30"),
    ("\\binom{5}{2}", "10"),
    ("m v^2/2", "\\frac{1}{2}mv^2"),
    ("A/2L", "\\frac{A}{2L}"),
    ("2/3mv^2", "\\frac{2}{3} m v^2"),
    ("\\pm 3", "±3"),
    ("|x-2|", "\\left|2-x\\right|"),
    ("2\\frac{1}{3}", "7/3"),
    ("7/3", "2 1/3"),
    ("-\\frac{1}{2}", "−½"),
    # decimals and numbers
    ("56.55", "18\\pi"),
    ("0.33", "1/3"),
    ("8", "3 + 5"),
    ("8", "The answer is 3 + 5 = 8 apples"),
    ("1200", "1,200"),
    ("1200", "1.2 \\times 10^3"),
    ("0.5", "50%"),
    ("5", "5 cm"),
    ("5 cm", "5"),
    ("5 cm", "5 centimetres"),
    ("9.81 m/s^2", "9.81 \\text{ m/s}^2"),
    ("40 m/s", "40 meters per second"),
    ("$12.50", "12.5 dollars"),
    ("45", "45^\\circ"),
    ("45^\\circ", "$45$ degrees"),
    ("-7", "−7"),
    # equations and inequalities
    ("5", "x = 5"),
    ("x = 5", "5"),
    ("x=5", "$x=5$"),
    ("\\frac{2}{3}", "P(A) = \\frac{2}{3}"),
    ("2\\sqrt{3}", "Hence AB = \\sqrt{12} = 2\\sqrt{3}."),
    ("y = 2x + 1", "2x - y + 1 = 0"),
    ("x > 3", "3 < x"),
    ("[1, 3)", "1 \\le x < 3"),
    ("x \\in (0, \\infty)", "(0, ∞)"),
    ("(-\\infty, 2] \\cup [5, \\infty)", "(-∞,2] ∪ [5,∞)"),
    # several parts
    ("1:3", "1 : 3"),
    ("1:3", "The ratio is 2:6."),
    ("(3, -4)", "(3,−4)"),
    ("\\{2, 3\\}", "\\{3, 2\\}"),
    ("x = 2 or x = 3", "x = 3 or x = 2"),
    ("1/2, 3/4", "0.5, 0.75"),
    ("3 A, clockwise", "3 A, Clockwise"),
    ("40 N; 12 m", "40 N, 12 m"),
    ("\\sqrt{2}, \\sqrt{3}", "$\\sqrt{2}$ and $\\sqrt{3}$"),
    ("3:30", "3:30"),
    ("3:30 pm", "It is 3:30 PM."),
    ("12/05/2020", "12/05/2020"),
    ("1990-1995", "1990–1995"),
    # words
    ("x-ray", "It is an x-ray image."),
    ("a red T-shirt", "She wears a red T-shirt."),
    ("H2O", "H₂O"),
]
DIFFERENT = [
    # a part for the whole
    ("18", "18\\pi"),
    ("18", "18π"),
    ("18", "The area is 18π square units."),
    ("18\\pi", "18"),
    ("6", "8\\sqrt{5}-6"),
    ("8", "8\\sqrt{5}-6"),
    ("5", "8\\sqrt{5}-6"),
    ("1", "1:3"),
    ("3", "1:3"),
    ("3", "3:30"),
    ("2", "2^5"),
    ("5", "5x"),
    ("5", "\\sqrt{5}"),
    ("5", "\\frac{5}{x}"),
    ("7", "It is 3 to 7."),
    ("2-\\sqrt{2}", "4(2-\\sqrt{2})"),
    ("\\pi", "2\\pi"),
    ("x+1", "2x+1"),
    ("27000-4500\\pi", "27000"),
    ("\\sqrt{3}", "x = 1, y = \\sqrt{3}"),
    ("(3, 4)", "3"),
    ("2, 3", "2, 3, 4"),
    # near misses
    ("27000-4500\\pi", "27000+4500\\pi"),
    ("1:3", "3:1"),
    ("1:3", "1/3"),
    ("\\frac{3}{7}", "\\frac{7}{3}"),
    ("\\frac{1}{3}", "0.33"),
    ("\\sqrt{2}", "1.41"),
    ("x^2", "2x"),
    ("x^2", "x_2"),
    ("(x+3)^2", "x^2 + 9"),
    ("T^2+1", "1+t^2"),
    ("x+1", "|x+1|"),
    ("\\sin 2x", "2\\sin x"),
    ("\\sin^2 x", "\\sin x^2"),
    ("\\log 100", "\\ln 100"),
    ("2^{1000}", "2^{1001}"),
    ("e^{-3000t}", "e^{-2000t}"),
    ("e^{\\pi\\sqrt{163}}", "262537412640768744"),
    ("\\pm 3", "3"),
    ("5", "-5"),
    ("12", "12.4"),
    ("5 cm", "5 m"),
    ("5 cm", "5 cm^2"),
    ("3 MW", "3 mW"),
    ("4 kN", "4 N"),
    ("18\\pi\\text{ cm}", "18\\pi\\text{ m}"),
    ("x = \\sqrt{5}", "y = \\sqrt{5}"),
    ("y = 2x + 1", "y = 2x - 1"),
    ("x > 3", "x \\ge 3"),
    ("x > 3", "x < 3"),
    ("[1, 3)", "(1, 3)"),
    ("[1, 3)", "[1, 3]"),
    ("(3, -4)", "(-4, 3)"),
    ("\\{2, 3\\}", "\\{2, 4\\}"),
    ("3 A, clockwise", "3 A, counterclockwise"),
    ("3 A, counterclockwise", "3 A, clockwise"),
    ("40 N; 12 m", "40 N; 21 m"),
    ("1990-1995", "1980-1985"),
    ("1-II, 2-I", "1-I, 2-II"),
    ("2S, 3S", "2R, 3S"),
    ("H2O", "OH2"),
    ("3:30", "6:60 or so"),
]


def score(answer: str, gold: str, question: str = "") -> float | None:
    return item_metric("open").score(answer, [gold], Context(question))


@pytest.mark.parametrize(("gold", "answer"), SAME)
def test_the_same_otherwise_written(gold: str, answer: str) -> None:
    assert score(answer, gold) == 1.0


@pytest.mark.parametrize(("gold", "answer"), DIFFERENT)
def test_another_answer_or_a_part_of_one(gold: str, answer: str) -> None:
    assert score(answer, gold) == 0.0


LISTED = "Which is longest?\nA. the rope\nB. the wire\nC. the rod\nD. the belt"


@pytest.mark.parametrize(
    ("answer", "gold", "question", "expected"),
    [
        ("C", "C", LISTED, 1),
        ("The answer is (C).", "C", LISTED, 1),
        ("A and B are too short, so I choose C.", "C", LISTED, 1),
        ("\\boxed{\\text{C}}", "(C)", LISTED, 1),
        ("A. the rope\nB. the wire\nC. the rod\nD. the belt", "C", LISTED, 0),
        ("The options are A, B, C and D.", "A", LISTED, 0),
        ("A rod is longest.", "A", LISTED, 0),
        ("A rod is longest.", "C", LISTED, 1),
        ("It is a wire.", "A", LISTED, 0),
        ("The answer is B, not C.", "C", LISTED, 0),
        ("I cannot decide between A and C.", "C", LISTED, 0),
        ("Point C is nearest to the shore.", "C", "Which point is nearest to the shore?", 1),
        ("It is vitamin C.", "C", "Which vitamin do lemons have?", 1),
        ("It is a vitamin.", "A", "Which vitamin do carrots have?", 0),
        ("Not C.", "C", "Which vitamin do carrots have?", 0),
    ],
)
def test_a_letter_is_right_where_the_reply_commits_to_it(
    answer: str, gold: str, question: str, expected: int
) -> None:
    assert score(answer, gold, question) == expected


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("I cannot determine the age gap between the two people in the image.", "2", 0),
        ("I cannot see the picture. My best estimate is 2.", "2", 1),
        ("There are two people in the image.", "2", 1),
    ],
)
def test_a_number_in_a_refusal_is_no_answer(answer: str, gold: str, expected: int) -> None:
    assert score(answer, gold) == expected


HOSTILE = [
    "9**9**9**9",
    "9^{9^{9^{9}}}",
    "99999999!",
    "((((9!)!)!)!)!",
    "\\binom{99999999}{49999999}",
    "(x+y+z)^{999999}",
    "x^{x^{x^{x^{x}}}}",
    "(" * 50_000 + "1" + ")" * 50_000,
    "-" * 50_000 + "1",
    "\\sqrt{" * 20_000 + "2" + "}" * 20_000,
    "\\frac{1}{" * 20_000 + "2" + "}" * 20_000,
    "1" * 100_000,
    "1/" * 100_000 + "1",
    "2^" * 100_000 + "2",
    "\\boxed{" * 50_000,
    "\\text{" * 50_000,
    "1e999999",
    "10^{-999999}",
    "\\int_0^1 x dx " * 50_000,
    "1, " * 300_000,
    "a and " * 100_000,
    "+".join(["\\sin^2 x"] * 100),
    "__import__('os').system('true')",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_formula_hangs_or_is_run(text: str) -> None:
    for gold in ("5", "x+1", "\\frac{1}{3}+x", "\\{1, 2\\}", "a cat", text[:900] + "+0"):
        assert score(text, gold) in (0.0, 1.0)
        assert score(gold, text) in (0.0, 1.0)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Yes, and there is no other thing.", "Yes"),
        ("Yes, no doubt about it.", "Yes"),
        ("No. Yes would be wrong.", "No"),
        ("no", "No"),
        ("The answer is yes.", "Yes"),
        ("There is no dog.", "No"),
        ("I have no idea.", None),
        ("Yes or no?", None),
    ],
)
def test_yes_and_no_are_verdicts_not_words(reply: str, said: str | None) -> None:
    for gold in ("Yes", "No"):
        assert open_answer(reply, gold, Context()) == float(gold == said)


@pytest.mark.parametrize(("gold", "reply"), [("A", "A man is riding a horse."), ("I", "I think so.")])
def test_words_of_one_letter_are_no_commitment(gold: str, reply: str) -> None:
    assert open_answer(reply, gold, Context("Which point is nearest?")) == 0.0
    assert open_answer(f"Point {gold} is nearest.", gold, Context("Which point is nearest?")) == 1.0
