"""One model writes distractors, another checks them; both are asked once, and strictly read."""

import json
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.records import OptionProvenance
from tests.endpoint import Attempt, Endpoint
from tests.support.command import call

pytestmark = pytest.mark.journey

WRITTEN = {
    "Who is {it}?": ["Grace Hopper", "ADA LOVELACE", "Marie Curie", "Lise Meitner", "Emmy Noether"],
    "Where was it?": ["in Bonn", "in Rome", "in Oslo"],
    "Which one?": "I would rather not",
}
VERDICTS = {"Who is {it}?": "1: WRONG\n2: RIGHT\n3: wrong\n4: **WRONG**", "Where was it?": "1: WRONG\n2: WRONG"}


def answer(attempt: Attempt) -> str:
    question = next(question for question in WRITTEN if f"Question: {question}\n" in attempt.question)
    if "Proposed:" in attempt.question:
        return VERDICTS[question]
    written = WRITTEN[question]
    return written if isinstance(written, str) else f"```json\n{json.dumps(written)}\n```"


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    rows = [
        {"id": "ada", "question": "Who is {it}?", "answers": ["Ada Lovelace", "Lady Lovelace"]},
        {"id": "where", "question": "Where was it?", "answers": ["in Paris"]},
        {"id": "which", "question": "Which one?", "answers": ["the red one"]},
        {"id": "yes", "question": "Is it?", "answers": ["yes"]},
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "own.yaml").write_text(
        "{name: own, dimension: VGR, task: t, reader: table, reformer: open-answers, "
        "read: {fields: {id: id, question: question, answers: answers}}}"
    )
    return tmp_path


def words(folder: Path, endpoint: Endpoint, *more: object) -> tuple[object, ...]:
    specs = [f"openai:{name}@{endpoint.url}" for name in ("writer", "checker")]
    return (
        *("reform", folder / "own.yaml", "-a", folder / "rows.jsonl", "--to", folder / "bench"),
        *("--writer", specs[0], "--checker", specs[1], *more),
    )


def test_what_passes_the_checker_becomes_options(endpoint: Endpoint, dataset: Path) -> None:
    endpoint.answer = answer
    output = call(*words(dataset, endpoint)).fine()
    for part in ("3 distractors of 3 questions by writer, checked by checker", "right as well: 1", "no list: 1"):
        assert part in output
    items = {item.id: item for item in Benchmark(dataset / "bench")}
    made = {choice.text: choice.provenance for choice in items["ada"].choices if not choice.correct}
    assert set(made) == {"Grace Hopper", "Lise Meitner", "Emmy Noether"}
    assert set(made.values()) == {OptionProvenance(author="writer", checked_by=("checker",))}
    assert [choice.text for choice in items["where"].choices if not choice.correct][:1]
    assert not {"in Bonn", "in Rome"} & {choice.text for choice in items["where"].choices}
    asked = len(endpoint.attempts)
    assert asked == 5
    call(*words(dataset, endpoint, "--overwrite")).fine()
    assert len(endpoint.attempts) == asked
