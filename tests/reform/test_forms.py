"""The forms in which datasets go round beside the published one: cut, merged into one file, as rows, packed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.reform.conftest import Reformed, golds, written

QUESTIONS = [
    {"image_id": 9, "question": "Which sport is it?", "question_id": 91},
    {"image_id": 12, "question": "Which plant is it?", "question_id": 121},
]
ANSWERS = [
    {"question_id": 91, "answers": [{"answer": "rowing"}, {"answer": "rowing"}, {"answer": "tennis"}]},
    {"question_id": 121, "answers": [{"answer": "fern"}]},
]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def merged() -> list[dict[str, Any]]:
    return [question | answer for question, answer in zip(QUESTIONS, ANSWERS, strict=True)]


def in_one_list() -> list[dict[str, Any]]:
    """As the rows of a table: answers are plain texts, the image has a name."""
    return [
        {
            "question_id": entry["question_id"],
            "question": entry["question"],
            "image": f"val2014/{entry['image_id']}.jpg",
            "answer": [answer["answer"] for answer in entry["answers"]],
        }
        for entry in merged()
    ]


@pytest.mark.parametrize("rows", [merged(), in_one_list()], ids=["merged", "rows"])
@pytest.mark.parametrize("form", ["sample_json", "sample_jsonl"])
def test_questions_and_answers_may_be_in_one_file(
    rows: list[dict[str, Any]], form: str, items: Reformed, tmp_path: Path
) -> None:
    text = json.dumps(rows) if form == "sample_json" else lines(rows)
    assert golds(items("okvqa", written(tmp_path / "o", **{form: text}))) == {"91": "rowing", "121": "fern"}


def test_both_halves_are_named(items: Reformed, tmp_path: Path) -> None:
    written(tmp_path / "Questions", q_json=json.dumps(QUESTIONS))
    answers = written(tmp_path / "Answers", a_json=json.dumps({"annotations": ANSWERS}))
    assert golds(items("okvqa", tmp_path / "Questions", answers)) == {"91": "rowing", "121": "fern"}
