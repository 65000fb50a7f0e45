"""Items that no model answers: who is asked about them, how, and what becomes of what the judge says."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from eyetest.filters.golds import judge_prompt
from eyetest.prompts.building import description_prompt
from eyetest.records import Choice, ImagePart, ImageRef, Item, Prompt, Response
from tests.filters.said import Table, evidence, item, judged, stage, words

RULE = stage(filter="zero-pass", judge="judges")
CAT = ImageRef(sha256="1" * 64, format="png", width=10, height=10, size=100)


class Judge:
    """A judge that says what it is told to, and remembers what it was asked."""

    def __init__(self, says: Callable[[Item], str | None], outcome: str = "answered") -> None:
        self.says, self.outcome = says, outcome
        self.asked: list[tuple[str, Item, Prompt]] = []

    def __call__(self, model: str, prompts: Sequence[tuple[Item, Prompt]]) -> list[Response | None]:
        self.asked += [(model, one, prompt) for one, prompt in prompts]
        return [Response(request=f"judge/{one.id}", outcome=self.outcome, text=self.says(one)) for one, _ in prompts]  # type: ignore[arg-type]


def look(table: Table, says: str | None, **more: Any) -> Any:
    judge = Judge(lambda one: says, more.pop("outcome", "answered"))
    return judged(RULE, evidence(table), judges=["boss", "second"], ask=judge, **more), judge


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
    for nobody in ({"ask": None, "judges": ["boss"]}, {"ask": Judge(lambda one: "NO"), "judges": []}):
        alone = judged(RULE, evidence({"q": ["0"]}), **nobody)["q"]
        assert (alone.verdict, alone.responses) == ("review", ("q/0/0",))
        assert "gave neither" in alone.reason


def test_a_stage_may_be_milder_with_what_the_judge_rejects() -> None:
    mild = stage(filter="zero-pass", judge="judges", then="review")
    found = judged(mild, evidence({"q": ["0"]}), judges=["boss"], ask=Judge(lambda one: "NO"))["q"]
    assert (found.verdict, "rejects" in found.reason) == ("review", True)


def test_the_prompt_shows_the_image_the_question_and_the_gold() -> None:
    choices = (Choice("a cat"), Choice("a dog in <image 1>", True))
    asked = judge_prompt(Item(id="q", question="What is in <image 1>?", images=(CAT,), choices=choices))
    (message,) = asked.messages
    assert [part for part in message.parts if isinstance(part, ImagePart)] == [ImagePart(CAT)]
    assert "A. a cat\nB. a dog in" in message.text
    assert message.text.endswith("Golden answer:\n- B. a dog in [image 1]") or "Golden answer:\n- B." in message.text
    assert "<image 1>" not in message.text, "a placeholder means nothing to a judge"
    assert "only YES if it is, or NO" in message.text


def test_captions_are_judged_by_whether_every_one_fits() -> None:
    caption = Item(id="q", question="Describe it.", images=(CAT,), references=("a cat", "a grey cat"))
    plain, as_captions = (judge_prompt(caption, captions=flag).messages[0].text for flag in (False, True))
    assert "Captions:\n- a cat\n- a grey cat" in as_captions
    assert "Describe this image to yourself in detail first" in as_captions
    assert "Say YES if every one of them fits" in as_captions
    assert "Golden answer" not in as_captions
    assert "Golden answer:\n- a cat\n- a grey cat" in plain
    assert plain != description_prompt(caption).messages[0].text


@pytest.mark.parametrize(
    ("metric", "captions"),
    [("cider", True), ("bleu-4", True), ("rouge-l", True), ("meteor", True), ("accuracy", False), ("vqa", False)],
)
def test_the_metric_tells_captions_from_questions(metric: str, captions: bool) -> None:
    judge = Judge(lambda one: "NO")
    text = Item(id="q", question="?", images=(CAT,), references=("a cat",))
    judged(RULE, evidence({"q": ["0"]}, metric=metric), judges=["boss"], ask=judge, items=[text])
    assert judge.asked[0][2] == judge_prompt(text, captions=captions)


def test_one_hit_settles_it() -> None:
    found, _ = look({"q": ["1", "0", "0"], "r": ["0", "1", "0"]}, "NO", items=[item("q"), item("r")])
    assert [(row.n, row.verdict) for row in found.values()] == [(1, "keep"), (2, "keep")]
