"""What the model-free audit makes of worlds: nothing of a clean one, and of a spoilt one what can be seen unasked."""

from pathlib import Path

import pytest
from eyetest_world import Rates, grade
from eyetest_world.grading import FlawGrade

from eyetest.probes import Subject
from eyetest.probes.audit import Audit, run_audit
from eyetest.text import read_number
from world_tests.world.conftest import World, make

pytestmark = pytest.mark.journey


def graded(world: World, audit: Audit) -> dict[str, FlawGrade]:
    """By kind of flaw. What the audit says of a whole trait it says of no single item: those hits are added."""
    verdicts = audit.verdicts(list(world.items))
    return {one.flaw: one for one in grade(list(world.truths.values()), verdicts).flaws}


def test_a_small_clean_world_is_sound(tmp_path: Path) -> None:
    world = make(tmp_path / "world", "none", items=252, seed=1)
    assert [finding.title for finding in run_audit(Subject(world.benchmark)).alarms] == []


def test_repeats_are_found_and_nothing_else_is_taken_for_one(tmp_path: Path) -> None:
    rates = Rates(rates={"exact-duplicate": 0.1, "near-duplicate": 0.1})
    world = make(tmp_path / "world", rates, items=250, seed=2)
    found = graded(world, run_audit(Subject(world.benchmark), ["duplicate-items", "duplicate-images"]))
    for flaw in ("exact-duplicate", "near-duplicate"):
        assert (found[flaw].planted, found[flaw].recall.value, found[flaw].precision.value) == (25, 1, 1)


def test_answers_in_questions_are_counted(default_world: World) -> None:
    """The probe looks for words: golds that are numbers, or a letter, are beyond it. It names no item."""
    audit = run_audit(Subject(default_world.benchmark), ["named-answer"])
    [finding] = audit.findings
    golds = {item.id: item.choices[item.gold[0]].text for item in default_world.items.values()}
    said = [truth.item for truth in default_world.with_flaw("answer-in-question")]
    in_words = {item for item in said if read_number(golds[item]) is None and len(golds[item]) > 2}
    assert len(in_words) >= 10
    assert len(in_words) <= finding.numbers["hits"] <= 1.2 * len(in_words)
    assert finding.numbers["gain_low"] > 0
    assert finding.severity == "suspect"
    assert not audit.suggested
