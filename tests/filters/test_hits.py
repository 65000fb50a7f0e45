"""Hits of panels: operators, shares, missing answers, bands, the same verdicts where asking stops early; probes as
filters; evidence in the order of asking.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.filters import FILTERS, Evidence, FilterInput
from eyetest.filters.hits import BAND
from eyetest.recipes.loading import load_recipe
from eyetest.records import Choice, Item, Stage, StoppingRule, Tally, Verdict
from eyetest.running.execution import Waves
from tests.filters.answers import KINDS, Word, evidence, judged, reported, stage, words
from tests.scoring.test_table import make_bench

OPERATORS = ("<", "<=", "==", ">=", ">")
HITS: dict[Word, bool | None] = {1: True, 0: False, "failed": None, "refused": False}
Rows = list[list[Word]]


def asked_early(rule: StoppingRule, rows: Rows) -> Rows:
    """What a run that stops as soon as it may has received of the full table."""
    waves = Waves(rule, [len(row) for row in rows])
    while wave := waves.wave():
        for seat, test in wave:
            waves.observed[seat].append(HITS[rows[seat][test]])
    return [row[: len(received)] for row, received in zip(rows, waves.observed, strict=True)]


def truth(rule: StoppingRule, rows: Rows) -> bool | None:
    known = [[HITS[word] for word in row if HITS[word] is not None] for row in rows]
    return rule.verdict([Tally(hits=sum(map(bool, row)), unknown=rule.samples - len(row)) for row in known])


def rule_of(fields: Stage, rows: Rows, tests: int) -> StoppingRule:
    """The rule of a stage; one that no answer could change is refused, and no case."""
    try:
        rule = FILTERS["blind-hits"].rule(fields, len(rows), len(rows), tests)
    except InputError:
        reject()
    assert rule is not None
    return rule


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], Rows]:
    tests, seats = draw(st.integers(1, 6)), draw(st.integers(2, 5))
    fields: dict[str, Any] = {"filter": "blind-hits"}
    fields["answers"] = {"op": draw(st.sampled_from(OPERATORS)), "value": draw(st.integers(1, tests))}
    fields["keep"] = {"hits": {"op": draw(st.sampled_from(OPERATORS)), "value": draw(st.integers(1, seats))}}
    word: st.SearchStrategy[Word] = st.sampled_from([1, 0, "failed", "refused"])
    rows = draw(st.lists(st.lists(word, min_size=tests, max_size=tests), min_size=seats, max_size=seats))
    absent = draw(st.sets(st.integers(0, seats - 1), max_size=1))
    return fields, [[] if seat in absent else row for seat, row in enumerate(rows)]


def verdict(fields: Stage, rows: Rows, tests: int) -> Verdict:
    return judged(fields, evidence({"q": rows}, tests=tests))["q"]


@example(
    (
        {"filter": "blind-hits", "answers": {"op": ">", "value": 1}, "keep": {"hits": {"op": "<", "value": 2}}},
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
    else:
        assert full.verdict == "review"


MMSTAR = {"filter": "blind-hits", "keep": {"hits": {"op": "<=", "value": 2}}}
MMMU_PRO = {"filter": "blind-hits", "answers": {"op": ">", "value": 5}, "keep": {"hits": {"op": "<", "value": 3}}}


def once(*answers: Word) -> list[list[Word]]:
    """Seats that are asked once each."""
    return [[answer] for answer in answers]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_plain_answer_is_no_hit_and_is_counted(kind: str) -> None:
    found = judged(stage(**MMSTAR, full_counts=True), evidence({"q": once(1, 1, 0, 0, 0, 0, 0, kind)}))["q"]
    assert found.hits == 2
    assert reported(found)["not_plain"] == {kind: 1}
    known = 7 if kind == "failed" else 8
    assert found.n == known
    assert reported(found)["seats"]["m7"] == [0, known - 7]
    assert found.verdict == ("review" if kind == "failed" else "keep"), "only a failed call could have been a hit"


def test_missing_answers_go_to_people_only_where_they_could_change_the_verdict() -> None:
    table = {
        "open": once(1, 1, 0, 0, 0, 0, "failed", 0),
        "settled drop": once(1, 1, 1, "failed", "failed", None, None, None),
        "settled keep": once(1, 0, 0, 0, 0, 0, 0, "failed"),
        "unasked": once(*[None] * 8),
        "all failed": once(*["failed"] * 8),
    }
    for full in (True, False):
        found = judged(stage(**MMSTAR, full_counts=full), evidence(table))
        assert words(found) == {
            "open": "review",
            "settled drop": "drop",
            "settled keep": "keep",
            "unasked": "review",
            "all failed": "review",
        }
        assert found["open"].reason == "1 answer missing, which could change the verdict"
        assert found["all failed"].reason == "8 answers missing, which could change the verdict"


@pytest.mark.parametrize(("seats", "keeps"), [(4, 1), (8, 2), (12, 3), (16, 4), (5, 1), (9, 2), (11, 2), (20, 5)])
def test_a_panel_of_another_size_has_its_thresholds_as_shares(seats: int, keeps: int) -> None:
    table = {str(hits): once(*[1] * hits, *[0] * (seats - hits)) for hits in range(seats + 1)}
    found = judged(stage(**MMSTAR, full_counts=True), evidence(table), size=8)
    assert [int(name) for name, row in found.items() if row.verdict == "keep"] == list(range(keeps + 1))
    assert found["1"].reason == f"1 of {seats} inspectors answer it blind"


def tenfold(*right: int) -> list[str]:
    return ["1" * hits + "0" * (10 - hits) for hits in right]


@pytest.mark.parametrize(
    ("right", "verdict"),
    [
        ((5, 5, 5, 5), "keep"),
        ((6, 6, 5, 5), "keep"),
        ((6, 6, 6, 0), "drop"),
        ((10, 10, 10, 10), "drop"),
        ((10, 10, 5, 5), "keep"),
        ((0, 6, 6, 6), "drop"),
    ],
)
def test_mmmu_pro_drops_what_three_of_four_answer_more_than_five_times(right: Sequence[int], verdict: str) -> None:
    for full in (True, False):
        found = judged(stage(**MMMU_PRO, full_counts=full), evidence({"q": tenfold(*right)}))["q"]
        assert found.verdict == verdict
        if full:
            assert found.hits == sum(hits > 5 for hits in right)
            assert reported(found)["seats"] == {f"m{i}": [hits, 10] for i, hits in enumerate(right)}
            assert found.n == 40


def test_scores_count_as_right_from_the_stages_own_cut_on() -> None:
    received = evidence({"q": once(0.6, 0.59, 1.0)}, metric="vqa")
    cuts: list[tuple[dict[str, Any], int]] = [
        ({}, 1),
        ({"vqa": {"op": ">=", "value": 0.6}}, 2),
        ({"vqa": {"op": ">", "value": 0.6}}, 1),
        ({"any": {"op": ">=", "value": 0.5}}, 3),
        ({"bleu-4": {"op": ">=", "value": 0.2}}, 1),
        ({"any": {"op": ">=", "value": 0.5}, "vqa": {"op": ">=", "value": 0.6}}, 2),
    ]
    for right, hits in cuts:
        rule = stage(filter="blind-hits", keep={"hits": {"op": "<=", "value": 2}}, right=right, full_counts=True)
        assert judged(rule, received)["q"].hits == hits


LIME = {"easy": [6, 9], "middle": [3, 5], "hard": [0, 2]}


def graded(**fields: Any) -> Stage:
    return stage(grade="difficulty", **{"bands": LIME, "drop": ["easy"], **fields})


def answered(hits: int, seats: int) -> list[list[Word]]:
    found: list[list[Word]] = [[1] for _ in range(hits)]
    return found + [[0] for _ in range(seats - hits)]


def test_every_count_has_its_band() -> None:
    found = judged(graded(), evidence({str(hits): answered(hits, 9) for hits in range(10)}))
    bands = [reported(row)[BAND] for row in found.values()]
    assert bands == ["hard"] * 3 + ["middle"] * 3 + ["easy"] * 4
    assert [row.verdict for row in found.values()] == ["keep"] * 6 + ["drop"] * 4
    assert found["4"].reason == "middle: 4 of 9 answer it"
    assert (found["4"].n, found["4"].hits, len(found["4"].responses)) == (9, 4, 9)


@pytest.mark.parametrize("recipe", ["lime", "lime-code"])
def test_lime_drops_captions_that_models_repeat_without_the_image(recipe: str) -> None:
    """The thresholds are those of the image stage: BLEU-4 of .2, not of 1."""
    rule = next(one for one in load_recipe(recipe).stages if one.filter == "blind-hits")
    found = judged(rule, evidence({"repeated": once(1.0, 0.3, 0, 0), "other": once(0.19, 0, 0, 0)}, metric="bleu-4"))
    assert words(found) == {"repeated": "drop", "other": "keep"}


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    good, twice = (Choice("a", True), Choice("b")), (Choice("same", True), Choice("same"))
    asked = [(f"What is the name of thing number {n}?", twice if n in (3, 7) else good) for n in range(30)]
    items = [Item(id=f"q{n}", question=question, choices=choices) for n, (question, choices) in enumerate(asked)]
    return make_bench(tmp_path / "b", items)


def probed(bench: Benchmark, **fields: object) -> dict[str, tuple[str, str]]:
    case = FilterInput(stage(filter="probe", **fields), list(bench), Evidence(), benchmark=bench)
    rows = list(FILTERS["probe"].judge(case))
    for row in rows:
        assert not row.evidence or isinstance(msgspec.json.decode(row.evidence), dict)
    return {row.item: (row.verdict, row.reason) for row in rows}


def test_what_a_probe_finds_gets_its_verdict(bench: Benchmark) -> None:
    found = probed(bench, probe="malformed")
    assert {name for name, (verdict, _) in found.items() if verdict != "keep"} == {"q3", "q7"}
    assert found["q3"][1].startswith("malformed: ")
    assert found["q0"][0] == "keep"
    assert found["q0"][1].startswith("malformed: nothing found; No item has an image")
    assert len(found) == 30


def test_a_probe_that_cannot_look_says_so_and_drops_nothing(bench: Benchmark) -> None:
    found = probed(bench, probe="duplicate-items", then="drop")
    assert set(found.values()) == {
        (
            "keep",
            "duplicate-items: nothing found; "
            "No image is here: repeated questions were not looked for, since images may differ",
        )
    }


PLAIN = {"outcome": "answered", "reading": "chosen", "choice": None, "metric": "accuracy", "score": 1.0}


def rows() -> list[dict[str, object]]:
    found: list[dict[str, object]] = [
        {
            "item": item,
            "model": model,
            "order": order,
            "sample": sample,
            "request": f"{model}{order}{sample}",
            **PLAIN,
        }
        for item in ("x", "y")
        for model in ("b", "a")
        for order in (10, 9)
        for sample in (1, 0)
        if (item, model) != ("y", "a")
    ]
    random.Random(1).shuffle(found)
    return found


def requests(evidence: Evidence, item: str) -> list[list[str | None]]:
    return [[answer.request if answer else None for answer in row] for row in evidence.of(item)]


def test_missing_answers_are_none() -> None:
    evidence = Evidence(pl.DataFrame(rows()), ["b", "a"], tests=5)
    assert requests(evidence, "y") == [["b90", "b91", "b100", "b101", None], [None] * 5]
    assert requests(evidence, "z") == [[None] * 5, [None] * 5]
    assert requests(Evidence(), "x") == []
