"""Golds that the panel's answers speak against, and items that no model answers, which a judge checks."""

import json
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.filters import Evidence
from eyetest.filters.golds import judge_prompt
from eyetest.prompts.sets import load_prompts
from eyetest.records import Choice, ImagePart, ImageRef, Item, Prompt, Response
from tests.filters.answers import Table, evidence, item, judge, judged, stage, words

Answered = tuple[list[Item], dict[str, list[str]]]
RULE = stage(filter="wrong-gold", keep={"sound": {"op": ">=", "value": 0.8}})


def received(choices: Mapping[str, Sequence[str | None]]) -> Evidence:
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
    found = {row.item: (row.verdict, row.reason) for row in judge(RULE, items, received(choices))}
    wrong = {f"q{number}" for number in range(0, 200, 40)}
    doubted = {name for name, (verdict, _) in found.items() if verdict == "review"}
    assert len(doubted & wrong) >= 4
    assert len(doubted - wrong) <= 2
    by_rank = sorted(judge(RULE, items, received(choices)), key=lambda row: json.loads(row.evidence)["rank"])
    assert wrong <= {row.item for row in by_rank[:8]}
    for name in doubted & wrong:
        gold = next(one.gold[0] for one in items if one.id == name)
        rival, own = string.ascii_uppercase[(gold - 1) % 4], string.ascii_uppercase[gold]
        assert found[name][1].startswith(f"{rival} instead of {own}? wrong gold ")


def test_related_models_give_an_order_and_no_odds(mostly_right: Answered) -> None:
    items, choices = mostly_right
    rows = judge(RULE, items, received({name: own[:1] * 9 for name, own in choices.items()}))
    assert {row.verdict for row in rows} == {"keep"}
    assert all("no odds, since models count as 1.0 independent ones" in row.reason for row in rows)
    assert {json.loads(row.evidence)["flawed"] for row in rows} == {None}


ZERO_PASS = stage(filter="zero-pass", judge="judges")
CAT = ImageRef(sha256="1" * 64, format="png", width=10, height=10, size=100)


class Judge:
    """A judge with scripted replies, which remembers what it was asked."""

    def __init__(self, says: Callable[[Item], str | None], outcome: str = "answered") -> None:
        self.says, self.outcome = says, outcome
        self.asked: list[tuple[str, Item, Prompt]] = []

    def __call__(self, model: str, prompts: Sequence[tuple[Item, Prompt]]) -> list[Response | None]:
        self.asked += [(model, one, prompt) for one, prompt in prompts]
        return [Response(request=f"judge/{one.id}", outcome=self.outcome, text=self.says(one)) for one, _ in prompts]  # type: ignore[arg-type]


def look(table: Table, says: str | None, **more: Any) -> Any:
    judge = Judge(lambda one: says, more.pop("outcome", "answered"))
    return judged(ZERO_PASS, evidence(table), judges=["boss", "second"], ask=judge, **more), judge


def test_only_items_without_a_hit_reach_the_judge() -> None:
    table: Table = {"none": ["0", "0", "0"], "one": ["0", "0", "1"], "failed": [[0], ["failed"], [0]]}
    found, judge = look(table, "It is wrong. NO")
    assert words(found) == {"none": "drop", "one": "keep", "failed": "review"}
    assert [(model, one.id) for model, one, _ in judge.asked] == [("boss", "none")]
    assert found["none"].responses == ("none/0/0", "none/1/0", "none/2/0", "judge/none")
    assert found["none"].reason == "no model answers it, and the judge rejects its answer key"
    assert found["failed"].reason == "1 answer missing, which could change the verdict"
    assert (found["one"].n, found["one"].hits) == (3, 1)


@pytest.mark.parametrize(
    ("says", "verdict", "reason"),
    [
        ("YES", "review", "the judge confirms its answer key"),
        ("NO", "drop", "the judge rejects its answer key"),
        ("The answer is not known.\nNO", "drop", "rejects"),
        ("NO … wait, it does fit.\n\nYES.", "review", "confirms"),
        ("YES at first, but NO", "drop", "rejects"),
        ("There is no such thing in the image.\nYes", "review", "confirms"),
        ("I see a cat.\n**No.**", "drop", "rejects"),
        ("The sign says NO SMOKING, as the gold has it.\n\nYes.", "review", "confirms"),
        ("It is right.\n\nAnswer: yes", "review", "confirms"),
        ("Yes and no.", "review", "the judge gave neither YES nor NO"),
        ("NOBODY KNOWS", "review", "the judge gave neither YES nor NO"),
        ("Eyes, nose", "review", "the judge gave neither YES nor NO"),
        ("", "review", "the judge gave neither YES nor NO"),
    ],
)
def test_what_the_judge_says(says: str, verdict: str, reason: str) -> None:
    found, _ = look({"q": ["0"]}, says)
    assert (found["q"].verdict, reason in found["q"].reason) == (verdict, True), found["q"].reason


def test_a_judge_that_fails_or_is_not_there_sends_everything_to_people() -> None:
    found, _ = look({"q": ["0"]}, None, outcome="failed")
    assert (found["q"].verdict, found["q"].responses) == ("review", ("q/0/0", "judge/q"))
    for lacking in ({"ask": None, "judges": ["boss"]}, {"ask": Judge(lambda one: "NO"), "judges": []}):
        alone = judged(ZERO_PASS, evidence({"q": ["0"]}), **lacking)["q"]
        assert (alone.verdict, alone.responses) == ("review", ("q/0/0",))
        assert "gave neither" in alone.reason


def test_the_prompt_shows_the_image_the_question_and_the_gold() -> None:
    choices = (Choice("a cat"), Choice("a dog in <image 1>", True))
    asked = judge_prompt(
        Item(id="q", question="What is in <image 1>?", images=(CAT,), choices=choices), load_prompts().plain
    )
    (message,) = asked.messages
    assert [part for part in message.parts if isinstance(part, ImagePart)] == [ImagePart(CAT)]
    assert "A. a cat\nB. a dog in" in message.text
    assert message.text.endswith("Golden answer:\n- B. a dog in [image 1]") or "Golden answer:\n- B." in message.text
    assert "<image 1>" not in message.text, "a placeholder means nothing to a judge"
    assert "only YES if it is, or NO" in message.text
