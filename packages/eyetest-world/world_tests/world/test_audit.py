"""What the model-free audit makes of worlds: nothing of a clean one, and of a spoilt one what can be seen unasked."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from eyetest_world import Rates, calibrations, grade, new_world, read_truth
from eyetest_world.grading import FlawGrade

from eyetest.probes import Subject
from eyetest.probes.audit import Audit, run_audit
from eyetest.text import read_number
from world_tests.world.conftest import World, make


def told(audit: Audit) -> list[str]:
    return [finding.title for finding in audit.alarms]


def graded(world: World, audit: Audit) -> dict[str, FlawGrade]:
    """By kind of flaw. What the audit says of a whole trait it says of no single item: those hits are added."""
    verdicts = audit.verdicts(list(world.items))
    return {one.flaw: one for one in grade(list(world.truths.values()), verdicts).flaws}


def test_a_small_clean_world_is_sound(tmp_path: Path) -> None:
    world = make(tmp_path / "world", "none", items=252, seed=1)
    assert told(run_audit(Subject(world.benchmark))) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 8])
def test_a_clean_world_is_sound(seed: int, clean_world: World, tmp_path: Path) -> None:
    world = clean_world if seed == 7 else make(tmp_path / "world", "none", items=1200, seed=seed)
    assert told(run_audit(Subject(world.benchmark))) == []


def test_repeats_are_found_and_nothing_else_is_taken_for_one(tmp_path: Path) -> None:
    rates = Rates(rates={"exact-duplicate": 0.1, "near-duplicate": 0.1})
    benchmark = new_world(tmp_path / "world", rates, items=250, seed=2)
    world = World(
        tmp_path / "world",
        benchmark,
        {i.id: i for i in benchmark},
        {t.item: t for t in read_truth(tmp_path / "world")},
    )
    found = graded(world, run_audit(Subject(benchmark), ["duplicate-items", "duplicate-images"]))
    for flaw in ("exact-duplicate", "near-duplicate"):
        assert (found[flaw].planted, found[flaw].recall.value, found[flaw].precision.value) == (25, 1, 1)


def test_answers_in_questions_are_found(default_world: World, record_property: Any) -> None:
    """The probe looks for words: golds that are numbers, or a letter, are beyond it."""
    found = graded(default_world, run_audit(Subject(default_world.benchmark), ["named-answer"]))["answer-in-question"]
    flagged = {
        verdict.item
        for verdict in run_audit(Subject(default_world.benchmark), ["named-answer"]).verdicts(
            list(default_world.items)
        )
        if verdict.verdict != "keep"
    }
    golds = {item.id: item.choices[item.gold[0]].text for item in default_world.items.values()}
    said = [truth.item for truth in default_world.with_flaw("answer-in-question")]
    in_words = {item for item in said if read_number(golds[item]) is None and len(golds[item]) > 2}
    assert len(in_words) >= 10
    assert in_words <= flagged
    print(f"answer in question: recall {found.recall.value:.3f}, precision {found.precision.value:.3f}")
    record_property("answer-in-question", str((found.recall.value, found.precision.value)))
    assert (found.precision.value or 0) >= 0.9


def test_golds_that_are_always_the_longest_raise_an_alarm(default_world: World, tmp_path: Path) -> None:
    """One item in five is enough for that very test; of one in twenty the odd form of the gold tells."""
    few = {finding.kind: finding for finding in run_audit(Subject(default_world.benchmark), ["looks"]).alarms}
    assert set(few) == {"gold-odd-one-out"}
    planted = {truth.item for truth in default_world.with_flaw("gold-longest")}
    assert len(planted & set(few["gold-odd-one-out"].items)) > 0.7 * len(planted)
    many = new_world(tmp_path / "many", Rates(rates={"gold-longest": 0.2}), items=300, seed=3)
    alarms = {finding.kind: finding for finding in run_audit(Subject(many), ["looks"]).alarms}
    assert {truth.item for truth in read_truth(tmp_path / "many") if truth.flaws} <= set(alarms["gold-longest"].items)


@pytest.mark.slow
def test_shortcuts_tell_long_golds_from_others(default_world: World, record_property: Any) -> None:
    audit = run_audit(Subject(default_world.benchmark), ["shortcuts"])
    scores = audit.item_scores["shortcut:surface"]
    found = calibrations(list(default_world.truths.values()), scores)["gold-longest"]
    print(f"gold longest: AUROC {found.value:.3f} [{found.low:.3f}, {found.high:.3f}]")
    record_property("gold-longest", str(found.value))
    assert (found.value or 0) >= 0.8


def test_the_audit_says_the_same_of_a_world_told_apart_only_by_its_truth(tmp_path: Path) -> None:
    """Leaks change no item: who only looks at the benchmark cannot know of them."""
    leaky = Rates(rates={"leaked-to-llms": 0.3}, groups={"few": 0.1, "many": 0.5})
    spoilt, clean = (
        new_world(tmp_path / name, rates, items=90, seed=5) for name, rates in (("leaky", leaky), ("clean", Rates()))
    )
    texts = [sorted(msgspec.json.encode(item.question) for item in world) for world in (spoilt, clean)]
    assert texts[0] == texts[1]
