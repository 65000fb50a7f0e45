"""Golds that the panel's answers speak against go to people."""

import json
import string
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import polars as pl
import pytest

from eyetest.errors import InputError
from eyetest.filters import FILTERS, Evidence, FilterInput, Seat
from eyetest.records import Item
from tests.filters.said import item, stage

Answered = tuple[list[Item], dict[str, list[str]]]
RULE = stage(filter="wrong-gold", keep={"sound": {"op": ">=", "value": 0.8}})
BY_RATIO = stage(filter="wrong-gold", keep={"ratio": {"op": "<", "value": 1}})


def heard(choices: Mapping[str, Sequence[str | None]]) -> Evidence:
    """What each seat chose of each item, once."""
    rows = [
        {"item": name, "model": f"m{seat}", "order": 0, "sample": 0, "request": f"{name}/{seat}"}
        | {
            "outcome": "answered",
            "reading": "chosen" if choice else "refused",
            "choice": choice,
            "metric": "accuracy",
            "score": 0.0,
        }
        for name, of_seats in choices.items()
        for seat, choice in enumerate(of_seats)
    ]
    seats = len(next(iter(choices.values())))
    return Evidence(pl.DataFrame(rows, infer_schema_length=None), [f"m{seat}" for seat in range(seats)], 1)


def judge(items: Sequence[Item], evidence: Evidence, rule: object = RULE) -> dict[str, tuple[str, str]]:
    seats = [Seat(name) for name in evidence.seats]
    found = FILTERS["wrong-gold"].judge(FilterInput(rule, items, evidence, seats, len(seats)))  # type: ignore[arg-type]
    return {row.item: (row.verdict, row.reason) for row in found}


@pytest.fixture
def mostly_right() -> Answered:
    """Nine models that know three of four items; the gold of one item in forty is wrong."""
    rng = np.random.default_rng(3)
    items: list[Item] = []
    choices: dict[str, list[str]] = {}
    for number in range(200):
        truth = int(rng.integers(4))
        gold = (truth + 1) % 4 if number % 40 == 0 else truth
        items.append(item(f"q{number}", gold=gold))
        knows = rng.random(9) < 0.8
        picks = np.where(knows, truth, rng.integers(0, 4, 9))
        choices[f"q{number}"] = [string.ascii_uppercase[pick] for pick in picks]
    return items, choices


def test_wrong_golds_are_found(mostly_right: Answered) -> None:
    items, choices = mostly_right
    found = judge(items, heard(choices))
    wrong = {f"q{number}" for number in range(0, 200, 40)}
    doubted = {name for name, (verdict, _) in found.items() if verdict == "review"}
    assert len(doubted & wrong) >= 4
    assert len(doubted - wrong) <= 2
    for name in doubted & wrong:
        gold = next(one.gold[0] for one in items if one.id == name)
        rival, own = string.ascii_uppercase[(gold - 1) % 4], string.ascii_uppercase[gold]
        assert found[name][1].startswith(f"{rival} instead of {own}? wrong gold ")


def test_a_cut_of_the_ratio_needs_no_odds(mostly_right: Answered) -> None:
    items, choices = mostly_right
    found = judge(items, heard({name: [*own[:2], *own[:2]] for name, own in choices.items()}), BY_RATIO)
    doubted = {name for name, (verdict, _) in found.items() if verdict == "review"}
    assert len(doubted & {f"q{number}" for number in range(0, 200, 40)}) >= 3
    assert len(doubted) <= 10


def test_related_models_give_an_order_and_no_odds(mostly_right: Answered) -> None:
    items, choices = mostly_right
    evidence = heard({name: own[:1] * 9 for name, own in choices.items()})
    rows = list(FILTERS["wrong-gold"].judge(FilterInput(RULE, items, evidence, [Seat(s) for s in evidence.seats], 9)))
    assert {row.verdict for row in rows} == {"keep"}
    assert all("no odds, since models count as 1.0 independent ones" in row.reason for row in rows)
    assert {json.loads(row.evidence)["flawed"] for row in rows} == {None}


def test_the_evidence_says_what_the_list_is_worth(mostly_right: Answered) -> None:
    items, choices = mostly_right
    evidence = heard(choices)
    case = FilterInput(RULE, items, evidence, [Seat(name) for name in evidence.seats], 9)
    rows = list(FILTERS["wrong-gold"].judge(case))
    found = [json.loads(row.evidence) for row in rows]
    sent = [own for row, own in zip(rows, found, strict=True) if row.verdict == "review"]
    assert {own["sent"] for own in found} == {len(sent)}
    assert sent[0]["wrong of these, by these odds"] == pytest.approx(sum(own["flawed"] for own in sent), abs=0.1)
    bounded = msgspec.structs.replace(RULE, people=0.999)
    assert {verdict for verdict, _ in judge(items, evidence, bounded).values()} == {"keep"}


def test_the_task_is_a_tag_that_the_stage_names(mostly_right: Answered) -> None:
    items, choices = mostly_right
    choices |= {one.id: [*"ABCDABCDA"] for one in items[::4]}
    tags = [{"number": "hard" if place % 4 == 0 else "easy"} for place in range(len(items))]
    own = [msgspec.structs.replace(one, tags=tag) for one, tag in zip(items, tags, strict=True)]
    evidence = heard(choices)
    assert judge(own, evidence, msgspec.structs.replace(RULE, task="number")) != judge(own, evidence)
    assert judge(own, evidence) == judge(items, evidence)


def test_another_right_option_is_no_rival(mostly_right: Answered) -> None:
    items, choices = mostly_right
    both = item("both", gold=(0, 2))
    found = judge([*items, both], heard(choices | {"both": ["C"] * 9}))
    assert found["both"][0] == "keep", found["both"]


def test_what_cannot_be_doubted_is_kept() -> None:
    items = [Item(id="text", question="?", references=("x",)), item("bare", gold=()), item("one", options=1)]
    found = judge(items, heard({name: [None, None] for name in ("text", "bare", "one")}))
    assert found == dict.fromkeys(("text", "bare", "one"), ("keep", "not a choice with a gold"))


def test_a_stage_may_say_what_becomes_of_them(mostly_right: Answered) -> None:
    items, choices = mostly_right
    rule = msgspec.structs.replace(RULE, then="fix")
    assert {verdict for verdict, _ in judge(items, heard(choices), rule).values()} == {"keep", "fix"}


CUT = {"op": "<", "value": 2}


@pytest.mark.parametrize("keep", [{}, {"hits": CUT}, {"sound": CUT, "ratio": CUT}], ids=["none", "another", "both"])
def test_a_stage_without_a_cut_is_refused_before_anybody_is_asked(keep: dict[str, object]) -> None:
    with pytest.raises(InputError, match="keep has to say one of sound"):
        FILTERS["wrong-gold"].rule(stage(filter="wrong-gold", keep=keep), 9, 9, 1)


def test_a_model_that_is_asked_ten_times_has_one_voice(mostly_right: Answered) -> None:
    items, choices = mostly_right
    once, often = heard(choices), again(choices, 10)
    assert judge(items, often) == judge(items, once)


def again(choices: Mapping[str, Sequence[str | None]], times: int) -> Evidence:
    """The same panel, each seat asked again and again, answering as before."""
    rows = [
        {"item": name, "model": f"m{seat}", "order": 0, "sample": sample, "request": f"{name}/{seat}/{sample}"}
        | {"outcome": "answered", "reading": "chosen", "choice": choice, "metric": "accuracy", "score": 0.0}
        for name, of_seats in choices.items()
        for seat, choice in enumerate(of_seats)
        for sample in range(times)
    ]
    return Evidence(pl.DataFrame(rows), [f"m{seat}" for seat in range(9)], times)


def test_a_seat_that_is_of_two_minds_says_nothing(mostly_right: Answered) -> None:
    items, _ = mostly_right
    rows = [
        {"item": "q1", "model": f"m{seat}", "order": 0, "sample": sample, "request": f"{seat}/{sample}"}
        | {"outcome": "answered", "reading": "chosen", "choice": "AB"[sample], "metric": "accuracy", "score": 0.0}
        for seat in range(9)
        for sample in range(2)
    ]
    split = Evidence(pl.DataFrame(rows), [f"m{seat}" for seat in range(9)], 2)
    case = FilterInput(RULE, items[1:2], split, [Seat(name) for name in split.seats], 9)
    assert next(iter(FILTERS["wrong-gold"].judge(case))).n == 0
