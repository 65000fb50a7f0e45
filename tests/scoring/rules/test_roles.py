"""What a sentence says of an option: only an assertion chooses, however often other options are named."""

import pytest

from eyetest import read_choice

VIEWS = ("the second image", "the third image")
METALS = ("iron", "copper", "gold", "silver")


def read(reply: str, options: tuple[str, ...], question: str = "") -> int | str:
    reading = read_choice(reply, options, question=question)
    return reading.kind if reading.index is None else reading.index


ASSERTIONS = (
    "The second image is most similar to the first image.",
    "Based on the given images, the second image is the closest match.",
    "The most similar one is the second image.",
    "The second image is clearly more similar to the reference.",
    "The second image bears a much stronger resemblance to the reference.",
)
ASIDES = (
    "The third image, while also showing a dog, has a different background.",
    "In contrast, the third image shows the dog from the side.",
    "The third image is less similar because its colours differ.",
    "It is closer to the reference than the third image.",
    "Compared to the third image, it has the same colours.",
    "Some might say the third image, because it shows a dog as well.",
    "If the background were blue, the third image would be the answer.",
    "The third image shows a cat on a sofa.",
)


@pytest.mark.parametrize("assertion", ASSERTIONS)
@pytest.mark.parametrize("aside", ASIDES)
def test_what_is_said_of_another_option_does_not_outweigh_an_assertion(assertion: str, aside: str) -> None:
    assert read(f"{assertion} {aside}", VIEWS) == 0
    assert read(f"{aside} {assertion}", VIEWS) == 0


@pytest.mark.parametrize(
    ("reply", "option"),
    [
        ("If it were magnetic, the answer would be iron. It is yellow and soft, so it is gold.", 2),
        ("Some people would say silver, but the sample is gold.", 2),
        ("At first glance one would choose copper. However, the density shows that it is gold.", 2),
        ("**Final answer: C**\n\nThe answer would be A if the sample were magnetic. It cannot be D.", 2),
        ("Answer: C\n\nThe correct answer is not A, since iron rusts.", 2),
        ('{"answer": "C", "explanation": "Silver (D) is white; for a white sample D would be the answer."}', 2),
        ("Iron drops out because of its colour. Copper and silver do not fit either. That leaves just one.", 2),
    ],
)
def test_suppositions_reports_and_denials_are_no_choice(reply: str, option: int) -> None:
    assert read(reply, METALS) == option


def test_a_supposition_holds_where_the_question_is_one() -> None:
    reply = "If all the frogs died, the number of insects would increase."
    assert read(reply, ("increase", "decrease", "stay the same")) == 0


@pytest.mark.parametrize(
    ("reply", "reading"),
    [
        (
            "A) Iron: this is not correct.\n\nB) Copper: it is not yellow.\n\nC) Gold: this is the most likely one.",
            2,
        ),
        ("B) Copper: not yellow.\nC) Gold: this is correct.\nD) Silver: not yellow.\nA) Iron: not yellow.", 2),
        ("| a) iron | no | ✗ |\n| b) copper | no | ✗ |\n| c) gold | yes | ✓ |\n| d) silver | no | ✗ |", 2),
        (
            "**C. Gold**\n\n**Explanation**\n\n* **A. Iron:** rusts.\n* **B. Copper:** red, but correct in part.",
            2,
        ),
        ("C\n\nA. Iron is not yellow.\nB. Copper is not yellow.\nD. Silver is not yellow.", 2),
    ],
)
def test_a_list_that_judges_each_option_is_read_by_its_verdicts(reply: str, reading: int) -> None:
    assert read(reply, METALS) == reading


@pytest.mark.parametrize("heading", ["**解説:**", "解説:", "**Explanation:**", "解析:", "Explicación:"])
def test_a_mark_alone_on_the_first_line_holds_whatever_its_explanation_describes(heading: str) -> None:
    reply = f"C\n\n{heading}\n\n* **iron:** often used for tools\n* **copper:** used for wires, a typical choice for"
    assert read(reply, METALS) == 2


SAME = "Are the two cars the same colour?"
HELD = "Is the person in the image wearing a helmet?"


@pytest.mark.parametrize(
    ("question", "reply", "option"),
    [
        (SAME, "They are the same colour: both cars are red.", 0),
        (SAME, "The two cars do not have the same colour.", 1),
        (SAME, "One car is red. The cars are of a different colour.", 1),
        (HELD, "The person is wearing a helmet.", 0),
        (HELD, "The person is not wearing a helmet.", 1),
        ("", "It does not.", 1),
        ("", "I believe so.", 0),
    ],
)
def test_yes_and_no_are_read_by_what_was_asked(question: str, reply: str, option: int) -> None:
    assert read(reply, ("Yes", "No"), question) == option


@pytest.mark.parametrize(
    "reply",
    [
        "The information provided does not allow for a definitive answer to this question.",
        "There is no definitive answer.",
        "Two cars stand in front of a house.",
    ],
)
def test_what_answers_nothing_is_not_no(reply: str) -> None:
    assert read(reply, ("Yes", "No"), SAME) not in (0, 1)


@pytest.mark.parametrize(
    ("options", "reply", "option"),
    [
        (VIEWS, "Therefore, Image 2 is the most similar to Image 1.", 0),
        (("Image A", "Image B", "Image C"), "So it must be the second picture.", 1),
        (("the man on the left", "the man on the right"), "Thus the left one is taller.", 0),
        (("The left painting", "The right painting"), "It is the painting on the left.", 0),
        (("It does not need food.", "It needs food."), "It doesn't need food.", 0),
        (("possible", "not possible"), "It is not possible.", 1),
        (("Obtain an ECG", "Administer oxygen"), "Therefore the patient should first receive oxygen.", 1),
    ],
)
def test_other_words_for_the_same_option(options: tuple[str, ...], reply: str, option: int) -> None:
    assert read(reply, options) == option


COLOURS = ("red", "blue", "green", "yellow")


@pytest.mark.parametrize(
    "reply",
    [
        "The answer is B. The least likely answer is C.",
        "The best answer is B. The second best option is C.",
        "The correct answer is B. The next closest answer is A.",
        "B. blue. The wrong answer is A.",
        "The answer is B. The other answers are A, C and D.",
        "I don't believe the correct answer is A, as the car is blue.",
        "I doubt the answer is A. The car is blue.",
        "Could the answer be A? No, since the car is blue.",
        "The answer may seem to be A, but it is actually B.",
        "Some might say A. The car is blue.",
        "If it were red, it would be A. The car is blue.",
        "The answer is B. Let me recheck the options: A is red, C is green. Yes, B is right.",
        "A. red: The car has no red.\nB. blue: The car body is blue.\nC. green: There is no green.\nD. yellow: no.",
    ],
)
def test_an_announcement_of_something_else_or_a_denied_one_is_none(reply: str) -> None:
    assert read(reply, COLOURS) == 1


@pytest.mark.parametrize(
    "reply",
    [
        "A\nC",
        "- red\n- green",
        "The answers are $\\boxed{A}$ and $\\boxed{C}$.",
        "Correct answers: A (red), C (green)",
        "I can eliminate A. By process of elimination, I am down to B or C.",
    ],
)
def test_several_answers_are_ambiguous(reply: str) -> None:
    assert read(reply, COLOURS) == "ambiguous"


def test_a_list_of_options_with_their_noun_is_an_echo() -> None:
    assert read("Option A: red\nOption B: blue\nOption C: green\nOption D: yellow", COLOURS) == "unparsed"


@pytest.mark.parametrize("reply", ["Definitely not.", "Indeed not.", "That's not true.", "Certainly not."])
def test_a_negated_affirmation_says_no(reply: str) -> None:
    assert read(reply, ("Yes", "No"), "Is the cat on the mat?") == 1


def test_the_odd_announcement_is_the_answer_where_nothing_else_is_announced() -> None:
    assert read("The incorrect answer is C.", COLOURS) == 2


def test_what_is_less_so_or_different_is_the_answer_where_the_question_asks_for_that() -> None:
    views = ("Image 1", "Image 2", "Image 3")
    assert read("Image 2 is different.", views, "Which image is different from the others?") == 1
    assert read("Image 2 is different. Image 3 is the closest match.", views, "Which image matches best?") == 2


def test_the_closest_option_is_chosen_where_no_option_is_right() -> None:
    reply = "The total is 7, which is not among the options, so the closest is B."
    assert read(reply, ("5", "6", "10")) == 1
