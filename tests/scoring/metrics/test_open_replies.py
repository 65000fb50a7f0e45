"""Open and yes/no replies of many languages and habits, and properties that hold for all of their kind.

``open_replies.jsonl`` holds 263 replies with their labels: the first 133 were written before the metrics were changed
for them, the next 70 and 60 before any metric was run on them (``design/reading.md`` has the figures).
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.scoring.metrics import Context
from eyetest.scoring.metrics.verdicts import read_verdict
from tests.scoring.metrics import item_metric

REPLIES = [
    json.loads(line) for line in Path(__file__).with_name("open_replies.jsonl").read_text("utf-8").splitlines()
]
NOT_READ = {
    "<answer>1:4</answer>", "It was founded in 1998, 26 years ago.", "The city is Paris, France.",
    "The ratio is 3 to 4.",
}  # fmt: skip
"""A ratio is no fraction by decision, ``3 to 4`` a range, ``Paris, France`` a list; a number that another one follows
as its explanation is not told apart."""
NOT_READ_VERDICTS = {"The temperature in May is lower than in July.", "The shape is a rectangle."}
"""*May* is a month here, and a word of no content elsewhere; a rectangle may be a square."""


def score_open(reply: str, gold: str, question: str = "") -> float | None:
    return item_metric("open").score(reply, [gold], Context(question))


@pytest.mark.parametrize("row", REPLIES, ids=lambda row: row["reply"][:50])
def test_each_reply_is_read_as_labelled(row: dict[str, Any]) -> None:
    if row["reply"] in NOT_READ | NOT_READ_VERDICTS:
        pytest.skip("stated as not read")
    if row["metric"] == "open":
        assert score_open(row["reply"], row["gold"], row["question"]) == float(row["right"])
    else:
        assert (read_verdict(row["reply"], row["question"]) or "none") == row["verdict"]


def english(whole: str, decimals: str) -> str:
    grouped = f"{int(whole):,}"
    return f"{grouped}.{decimals}" if decimals else grouped


def german(whole: str, decimals: str) -> str:
    grouped = f"{int(whole):,}".replace(",", ".")
    return f"{grouped},{decimals}" if decimals else grouped


def plain_comma(whole: str, decimals: str) -> str:
    return f"{whole},{decimals}" if decimals else whole


def french(whole: str, decimals: str) -> str:
    grouped = f"{int(whole):,}".replace(",", " ")
    return f"{grouped},{decimals}" if decimals else grouped


def arabic(whole: str, decimals: str) -> str:
    written = f"{whole}٫{decimals}" if decimals else whole
    return written.translate({ord(str(value)): chr(ord("٠") + value) for value in range(10)})


CONVENTIONS = (english, german, plain_comma, french, arabic)
WRAPPERS = (
    "{}", "**{}**", "The answer is {}.", "So the total is {}.", "Answer: {}\nThis follows from 2 steps.",
    "\\boxed{{{}}}",
    "<answer>{}</answer>", "Antwort: {}", "Die Antwort lautet {}.", "A resposta é {}.", "Portanto, x = {}.",
    "La respuesta correcta es {}.", "La réponse est {}.", "Đáp án: {}", "Vậy x = {}.", "Ответ: {}", "答案是{}。",
    "【答案】{}\n【解析】1+1=2", "정답은 {}입니다.", "したがって、答えは{}です。", '{{"answer": "{}"}}', "#### {}",
)  # fmt: skip
SHOW_COMMAS = ("ntwort", "resposta", "Portanto", "respuesta", "réponse", "Đáp án", "Vậy", "Ответ")
UNITS = ("", " cm", " kg", " m²", " €", "%")


@given(
    st.integers(1, 99_999),
    st.sampled_from(["", "5", "25", "07"]),
    st.sampled_from(CONVENTIONS),
    st.sampled_from(WRAPPERS),
    st.sampled_from(UNITS),
)
def test_a_number_is_read_in_every_convention_language_and_unit(
    whole: int, decimals: str, convention: Any, wrapper: str, unit: str
) -> None:
    written = wrapper.format(convention(str(whole), decimals) + unit)
    gold = f"{whole}.{decimals}" if decimals else str(whole)
    has_two_meanings = convention is german and not decimals and whole >= 1_000
    is_read = not has_two_meanings or any(word in wrapper for word in SHOW_COMMAS)
    assert score_open(written, gold) == float(is_read)
    assert score_open(written, gold, "Wie viele sind es?") == 1.0
    assert score_open(written, str(whole + 3)) == 0.0
    if decimals:
        assert score_open(written, str(whole)) == 0.0


PLAIN_ENGLISH = (
    ("Pi is 3.142", "3142"), ("It weighs 2.125 kg.", "2125"), ("The value is 1.299.", "1299"), ("1,500", "1.5"),
    ("The population is 1,234.", "1.234"), ("1.500", "1500"), ("答案是1,234。", "1.234"),
    ("The population of São Paulo is 1,234.", "1.234"),
)  # fmt: skip


@pytest.mark.parametrize(("reply", "gold"), PLAIN_ENGLISH)
@pytest.mark.parametrize("metric", ["open", "number"])
def test_a_number_in_plain_english_is_not_a_thousand_times_another(metric: str, reply: str, gold: str) -> None:
    assert item_metric(metric).score(reply, [gold], Context("What is the value of this?")) == 0.0


COMMAS_SHOWN = (
    ("3,125", "3.125", "Quanto mede o lado?"), ("3,125", "3.125", "What is the mean of 2,5 and 3,75?"),
    ("De 0,5 a 3,125", "3.125", ""), ("12.500", "12500", "Сколько жителей в городе?"),
    ("1.500.000", "1500000", "How many?"), ("12 500", "12500", "How many?"), ("Il y en a 12.500.", "12500", ""),
    ("La valeur est 3,125.", "3.125", "What is the value?"), ("Harganya adalah Rp15.000.", "15000", ""),
)  # fmt: skip


@pytest.mark.parametrize(("reply", "gold", "question"), COMMAS_SHOWN)
def test_a_decimal_comma_of_three_digits_is_read_where_one_is_shown(reply: str, gold: str, question: str) -> None:
    assert score_open(reply, gold, question) == 1.0


JOINERS = (", ", "; ", " and ", " và ", " und ", " et ", " y ", " e ", " и ")


@given(
    st.lists(st.integers(2, 99), min_size=2, max_size=4, unique=True),
    st.sampled_from(JOINERS),
    st.sampled_from(("{}", "The answer is {}.", "Đáp án: {}", "\\boxed{{{}}}", "Antwort: {}", "<answer>{}</answer>")),
)
def test_a_list_is_read_with_every_joiner_and_a_set_in_every_order(
    numbers: list[int], joiner: str, wrapper: str
) -> None:
    head, last = numbers[:-1], numbers[-1]
    between = joiner if joiner in (", ", "; ") else ", "
    reply = wrapper.format(between.join(map(str, head)) + joiner + str(last))
    turned = numbers[::-1]
    assert score_open(reply, str(numbers)) == 1.0
    assert score_open(reply, str(turned)) == 0.0
    assert score_open(reply, f"{{{', '.join(map(str, turned))}}}") == 1.0
    assert score_open(reply, str(last)) == 0.0


@given(
    st.sampled_from(["1, -cos³β", r"1, -\cos^3\beta", r"1 and -\cos^{3}\beta", r"1; -\cos^3 \beta"]),
    st.sampled_from(["{}", "The answer is ${}$.", "Đáp án: ${}$", "\\boxed{{{}}}"]),
)
def test_a_list_with_a_formula_is_not_its_first_number(answer: str, wrapper: str) -> None:
    assert score_open(wrapper.format(answer), "1") == 0.0
    assert score_open(wrapper.format(answer), "1, -cos³β") == 1.0


THINGS = ("red car", "blue box", "old house", "round table")
RELATIONS = (
    ("larger than", "smaller than"), ("to the left of", "to the right of"), ("above", "below"),
    ("taller than", "shorter than"), ("in front of", "behind"), ("faster than", "slower than"),
)  # fmt: skip


@given(
    st.lists(st.sampled_from(THINGS), min_size=2, max_size=2, unique=True),
    st.sampled_from(RELATIONS),
    st.booleans(),
)
def test_a_relation_is_stated_denied_turned_or_replaced(
    things: list[str], relation: tuple[str, str], is_first: bool
) -> None:
    asked, opposite = relation if is_first else relation[::-1]
    first, second = things
    question = f"Is the {first} {asked} the {second}?"
    assert read_verdict(f"The {first} is {asked} the {second}.", question) == "yes"
    assert read_verdict(f"The {first} is not {asked} the {second}.", question) == "no"
    assert read_verdict(f"The {second} is {asked} the {first}.", question) == "no"
    assert read_verdict(f"The {first} is {opposite} the {second}.", question) == "no"
    assert read_verdict(f"The {second} is {opposite} the {first}.", question) == "yes"
    assert read_verdict(f"It is not clear whether the {first} is {asked} the {second}.", question) is None


NUMBERS_COMPARED = (
    ("Are there more than 2 dogs?", "There are 3 dogs.", "yes"),
    ("Are there more than 2 dogs?", "There are 2 dogs.", "no"),
    ("Is the value greater than 10?", "The value is 12.", "yes"),
    ("Is the value greater than 10?", "The value is 9.", "no"),
    ("Is the temperature over 30 degrees?", "The temperature is 35 degrees.", "yes"),
    ("Is the temperature below 30 degrees?", "The temperature is 35 degrees.", "no"),
    ("Are there at least two dogs?", "There are three dogs.", "yes"),
    ("Are there at least two dogs?", "There are two dogs.", "yes"),
    ("Are there at most two dogs?", "There are three dogs.", "no"),
    ("Are there fewer than 5 apples?", "There are 3 apples.", "yes"),
    ("Are there fewer than 5 apples?", "There are 5 apples.", "no"),
    ("Was the house built before 1990?", "The house was built in 1985.", "yes"),
    ("Are there between 2 and 4 dogs?", "There are 3 dogs.", None),
    ("Does the number of apples exceed 5?", "The number of apples is 7.", "yes"),
    ("Is the man older than 30?", "The man is 45 years old.", "yes"),
    ("Are there more than 2 dogs?", "There are not 3 dogs.", None),
    ("Are there more than 2 dogs?", "There are fewer than 5 dogs.", None),
    ("Are there more than 2 dogs?", "There are more than 2 dogs.", "yes"),
    ("Are there 2 dogs?", "There are 3 dogs.", "no"),
)


@pytest.mark.parametrize(("question", "reply", "verdict"), NUMBERS_COMPARED)
def test_a_number_is_compared_with_the_bound_that_is_asked_for(
    question: str, reply: str, verdict: str | None
) -> None:
    assert read_verdict(reply, question) == verdict


ON_THE_MAT = "Is the cat on the mat?"
DENIALS = (
    ("Is the door open?", "The door is not closed.", "yes"),
    ("Is the door closed?", "The door is not open, it is closed.", "yes"),
    ("Is the door open?", "The door is not open, it is closed.", "no"),
    ("Is the lamp on the left?", "The lamp is not on the right.", None),
    ("Is the fish alive?", "The fish is definitely not dead.", "yes"),
    ("Is the cat outside the box?", "The cat is not inside the box.", "yes"),
    ("Is the cat black?", "The cat is not white; it is black.", "yes"),
    ("Is the cat black?", "The cat is not white, it is black.", "yes"),
    ("Is the cat black?", "The cat is not white; it is brown.", "no"),
    ("Is the cat black?", "The cat is not white. The dog is black.", None),
    ("Is the light green?", "Without a doubt, the light is green.", "yes"),
    ("Is the light green?", "No doubt, the light is green.", "yes"),
    ("Is there a dog?", "There is no question that there is a dog.", "yes"),
    ("Is there a dog?", "There is no doubt that there is a dog.", "yes"),
    ("Is there a dog?", "There is no doubt that there is no dog.", "no"),
    ("Is the light red?", "The light is not just red but bright red.", "yes"),
    (ON_THE_MAT, "Not only is the cat on the mat, it is asleep.", "yes"),
    (ON_THE_MAT, "The cat is on the mat, not on the floor.", "yes"),
    (ON_THE_MAT, "The cat isn't on the floor. It's on the mat.", "yes"),
    (ON_THE_MAT, "The cat is not on the floor but on the mat.", "yes"),
    (ON_THE_MAT, "The cat is on the sofa, not on the mat.", "no"),
    (ON_THE_MAT, "The cat is not on the mat.", "no"),
    (ON_THE_MAT, "The cat is not on the mat but on the floor.", "no"),
    ("Are there four dogs?", "There are not three dogs.", None),
    ("Is the top line longer?", "The lines are not the same length.", None),
    ("Is the circle red?", "It is not blue. It is red.", "yes"),
    ("Does she hold an umbrella?", "The woman does not hold a bag, she holds an umbrella.", "yes"),
    ("Is the woman holding an umbrella?", "The woman is not holding a bag, she is holding an umbrella.", "yes"),
    ("Is the woman holding an umbrella?", "The woman is not holding an umbrella, she is holding a bag.", "no"),
    ("Is the dog wearing a red hat?", "The dog is not wearing a hat.", "no"),
    ("Is the dog wearing a hat?", "A dog does not wear shoes, of course. The dog is wearing a hat.", "yes"),
)


@pytest.mark.parametrize(("question", "reply", "verdict"), DENIALS)
def test_a_denial_answers_only_what_it_denies(question: str, reply: str, verdict: str | None) -> None:
    assert read_verdict(reply, question) == verdict


@given(st.sampled_from(["answer", "definitive answer", "clear answer", "information about this", "way to tell"]))
def test_no_before_a_noun_of_not_knowing_is_no_verdict(noun: str) -> None:
    assert read_verdict(f"There is no {noun}.", "Is it raining?") is None


@pytest.mark.parametrize("text", ["no " * 20_000, "is the the " * 20_000, "答案" * 50_000, "So, no. " * 20_000])
def test_a_long_reply_is_read_at_its_ends(text: str) -> None:
    assert read_verdict(text, "Is the cat on the mat? " * 100) in ("yes", "no", None)
