"""Distractors of open answers are of the gold's kind and writing, never right, and do not betray the gold."""

import random
from collections import Counter
from pathlib import Path

import pytest

from eyetest.records import Item
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.building import Reforming, reform
from eyetest.reform.catalog import Dataset
from eyetest.reform.distractors.answer_kinds import WrittenNumber, kind_of, other_alternative
from eyetest.reform.distractors.answers import AnswerDistractors, OpenQuestion, false_negatives, majority
from eyetest.reform.reformers import REFORMERS, Kit
from eyetest.scoring.metrics.base import Context
from eyetest.scoring.metrics.same_text import relaxed
from tests.reform.conftest import gold


@pytest.mark.parametrize(
    ("question", "answer", "kind"),
    [
        ("Is it open?", "Yes", "yes-no"),
        ("Is the door red or blue?", "blue", "either-or"),
        ("What colour is the door?", "grey", "colour"),
        ("What colour is the dog?", "black and white", "colour"),
        ("Where does it point?", "Left", "direction"),
        ("In which month?", "Aug", "month"),
        ("On which day?", "sunday", "weekday"),
        ("How many dogs are there?", "3", "count"),
        ("How many dogs are there?", "Three", "count"),
        ("How many people live there?", "3,000", "number"),
        ("Which year had the highest rate?", "2014", "year"),
        ("How much was it?", "2014", "number"),
        ("What does it cost?", "$1,200.50", "number"),
        ("What time is it?", "10:30 am", "time"),
        ("When was it signed?", "June 5, 2019", "date"),
        ("What fruit is it?", "orange", "text"),
        ("What is in the sky?", "sun", "text"),
        ("Who is it?", "Ada Lovelace", "text"),
        ("Which parts?", "2 and 3", "text"),
    ],
)
def test_the_kind_of_an_answer(question: str, answer: str, kind: str) -> None:
    assert kind_of(question, answer).name == kind


def test_the_other_alternative_is_what_the_question_names() -> None:
    assert other_alternative("Is the cup on the left or the right?", "right") == "left"
    assert other_alternative("Is it a dog or a cat?", "Cat") == "Dog"
    assert other_alternative("Is it more or less than a dozen?", "twelve") == ""
    assert other_alternative("Red or red?", "red") == ""
    assert other_alternative("Is this an old car or a new car?", "new") == "old"
    assert other_alternative("Is this an old car or a new car?", "old car") == "new car"


@pytest.mark.parametrize(
    ("text", "value", "other"),
    [
        ("$1,200", "1200", "$3,400"),
        ("45 %", "45", "3400 %"),
        ("-5.40", "-5.4", "3400.00"),
        (".5 kg", "0.5", "3400.0 kg"),
        ("about 30 mins", "30", "about 3400 mins"),
    ],
)
def test_a_number_keeps_its_writing(text: str, value: str, other: str) -> None:
    quantity = WrittenNumber.read(text)
    assert quantity is not None
    assert float(quantity.value) == float(value)
    assert quantity.written(quantity.value) == text
    assert quantity.written(type(quantity.value)(3400)) == other


LONELY = [
    ("What does it cost?", "$1,200"),
    ("How much is it?", "0.030"),
    ("What share is it?", "45%"),
    ("What share is it?", "97%"),
    ("How much is left?", "0"),
    ("What time is it?", "10:30"),
    ("What time is it?", "7 PM"),
    ("When was it signed?", "June 5, 2019"),
    ("When was it signed?", "2019-06-05"),
    ("Which year was it?", "1999"),
    ("How many are there?", "1"),
    ("What colour is it?", "Gray"),
    ("On which day?", "Friday"),
]


@pytest.mark.parametrize(("question", "answer"), LONELY)
def test_an_answer_that_is_alone_in_its_dataset_gets_distractors_of_its_kind(question: str, answer: str) -> None:
    asked = OpenQuestion(question, answer, (answer,))
    distractors = AnswerDistractors([asked], 4, 0)
    for seed in range(20):
        made = distractors.by_rule(asked, random.Random(seed))
        assert len(made) == len(set(made)) == 3, made
        for text in made:
            assert kind_of(question, text).name == kind_of(question, answer).name
            assert not relaxed(text, answer, Context(question=question))
            ours, theirs = WrittenNumber.read(text), WrittenNumber.read(answer)
            assert (ours and (ours.before, ours.after, ours.decimals)) == (
                theirs and (theirs.before, theirs.after, theirs.decimals)
            )


def test_a_lonely_number_is_the_least_as_often_as_the_largest() -> None:
    asked = OpenQuestion("How much?", "$48.25")
    distractors = AnswerDistractors([asked], 4, 0)
    ranks = Counter(
        sorted([48.25, *(float(text[1:]) for text in distractors.by_rule(asked, random.Random(seed)))]).index(48.25)
        for seed in range(2_000)
    )
    assert all(abs(ranks[rank] - 500) < 100 for rank in range(4)), ranks


def test_what_any_annotator_said_is_never_a_distractor() -> None:
    names = ["Anna", "Ben", "Cleo", "Dora", "Emil", "Fred", "Gina", "Hugo", "Ida", "Jan", "Kira", "Leo"]
    questions = [OpenQuestion(f"Who stands on chair {n}?", name) for n, name in enumerate(names * 5)]
    distractors = AnswerDistractors(questions, 4, 0)
    asked = OpenQuestion("Who stands on chair 1?", "Anna", ("Anna", "ben", "The Cleo", "Dora Miller"))
    for seed in range(100):
        drawn = distractors.from_pool(asked, random.Random(seed))
        assert len(drawn) == 3
        assert not {"Anna", "Ben", "Cleo", "Dora"} & set(drawn)


def test_the_risk_of_the_pool_is_what_one_more_annotator_would_have_said() -> None:
    names = [f"{one}{two}" for one in "bdfk" for two in ("ona", "ilo", "uru", "ema")]
    agreed = [OpenQuestion("Who is it?", name, (name,) * 4) for name in names]
    divided = [OpenQuestion("Who is it?", name, (name, name, name, names[n - 1])) for n, name in enumerate(names)]
    distractors = AnswerDistractors(agreed, 4, 0)
    hits, total = false_negatives(agreed * 4, distractors, random.Random(0))
    assert (hits, total) == (0, 3 * 64)
    hits, total = false_negatives(divided * 16, distractors, random.Random(0))
    assert 0.01 < hits / total < 0.2


def test_answers_to_questions_of_one_type_stay_together() -> None:
    moods, forms = ("happy", "sad", "angry", "calm"), ("circle", "star", "ring", "cross")
    said = [(type_, name) for type_, names in (("mood", moods), ("form", forms)) for name in names * 6]
    asked = [
        OpenQuestion(f"A card from {n}. Which one is it?", name, (), type_) for n, (type_, name) in enumerate(said)
    ]
    distractors = AnswerDistractors(asked, 4, 0)
    for one in asked:
        others = moods if one.type == "mood" else forms
        assert {*distractors.from_pool(one, random.Random(0))} == {*others} - {one.gold}


def test_the_majority_is_the_gold_and_the_first_among_equals() -> None:
    assert majority(("b", "A", "the a", "c")) == ("A", 0.5)
    assert majority(("x ", "y")) == ("x", 0.5)
    assert majority((" ", "")) == ("", 0.0)


def reformed(records: list[Annotation], **said: object) -> tuple[list[Item], Kit]:
    reformer, kit = REFORMERS["open-answers"], Kit()
    settings = reformer.settings(**said)
    return [one.item for one in reformer.drafts(Annotations(lambda: iter(records)), settings, kit)], kit


def test_settings_leave_records_out_and_say_so() -> None:
    records = [
        Annotation(id="1", question="Is it?", answers=("yes", "no", "no")),
        Annotation(id="2", question="Is it?", answers=("yes", "no")),
        Annotation(id="3", question="How many?", answers=("3", "3")),
        Annotation(id="4", question="Is it?"),
    ]
    items, kit = reformed(records, agreement=0.6, kinds=("yes-no",))
    assert [(item.id, gold(item), len(item.choices)) for item in items] == [("1", "no", 2)]
    assert kit.passed_over == {"too little agreement": 1, "answer of another kind": 1, "no answer": 1}


def test_sources_follow_one_another() -> None:
    records = [Annotation(id=name, question="What is it?", answers=(name,)) for name in ("cup", "kite", "7 km")]
    items, kit = reformed(records, sources=("pool",))
    assert {len(item.choices) for item in items} == {2}
    assert kit.passed_over == {"no distractor": 1}
    items, _ = reformed(records, sources=("rules", "pool"))
    assert [len(item.choices) for item in items] == [2, 2, 4]


CHARTQA = Dataset(
    name="chartqa",
    dimension="VGR",
    task="chart question answering",
    reader="table",
    read={"fields": {"id": "id", "images": "image", "question": "question", "answers": "answer"}},
    reformer="open-answers",
)


def test_real_chart_answers_become_choices_of_which_the_gold_looks_like_any(shared: Path, tmp_path: Path) -> None:
    plan = Reforming(dataset=CHARTQA, annotations=(shared / "data/chartqa/items.jsonl",), to=tmp_path / "b")
    items = list(reform(plan).benchmark)
    assert len(items) == 842
    ranks: Counter[int] = Counter()
    for item in items:
        right = gold(item)
        wrong = [choice.text for choice in item.choices if not choice.correct]
        assert len(wrong) == (1 if item.tags["answer_kind"] in ("yes-no", "either-or") else 3)
        assert not any(relaxed(text, right, Context(question=item.question)) for text in wrong)
        if item.tags["answer_kind"] == "number":
            quantities = [WrittenNumber.read(text) for text in (right, *wrong)]
            assert len({(one.before, one.after, one.decimals) for one in quantities if one}) == 1
            values = [one.value for one in quantities if one]
            ranks[sorted(values).index(values[0])] += 1
    assert sum(ranks.values()) > 500
    expected = sum(ranks.values()) / 4
    assert sum((ranks[rank] - expected) ** 2 / expected for rank in range(4)) < 16.3, ranks


def test_a_fraction_is_offered_with_fractions_and_never_with_words() -> None:
    fractions = [f"{n}/{d}" for d in range(2, 9) for n in range(1, d) if n % 2 or d % 2]
    colors = ["dark blue", "light green", "pale pink", "deep red", "sky blue", "sea green", "hot pink", "off white"]
    asked = [OpenQuestion("What part is shaded?", answer) for answer in (*fractions, *colors) * 2]
    distractors = AnswerDistractors(asked, 4, seed=1)
    drawn = [distractors.from_pool(question, random.Random(0)) for question in asked if "/" in question.gold]
    assert sum(map(len, drawn)) > len(fractions)
    assert all("/" in text for texts in drawn for text in texts)
