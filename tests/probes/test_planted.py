"""Planted flaws are found, and clean sets raise no more alarms than stated."""

from collections.abc import Callable

import pytest
from scipy import stats

from eyetest.probes.audit import Audit, run_audit
from eyetest.probes.guessing import named_answer
from eyetest.records import Item
from tests.probes.generated import clean, flawless, plant_edges, plant_longest, plant_named, plant_position, subject

pytestmark = pytest.mark.science

TESTS = ["positions", "surface-cues", "named-answer", "frequent-answer"]
QUICK = ["malformed", "duplicate-items", "option-order", *TESTS]
KINDS = ["2", "4", "10", "yes-no", "numbers"]


def audited(items: list[Item], seed: int = 0, probes: list[str] = TESTS) -> Audit:
    return run_audit(subject(items, seed), probes)


def alarms(audit: Audit) -> set[str]:
    return {finding.kind for finding in audit.alarms}


def test_answers_in_questions_are_counted() -> None:
    items, planted = plant_named(clean(2_000, seed=3), 0.05, seed=3)
    (finding,) = named_answer.run(subject(items))
    assert len(planted) > 50
    assert 0.9 <= finding.numbers["hits"] / len(planted) <= 1.25
    assert finding.numbers["gain_low"] > 0.5
    assert "answer-in-question" in alarms(audited(items))


PLANTED: dict[str, Callable[[int], list[Item]]] = {
    "gold-position-4": lambda seed: plant_position(clean(600, seed), 0.4, seed),
    "gold-longest": lambda seed: plant_longest(clean(600, seed), 0.6, seed),
    "gold-middle": lambda seed: plant_edges(flawless("numbers", 300, seed), 0.7, seed),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_crowded_letter_long_golds_and_golds_that_shun_the_middle_are_noticed_every_time(kind: str) -> None:
    assert sum(kind in alarms(audited(PLANTED[kind](seed))) for seed in range(20)) >= 19


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("sets", "probes"),
    [
        (20, QUICK),
        pytest.param(200, QUICK, marks=pytest.mark.slow),
        pytest.param(40, [*QUICK, "shortcuts"], marks=pytest.mark.slow),
    ],
    ids=["few", "many", "with learners"],
)
def test_flawless_sets_raise_no_more_alarms_than_stated(kind: str, sets: int, probes: list[str]) -> None:
    audits = [audited(flawless(kind, 300, 1_000 + s), s, probes) for s in range(sets)]
    raised = sum(bool(audit.alarms) for audit in audits)
    lower = stats.beta.ppf(0.05, raised, sets - raised + 1) if raised else 0.0
    assert lower <= 0.05, f"{raised} of {sets} flawless sets raised an alarm"


def test_all_planted_at_once() -> None:
    flawed = plant_longest(plant_position(clean(2_000, seed=9), 0.4, seed=9), 0.6, seed=9)
    items, _ = plant_named(flawed, 0.03, seed=9)
    audit = audited(items, probes=QUICK)
    assert {"gold-position-4", "gold-longest", "answer-in-question"} <= alarms(audit)
    verdicts = audit.verdicts([item.id for item in items])
    assert {v.item for v in verdicts} == {item.id for item in items}
    assert {v.verdict for v in verdicts} == {"keep"}
