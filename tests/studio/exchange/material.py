"""Items, forms and decisions that are hard to hand on: what tests of every tool send there and back."""

from typing import Any

import msgspec

from eyetest.records import Choice, Decision, Item
from eyetest.studio.decisions import ReviewPlan
from eyetest.studio.exchange import Assignment
from eyetest.studio.forms import Form, FormField

HOSTILE = '<script>alert("1")</script> ]]> $question {{7*7}} \'; DROP TABLE items;-- \u202e ünï 数 😀\n\ttwo\nlines '
FORM = Form(
    name="two",
    about="Look at it. <b>Really</b> & twice.",
    fields=(
        FormField(
            name="level", ask="How hard?", values=("easy & light", "<hard>"), tag="level", when=("keep", "fix")
        ),
        FormField(
            name="wrong", ask="What is wrong?", kind="several", values=("text", "数字", "a, b"), required=False
        ),
        FormField(name="remark", ask="In your own words", kind="text", required=False),
    ),
    reasons=("the gold is wrong", "€ & <unclear>"),
)
ITEMS = {
    "=1+1": Item(
        id="=1+1",
        question=f"What is shown? {HOSTILE}",
        choices=(Choice("=cmd|' /C calc'!A0"), Choice("dots & lines", True), Choice("<image 1>")),
        tags={"core": "math"},
    ),
    "naïve/数 2": Item(id="naïve/数 2", question="How wide?", references=("[0, 1)", "a")),
    "c": Item(id="c", question="Which?", choices=(Choice("one", True), Choice("two", True))),
}


def decision(item: str, kind: str, reviewer: str = "ana", **values: Any) -> Decision:
    """A decision of the first of March; ``values`` as in the record."""
    stated = {"time": "2026-03-01T10:00:00+00:00", **values}
    return msgspec.convert({"item": item, "decision": kind, "reviewer": reviewer, **stated}, Decision)


DECISIONS = [
    decision(
        "=1+1",
        "fix",
        edits={"question": f"Better? {HOSTILE}", "A": "'=2", "answer": ["A", "C"], "tags": {"core": "x=y", "n": 3}},
        labels={"level": "<hard>", "wrong": ["text", "a, b"], "remark": HOSTILE.strip()},
        comment=HOSTILE,
    ),
    decision("=1+1", "drop", "Bén =b", reason="€ & <unclear>", labels={"wrong": ["数字"]}),
    decision("=1+1", "drop", "Bén =b", reason="@SUM(1)", time="2026-03-01T10:02:00+00:00"),
    decision("=1+1", "keep", "cleo", labels={"level": "easy & light"}, solved="B"),
    decision("=1+1", "unsure", "dora", comment="-1"),
    decision(
        "=1+1",
        "fix",
        "eve",
        adjudicates=True,
        edits={"B": "lines", "tags": {"core": None}},
        labels={"level": "<hard>"},
    ),
    decision("naïve/数 2", "fix", edits={"answer": "[1, 2]"}, labels={"level": "<hard>"}),
    decision("naïve/数 2", "fix", "ben", edits={"answer": ["a", "c"]}, labels={"level": "<hard>"}),
    decision("c", "keep", labels={"level": "<hard>"}),
]
"""Several reviewers, a change of mind, and an adjudicator."""


PLAN = ReviewPlan(name="bench", reviewers=2, form=FORM, fingerprint="ab12")
"""What a file is checked against here."""


def waiting(item: str, images: tuple[str, ...] = ()) -> Assignment:
    """An item that no one has decided about."""
    return Assignment(ITEMS[item], "doubt", images)
