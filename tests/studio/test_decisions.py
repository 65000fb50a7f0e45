"""What people decided: read back as they write it, refused in one line where it makes no sense, and counted."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from sklearn.metrics import cohen_kappa_score

from eyetest.errors import InputError
from eyetest.records import Choice, Decision, Item
from eyetest.studio.decisions import agreement_of, by_item, decide, read_decisions
from eyetest.studio.forms import edited
from tests.support.refusals import refusal

KNOWN = {"q1", "q2", "q3"}


def read(tmp_path: Path, text: str, encoding: str = "utf-8") -> dict[str, list[Decision]]:
    path = tmp_path / "decisions.csv"
    path.write_bytes(text.encode(encoding, "surrogateescape"))
    return by_item(read_decisions(path, KNOWN))


def refused(tmp_path: Path, text: str) -> str:
    message = refusal(read, tmp_path, text)
    assert message.startswith(str(tmp_path / "decisions.csv"))
    return message.removeprefix(str(tmp_path / "decisions.csv"))


def test_all_columns(tmp_path: Path) -> None:
    header = "item,reviewer,time,decision,reason,edits,comment,labels,solved,adjudicates\n"
    row = 'q1,ann,2024-05-01,fix,"wrong, gold","{""answer"": ""B""}","see ""page"" 3",'
    row += '"{""core"": [""math"", ""logic""]}",B,true\n'
    made = Decision(item="q1", reviewer="ann", time="2024-05-01", decision="fix", reason="wrong, gold")
    made = msgspec.structs.replace(made, edits={"answer": "B"}, comment='see "page" 3', solved="B")
    made = msgspec.structs.replace(made, labels={"core": ["math", "logic"]}, adjudicates=True)
    assert read(tmp_path, header + row + ",,,,,,,,,\nq2,,,keep\n") == {
        "q1": [made],
        "q2": [say("keep", "unnamed", item="q2")],
    }
    assert read_decisions(tmp_path / "nothing.csv", KNOWN) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_as_little_as_people_write(tmp_path: Path, encoding: str, end: str) -> None:
    """A column of one's own, spaces, capitals, lines not filled in yet, and the empty ones that spreadsheets save."""
    lines = ["item,decision,mood", "q1,keep,good", " q2 , Drop ,", ",,", "", "q1,,", "q3,FIX,"]
    found = read(tmp_path, end.join(lines), encoding)
    assert [len(rows) for rows in found.values()] == [1, 1, 1]
    assert {name: rows[0].decision for name, rows in found.items()} == {"q1": "keep", "q2": "drop", "q3": "fix"}
    assert found["q1"][0].reviewer == "unnamed"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", " has no column item; it takes item, reviewer,"),
        ("item,verdict\nq1,keep\n", " has no column decision; it takes item, reviewer,"),
        ("item;decision\nq1;keep\n", " has no column item; it takes"),
        ("item,decision\nq1,keep\nq9,keep\n", ", line 3: no item 'q9'"),
        ("item,decision\n,keep\n", ", line 2: no item"),
        ("item,decision\nq1,maybe\n", ", line 2: found 'maybe', expected keep, drop, fix or unsure"),
        ("item,decision,edits\nq1,fix,{answer: B}\n", ", line 2: edits are no JSON"),
        ('item,decision,edits\nq1,fix,"[1]"\n', ", line 2: edits"),
        ("item,decision,adjudicates\nq1,fix,first\n", ", line 2: "),
        ("item,decision\nq1,keep\n\x00,keep", ", line 3: no item '\\x00'"),
        ("item,decision\nq1,keep\udcff\n", " is no CSV"),
        ("item,decision,labels\nq1,keep,hard\n", ", line 2: labels are no JSON object"),
    ],
)
def test_what_makes_no_sense(tmp_path: Path, text: str, message: str) -> None:
    assert refused(tmp_path, text).startswith(message)


def say(decision: Any, reviewer: str = "ann", **more: Any) -> Decision:
    return Decision(**({"item": "q1"} | more), reviewer=reviewer, time="", decision=decision)


ANN, BOB, EVE = say("keep"), say("drop", "bob", reason="blurred"), say("drop", "eve")
FIXES = [say("fix", name, edits={"answer": letter}) for name, letter in (("ann", "A"), ("bob", "B"))]


@pytest.mark.parametrize(
    ("given", "reviewers", "outcome"),
    [
        ([], 1, ("review", "waits for a person", 0, 0)),
        ([ANN], 3, ("review", "1 of 3 reviewers", 1, 1)),
        ([ANN, BOB], 3, ("review", "2 of 3 reviewers", 2, 1)),
        ([ANN, BOB, EVE], 3, ("drop", "blurred", 3, 2)),
        ([ANN, BOB], 2, ("review", "reviewers disagree, 1 to 1", 2, 1)),
        ([ANN, BOB, say("fix", "eve")], 3, ("review", "reviewers disagree, 1 to 1 to 1", 3, 1)),
        (FIXES, 2, ("review", "reviewers disagree, in their edits", 2, 2)),
        ([say("unsure")], 1, ("review", "ann is unsure", 1, 1)),
        ([say("unsure"), say("unsure", "bob")], 2, ("review", "the reviewers are unsure", 2, 2)),
        ([say("unsure"), say("keep", "bob"), say("keep", "eve")], 3, ("keep", "2 of 3 reviewers", 3, 2)),
        ([say("drop"), ANN, say("keep", "bob")], 2, ("keep", "2 of 2 reviewers", 2, 2)),
    ],
)
def test_most_of_the_reviewers_decide_by_their_last_words_once_enough_have_spoken(
    given: list[Decision], reviewers: int, outcome: tuple[str, str, int, int]
) -> None:
    found = decide(given, reviewers)
    assert (found.verdict, found.reason, found.n, found.agree) == outcome


def test_who_settles_has_the_last_word() -> None:
    given = [say("keep"), say("drop", "bob")]
    boss = say("fix", "boss", adjudicates=True, edits={"answer": "B"}, labels={"core": "x"})
    settled = decide([*given, boss], 2)
    assert (settled.verdict, settled.n, settled.agree, settled.reason) == ("fix", 3, 1, "settled by boss")
    assert (settled.edits, settled.labels) == ({"answer": "B"}, {"core": "x"})
    assert decide([*given, say("unsure", "boss", adjudicates=True)], 2).verdict == "review"


def test_labels_that_most_gave() -> None:
    labels = [{"core": "x", "level": "1"}, {"core": "x", "level": "2"}, {"core": ["y"], "level": "1", "odd": "z"}]
    votes = [say("keep", name, labels=one) for name, one in zip("abc", labels, strict=True)]
    assert decide(votes, 3).labels == {"core": "x", "level": "1", "odd": "z"}
    assert decide(votes[:2], 2).labels == {"core": "x"}, "one against one is nothing"
    assert decide([*votes, say("drop", "d", labels={"level": "2"})], 4).labels["level"] == "1"


def test_agreement_of_reviewers() -> None:
    """As scikit-learn has it; an admin who settles is no rater, and below ten items only the share is given."""
    words = {"ann": "kkdd" * 3, "bob": "kkdk" * 3, "cy": "kddd" * 3}
    kinds = {"k": "keep", "d": "drop"}
    given = [say(kinds[word], name, item=f"q{at}") for name, some in words.items() for at, word in enumerate(some)]
    given = [say("drop", "bob", item="q0"), *given, say("drop", "boss", item="q3", adjudicates=True)]
    found = {(one.coefficient, *one.reviewers): one for one in agreement_of(given)}
    assert [name for name, *pair in found if not pair] == ["observed", "fleiss", "krippendorff", "gwet"]
    assert found["observed",].value == pytest.approx((1 + 1 / 3 + 1 + 1 / 3) / 4)
    kappa = found["cohen", "ann", "bob"]
    assert kappa.value == pytest.approx(cohen_kappa_score(list(words["ann"]), list(words["bob"])))
    assert kappa.n == 12
    few = agreement_of([one for one in given if one.item in ("q0", "q1")])
    assert {one.coefficient for one in few if one.value is not None} == {"observed"}
    assert agreement_of([say("keep")]) == []


def test_edits_are_those_of_a_fix() -> None:
    asks = [
        say("drop", "ann", edits={"question": "nonsense"}),
        say("fix", "bob", edits={"answer": "B"}),
        say("fix", "eve"),
    ]
    assert decide(asks, 3).edits == {"answer": "B"}


TAGS = {"core": "x", "n": 3}
ITEM = Item(id="q1", question="Which?", choices=(Choice("a", True), Choice("b"), Choice("c")), tags=TAGS)
TEXT = Item(id="q2", question="What?", references=("cat",))


def test_edits_change_question_options_and_answer() -> None:
    found = edited(ITEM, {"question": "Which one?", "answer": "C", "b": "bee"})
    assert found.question == "Which one?"
    assert [(choice.text, choice.correct) for choice in found.choices] == [("a", False), ("bee", False), ("c", True)]
    assert edited(ITEM, {"answer": "a, C"}).gold == edited(ITEM, {"answer": ["A", "C"]}).gold == (0, 2)
    assert edited(TEXT, {"answer": "dog"}).references == ("dog",)
    assert edited(TEXT, {"answer": ["dog", "hound"]}).references == ("dog", "hound")
    assert edited(TEXT, {"answer": 3}).references == ("3",)
    assert edited(ITEM, {}) == edited(ITEM, {"tags": {}}) == ITEM
    assert edited(ITEM, {"tags": {"core": "y", "new": 2}}).tags == {"core": "y", "n": 3, "new": 2}
    assert edited(ITEM, {"tags": {"core": "", "n": None}}).tags == {}


@pytest.mark.parametrize(
    ("item", "edits", "message"),
    [
        (ITEM, {"answer": "D"}, "not 'D'"),
        (ITEM, {"answer": "cat"}, "not 'CAT'"),
        (ITEM, {"answer": ""}, "not ''"),
        (ITEM, {"D": "new"}, "found 'D'"),
        (ITEM, {"gold": "A"}, "found 'gold'"),
        (ITEM, {"": "A"}, "found ''"),
        (TEXT, {"A": "x"}, "found 'A'"),
        (TEXT, {"answer": []}, "found 'answer'"),
        (ITEM, {"question": ""}, "found 'question'"),
        (ITEM, {"tags": {"core": ["y"]}}, "a tag is a word"),
        (ITEM, {"tags": {" ": "y"}}, "a tag is a word"),
        (ITEM, {"tags": "core"}, "found 'tags'"),
    ],
)
def test_edits_that_make_no_sense(item: Item, edits: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=rf"^item '{item.id}': .*{message}"):
        edited(item, edits)
