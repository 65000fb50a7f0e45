"""Metrics of short answers read what a long reply concludes with, and leave direct replies to their formula."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.records import Condition, Item, Response
from eyetest.records.tables import LONGEST_DIRECT
from eyetest.scoring import Scorer
from eyetest.scoring.metrics import METRICS, Context
from eyetest.scoring.metrics.concluded import Concluded, is_direct

SHORT_ANSWERS = ("exact", "vqa", "anls", "relaxed")
REASONS = "The picture shows a street. There are two signs above the shop, a bus, and people who wait for it.\n"


def scored(name: str, reply: str, references: tuple[str, ...], ask: str = "direct") -> float | None:
    item = Item(id="1", question="What is it?", references=references)
    response = Response(request="", outcome="answered", text=reply)
    return Scorer(metric=name).score(item, Condition(ask=ask), response).score  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SHORT_ANSWERS)
@pytest.mark.parametrize(
    "end",
    [
        "The answer is {}.",
        "Therefore, the answer is **{}**.",
        "Answer: {}",
        "\\boxed{{{}}}",
        "<answer>{}</answer>",
        "So it is {}.",
        '```json\n{{"reasoning": "Two signs.", "answer": "{}"}}\n```',
    ],
)
@pytest.mark.parametrize("gold", ["42", "bus", "main street"])
@pytest.mark.parametrize("ask", ["direct", "cot"])
def test_the_final_answer_of_a_chain_of_thought_counts(name: str, end: str, gold: str, ask: str) -> None:
    assert scored(name, REASONS + end.format(gold), (gold,), ask) == 1.0
    wrong = "the red door" if gold != "42" else "97"
    assert not scored(name, REASONS + end.format(wrong), (gold,), ask)


def test_votes_count_as_for_a_direct_reply() -> None:
    votes = ("pie",) * 2 + ("cake",) * 8
    assert scored("vqa", REASONS + "The answer is pie.", votes) == scored("vqa", "pie", votes) == pytest.approx(0.6)
    assert scored("relaxed", REASONS + "The answer is 41.", ("42",)) == 1.0


@settings(max_examples=200, deadline=None)
@given(
    st.text("abcAB 0123456789.,%$'é-", max_size=LONGEST_DIRECT),
    st.lists(st.text("abcAB 0123456789.,", min_size=1, max_size=12), min_size=1, max_size=10),
)
def test_a_direct_reply_scores_as_the_published_formula_says(reply: str, references: list[str]) -> None:
    assert is_direct(reply)
    for name in SHORT_ANSWERS:
        metric = METRICS[name]
        assert isinstance(metric, Concluded)
        bare = metric.metric.score(reply, references, Context())
        assert metric.score(reply, references, Context()) == bare


@pytest.mark.parametrize(
    ("name", "least", "before"),
    [("exact", 0.94, 0.69), ("vqa", 0.95, 0.71), ("anls", 0.91, 0.69), ("relaxed", 0.95, 0.7)],
)
def test_labelled_replies_are_scored_as_people_read_them(
    shared: Path, name: str, least: float, before: float
) -> None:
    """Open replies of seven sources, two thirds of them wrong, labelled before any score of them was seen. The rest
    are short sentences, which count as written, and near misses to which ANLS gives half a point.
    """
    agreed, plain, total = 0, 0, 0
    for row in open_replies(shared):
        golds = row["gold"] if isinstance(row["gold"], list) else [row["gold"]]
        references = tuple(map(str, golds))
        is_right = bool(int(row["label"]))
        metric = METRICS[name]
        assert isinstance(metric, Concluded)
        alone = metric.metric.score(row["reply"], references, Context()) or 0.0
        agreed += ((scored(name, row["reply"], references) or 0.0) >= 0.5) == is_right
        plain += (alone >= 0.5) == is_right
        total += 1
    assert agreed / total >= least
    assert plain / total <= before


def open_replies(shared: Path) -> list[dict[str, Any]]:
    """The labelled replies to open questions that are not of yes or no."""
    rows = []
    for name in ("dev3_open", "dev4_open"):
        lines = (shared / f"data/replies/{name}.jsonl").read_text().splitlines()
        rows += [json.loads(line) for line in lines]
    return [row for row in rows if row["task"] == "open" and str(row["label"]) in ("0", "1")]
