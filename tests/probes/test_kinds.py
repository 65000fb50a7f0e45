"""Every kind of finding declares what it may name, by evidence, and what names no item reaches nothing that acts."""

import ast
import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import eyetest as et
from eyetest.benchmarks import BenchmarkWriter
from eyetest.errors import InputError
from eyetest.probes import PROBES
from eyetest.probes.audit import Audit, run_audit
from eyetest.probes.guessing import TRAITS
from eyetest.probes.kinds import KINDS, LEAST_EXCESS, kind_of, names_items, only_rates
from eyetest.recipes.loading import check_recipe
from eyetest.records import Choice, Finding, Item, Manifest, Recipe, Stage
from eyetest.studio.collection import Collection
from tests.conftest import ROOT
from tests.probes.generated import clean, plant_longest, plant_named, subject

GALLERY = ROOT / "docs/gallery"
CONFIRMED = {"gold wrong", "two right", "unanswerable", "same", "broken", "found"}
TESTS = ["positions", "surface-cues", "named-answer", "frequent-answer"]
KIND_AT = {"defects": 1, "untested": 1, "_findings": 0, "_on_groups": 0, "_shared": 0}
"""At which position functions of the probes take the kind of a finding."""


def kinds_in_sources() -> Iterator[str]:
    """Kinds that the modules of the probes write."""
    for file in (ROOT / "src/eyetest/probes").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                values = [keyword.value for keyword in node.keywords if keyword.arg == "kind"]
                place = KIND_AT.get(getattr(node.func, "id", ""))
                if place is not None and len(node.args) > place:
                    values.append(node.args[place])
                yield from (str(value.value) for value in values if isinstance(value, ast.Constant))
            elif isinstance(node, ast.AnnAssign) and "DEFECTS" in ast.unparse(node.target):
                assert isinstance(node.value, ast.Tuple)
                yield from (row.elts[0].value for row in node.value.elts)  # type: ignore[attr-defined]


def recounted(kind: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """How many findings and controls of a kind a blind reader confirmed, of how many."""
    with (GALLERY / "judged.csv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["kind"] == kind and row["judgement"] != "cannot tell"]
    counts = []
    for drawn in ("finding", "control"):
        words = [row["judgement"] for row in rows if row["drawn"] == drawn]
        counts.append((sum(word in CONFIRMED for word in words), len(words)))
    return (counts[0], counts[1]) if rows else None


def excess(findings: tuple[int, int], controls: tuple[int, int]) -> tuple[float, float]:
    """The difference of two shares, and the lower end of Newcombe's 95 % interval."""
    bounds = []
    for hits, n in (findings, controls):
        z, p = 1.959964, hits / n
        middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        bounds.append(((middle - half) / (1 + z * z / n), p, (middle + half) / (1 + z * z / n)))
    (low, p, _), (_, q, high) = bounds
    return p - q, p - q - math.hypot(p - low, high - q)


def test_every_kind_of_the_probes_is_declared() -> None:
    written = {*kinds_in_sources()}
    written |= {f"gold-{trait}" for trait in TRAITS} | {"gold-position-4", "frequent-answer-yes-no"}
    written |= {f"{view}-{what}" for view in ("surface", "text") for what in ("shortcut-linear", "shortcut-trees")}
    written |= {"surface-given-away", "text-given-away"}
    assert len(written) > 30
    assert [kind for kind in written if kind_of(kind) is None] == []
    unused = {*KINDS} - written - {"gold-position", "frequent-answer", "no-images", "unread-media", "too-few"}
    assert unused <= {"no-choices"}
    assert {kind.probe for kind in KINDS.values()} - {""} == {*PROBES}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_names_items_only_by_its_evidence(kind: str) -> None:
    declared, judged = KINDS[kind], recounted(kind)
    assert declared.judged == judged
    if declared.basis == "judged":
        assert judged
        points, low = excess(*judged)
        assert points >= LEAST_EXCESS
        assert low > 0
    if declared.basis == "rate" and judged:
        assert excess(*judged)[0] < LEAST_EXCESS


def test_replications_are_those_that_are_stored() -> None:
    splits: dict[str, dict[str, list[bool]]] = {}
    with (GALLERY / "replicated.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["drawn"] == "finding" and row["holds"]:
                name = re.sub(r"^(gold-position|frequent-answer)-.*", r"\1", row["kind"])
                key = f"{row['benchmark']} {row['kind']}"
                splits.setdefault(name, {}).setdefault(key, []).append(row["holds"] == "yes")
    for name, of in splits.items():
        held = sum(2 * sum(tests) > len(tests) for tests in of.values())
        assert KINDS[name].replicates == (held, len(of)), name


def habits() -> tuple[list[Item], set[str]]:
    """Items with long golds and golds in questions, of which two have equal options; and these two."""
    items, _ = plant_named(plant_longest(clean(400, seed=4), 0.7, seed=4), 0.2, seed=4)
    for number in (3, 7):
        choices = (*items[number].choices, Choice(items[number].choices[0].text))
        items[number] = msgspec.structs.replace(items[number], choices=choices)
    return items, {"3", "7"}


def test_items_of_tests_reach_no_verdict_page_repair_or_table(tmp_path: Path) -> None:
    items, defective = habits()
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b")) as writer:
        for item in items:
            writer.add(item)
    page, verdicts, copy = tmp_path / "audit.html", tmp_path / "v.csv", tmp_path / "fixed"
    found = et.audit(tmp_path / "b", probe=["malformed", *TESTS], page=page, verdicts_to=verdicts, fix=copy)
    raised = {finding.kind: finding for finding in found.alarms}
    assert {"gold-longest", "answer-in-question", "equal-options"} <= raised.keys()
    for name in ("gold-longest", "answer-in-question"):
        assert (raised[name].items, raised[name].groups, raised[name].evidence) == ((), (), {})
        assert re.search(r"\d % \[\d+\.\d, \d+\.\d\] of \d+ items", raised[name].title)
        assert raised[name].numbers["gain_low"] > 0
    assert found.audit.suggested.keys() == defective
    flagged = found.verdicts.filter(found.verdicts["verdict"] != "keep")
    assert {*flagged["reason"]} == {"equal-options"}
    stated = json.loads((tmp_path / "audit-findings.json").read_text())
    assert {finding["kind"] for finding in stated["findings"] if finding.get("items")} == {"equal-options"}
    assert {*re.findall(r"finding=([\w-]+)", (tmp_path / "audit.html").read_text())} == {"equal-options"}
    with (tmp_path / "fixed-repairs.csv").open() as lines:
        changes = Counter(row["change"] for row in csv.DictReader(lines))
    assert changes["options dropped"] == 2
    assert {*changes} <= {"options dropped", "options reordered"}
    frame = found.frame.filter(found.frame["kind"] == "gold-longest")
    assert (frame["items"][0], frame["rate"][0]) == (0, pytest.approx(raised["gold-longest"].numbers["rate"]))
    shown = Collection([tmp_path / "b", tmp_path / "audit-findings.json"])
    assert shown.everything.counts["finding"] == {"equal-options": 2}


@pytest.mark.science
def test_learners_name_no_item_but_leave_their_scores() -> None:
    audit = run_audit(subject(plant_longest(clean(300, seed=5), 0.7, seed=5)), ["shortcuts"])
    assert "surface-given-away" in {finding.kind for finding in audit.alarms}
    assert not any(finding.items or finding.evidence for finding in audit.findings)
    assert len(audit.item_scores["shortcut:surface"]) == 300


def test_a_file_of_an_earlier_version_names_no_items_of_tests() -> None:
    test = Finding(
        probe="shortcuts", kind="text-given-away", severity="suspect", title="30 golds", items=("1", "2"), p=1e-6,
        evidence={"1": "x"},
    )  # fmt: skip
    own = Finding(probe="mine", kind="mine", severity="suspect", title="a test", items=("1",), p=0.01)
    fact = Finding(probe="mine", kind="smile", severity="suspect", title="a fact", items=("1",))
    facts = {"benchmark": "b", "fingerprint": "", "items": 2, "level": 0.05, "seed": 0, "probes": ()}
    audit = msgspec.json.decode(msgspec.json.encode(facts | {"findings": (test, own, fact)}), type=Audit)
    assert [finding.items for finding in audit.findings] == [(), (), ("1",)]
    assert audit.suggested == {"1": "review"}


def test_a_probe_of_ones_own_may_use_the_name_of_a_declared_kind() -> None:
    own_fact = Finding(probe="mine", kind="gold-longest", severity="suspect", title="a fact", items=("1",))
    own_test = Finding(probe="mine", kind="equal-options", severity="suspect", title="a test", items=("1",), p=0.01)
    declared = Finding(probe="malformed", kind="equal-options", severity="suspect", title="a fact", items=("1",))
    assert names_items(own_fact), "it is not the test that bears this name"
    assert not names_items(own_test), "no reader judged this test"
    assert names_items(declared)
    assert kind_of("gold-longest", "mine") is None
    assert kind_of("too-few", "shortcuts") is kind_of("too-few")


@pytest.mark.parametrize("probe", PROBES)
def test_a_recipe_filters_by_probes_that_name_items_alone(probe: str) -> None:
    recipe = Recipe(panels={}, stages=(Stage(filter="probe", probe=probe),))
    assert only_rates(probe) == (probe in {"shortcuts", *TESTS})
    if only_rates(probe):
        with pytest.raises(InputError, match="a rate of the whole benchmark and names no items"):
            check_recipe(recipe, "mine.yaml")
    else:
        check_recipe(recipe, "mine.yaml")


def test_the_documentation_sums_up_the_judgements() -> None:
    named = [judged for kind in KINDS if KINDS[kind].names_items and (judged := recounted(kind))]
    guessed = [judged for kind in ("surface-given-away", "text-given-away") if (judged := recounted(kind))]
    held, of, controls, of_controls = (
        sum(judged[part][place] for judged in named) for part in (0, 1) for place in (0, 1)
    )
    readme, page = (ROOT / "README.md").read_text(), (ROOT / "docs/audit.md").read_text()
    assert f"hold in {held} of {of} items, controls in {controls} of {of_controls} " in readme
    assert f"{held} of {of} named items hold, {controls} of {of_controls} controls" in page
    picked, of_picked, others, of_others = (
        sum(judged[part][place] for judged in guessed) for part in (0, 1) for place in (0, 1)
    )
    words = " ".join(page.split())
    assert f"the key of {picked} of {of_picked} items that were called given away" in words
    assert f"and of {others} of {of_others} others" in words
    with (GALLERY / "README.md").open(encoding="utf-8") as lines:
        [row] = [line for line in lines if line.startswith("| all |")]
    assert "On items that the audit did not see 63 of 80 such findings held" in words
    assert "| 63 of 80 " in row
