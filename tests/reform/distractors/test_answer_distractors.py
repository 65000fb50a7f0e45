"""Distractors of open answers are of the gold's kind and writing, never right, and do not betray the gold."""

import random
from collections import Counter
from pathlib import Path

import pytest

from eyetest.records import Item
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.building import Reforming, reform
from eyetest.reform.catalog import Dataset
from eyetest.reform.distractors.answer_kinds import WrittenNumber, kind_of
from eyetest.reform.distractors.answers import AnswerDistractors, OpenQuestion
from eyetest.reform.reformers import REFORMERS, Kit
from eyetest.scoring.metrics import Context
from eyetest.scoring.metrics.same_text import relaxed
from tests.reform.conftest import gold


@pytest.mark.parametrize(
    ("question", "answer", "kind"),
    [
        ("Is it open?", "Yes", "yes-no"),
        ("Is the door red or blue?", "blue", "either-or"),
        ("What colour is the door?", "grey", "colour"),
        ("Where does it point?", "Left", "direction"),
        ("On which day?", "sunday", "weekday"),
        ("How many dogs are there?", "3", "count"),
        ("How many people live there?", "3,000", "number"),
        ("Which year had the highest rate?", "2014", "year"),
        ("How much was it?", "2014", "number"),
        ("What does it cost?", "$1,200.50", "number"),
        ("When was it signed?", "June 5, 2019", "text"),
        ("What fruit is it?", "orange", "text"),
        ("Who is it?", "Ada Lovelace", "text"),
    ],
)
def test_the_kind_of_an_answer(question: str, answer: str, kind: str) -> None:
    assert kind_of(question, answer).name == kind


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
    ("How much is left?", "0"),
    ("Which year was it?", "1999"),
    ("How many are there?", "1"),
    ("What colour is it?", "Gray"),
]


@pytest.mark.parametrize(("question", "answer"), LONELY)
def test_an_answer_that_is_alone_in_its_dataset_gets_distractors_of_its_kind(question: str, answer: str) -> None:
    asked = OpenQuestion(question, answer, (answer,))
    distractors = AnswerDistractors([asked], 4)
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


def test_what_any_annotator_said_is_never_a_distractor() -> None:
    names = ["Anna", "Ben", "Cleo", "Dora", "Emil", "Fred", "Gina", "Hugo", "Ida", "Jan", "Kira", "Leo"]
    questions = [OpenQuestion(f"Who stands on chair {n}?", name) for n, name in enumerate(names * 5)]
    distractors = AnswerDistractors(questions, 4)
    asked = OpenQuestion("Who stands on chair 1?", "Anna", ("Anna", "ben", "The Cleo", "Dora Miller"))
    for seed in range(100):
        drawn = distractors.from_pool(asked, random.Random(seed))
        assert len(drawn) == 3
        assert not {"Anna", "Ben", "Cleo", "Dora"} & set(drawn)


def reformed(records: list[Annotation], **stated: object) -> tuple[list[Item], Kit]:
    reformer, kit = REFORMERS["open-answers"], Kit()
    settings = reformer.settings(**stated)
    return [one.item for one in reformer.drafts(Annotations(lambda: iter(records)), settings, kit)], kit


def test_settings_leave_records_out_and_say_so() -> None:
    records = [
        Annotation(id="1", question="Is it?", answers=("yes", "no", "no")),
        Annotation(id="2", question="Is it?", answers=("yes", "no")),
        Annotation(id="4", question="Is it?"),
    ]
    items, kit = reformed(records, agreement=0.6)
    assert [(item.id, gold(item), len(item.choices)) for item in items] == [("1", "no", 2)]
    assert kit.passed_over == {"too little agreement": 1, "no answer": 1}


CHARTQA = Dataset(
    name="chartqa",
    dimension="VGR",
    task="chart question answering",
    reader="table",
    read={"fields": {"id": "id", "images": "image", "question": "question", "answers": "answer"}},
    reformer="open-answers",
)


@pytest.mark.journey
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
