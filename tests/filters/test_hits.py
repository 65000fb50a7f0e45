"""Whoever stops early and whoever asks everything write the same verdicts, whatever fails."""

from collections.abc import Sequence
from typing import Any

from hypothesis import example, given, reject
from hypothesis import strategies as st

from eyetest.errors import InputError
from eyetest.filters import FILTERS
from eyetest.records import Stage, StoppingRule, Tally, Verdict
from eyetest.running.execution import Waves
from tests.filters.said import Word, evidence, judged, stage

OPERATORS = ("<", "<=", "==", ">=", ">")
HITS: dict[Word, bool | None] = {1: True, 0: False, "failed": None, "refused": False}
Rows = list[list[Word]]


def asked_early(rule: StoppingRule, rows: Rows) -> Rows:
    """What a run that stops as soon as it may has heard of the full table."""
    waves = Waves(rule, [len(row) for row in rows])
    while wave := waves.wave():
        for seat, test in wave:
            waves.observed[seat].append(HITS[rows[seat][test]])
    return [row[: len(heard)] for row, heard in zip(rows, waves.observed, strict=True)]


def truth(rule: StoppingRule, rows: Rows) -> bool | None:
    known = [[HITS[word] for word in row if HITS[word] is not None] for row in rows]
    return rule.verdict([Tally(hits=sum(map(bool, row)), unknown=rule.samples - len(row)) for row in known])


def rule_of(fields: Stage, rows: Rows, tests: int) -> StoppingRule:
    """The rule of a stage; one that no answer could change is refused, and no case."""
    try:
        rule = FILTERS["blind-majority"].rule(fields, len(rows), len(rows), tests)
    except InputError:
        reject()
    assert rule is not None
    return rule


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], Rows]:
    tests, seats = draw(st.integers(1, 6)), draw(st.integers(2, 5))
    fields: dict[str, Any] = {"filter": "blind-majority"}
    fields["answers"] = {"op": draw(st.sampled_from(OPERATORS)), "value": draw(st.integers(1, tests))}
    fields["keep"] = {"hits": {"op": draw(st.sampled_from(OPERATORS)), "value": draw(st.integers(1, seats))}}
    if draw(st.booleans()):
        fields["min_answers"] = draw(st.integers(1, tests * seats))
    word: st.SearchStrategy[Word] = st.sampled_from([1, 0, "failed", "refused"])
    rows = draw(st.lists(st.lists(word, min_size=tests, max_size=tests), min_size=seats, max_size=seats))
    absent = draw(st.sets(st.integers(0, seats - 1), max_size=1))
    return fields, [[] if seat in absent else row for seat, row in enumerate(rows)]


def verdict(fields: Stage, rows: Rows, tests: int) -> Verdict:
    return judged(fields, evidence({"q": rows}, tests=tests))["q"]


@example(
    (
        {"filter": "blind-majority", "answers": {"op": ">", "value": 1}, "keep": {"hits": {"op": "<", "value": 2}}},
        [[1, 1, 0], ["failed", "failed", 1], [0, 0, 1]],
    )
)
@given(cases())
def test_rows_are_the_same_however_much_was_asked(found: tuple[dict[str, Any], Rows]) -> None:
    fields, rows = found
    tests = max(map(len, rows))
    rule_stage = stage(**fields)
    rule = rule_of(rule_stage, rows, tests)
    early = asked_early(rule, rows)
    full = verdict(rule_stage, rows, tests)
    assert verdict(rule_stage, early, tests) == full
    right = truth(rule, rows)
    if right is not None:
        assert full.verdict == ("keep" if right else "drop")
    elif rule_stage.min_answers is None:
        assert full.verdict == "review"


@given(cases(), st.integers(0, 3))
def test_more_than_was_needed_changes_nothing(found: tuple[dict[str, Any], Rows], more: int) -> None:
    """A kill between waves, another stage, an earlier recipe: some seats have answered further than needed."""
    fields, rows = found
    tests = max(map(len, rows))
    rule_stage = stage(**fields)
    rule = rule_of(rule_stage, rows, tests)
    early = asked_early(rule, rows)
    further = [
        row[: len(short) + (seat + more) % 4] for seat, (row, short) in enumerate(zip(rows, early, strict=True))
    ]
    assert verdict(rule_stage, further, tests) == verdict(rule_stage, early, tests)


def test_what_is_missing_is_what_could_change_the_verdict() -> None:
    fields = stage(filter="blind-majority", answers={"op": ">", "value": 1}, keep={"hits": {"op": "<", "value": 2}})
    rows: Sequence[Rows] = (
        [[1, 1, 0], ["failed", "failed", 1], [0, 0, 1]],
        [[1, 1], ["failed", "failed", 1], [0, 0]],
    )
    for table in rows:
        found = verdict(fields, table, 3)
        assert (found.verdict, found.reason) == ("review", "2 answers missing, which could change the verdict")
        assert found.n == 5
