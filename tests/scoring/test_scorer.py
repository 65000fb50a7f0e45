"""What one answer is worth: every outcome, every reading, every kind of item, in any order under any letters."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.records import Choice, Condition, Item, Response, letter, mark, shown_order
from eyetest.records.tables import Letters
from eyetest.scoring import RULE_SETS, Scored, Scorer, is_hit
from eyetest.scoring.metrics import METRICS

ANIMALS = ("cat", "dog", "bird", "fish")
STYLES: tuple[Letters, ...] = ("upper", "lower", "digit")
REFUSAL = "I'm sorry, but I cannot see an image."
DIRECT = Condition()


def choice_item(*gold: int, options: tuple[str, ...] = ANIMALS, **more: Any) -> Item:
    choices = tuple(Choice(text, place in gold) for place, text in enumerate(options))
    return Item(id="i", question="Which one?", choices=choices, **more)


def text_item(*references: str, **tags: Any) -> Item:
    return Item(id="t", question="What is it?", references=references, tags=tags)


def reply(text: str | None, outcome: str = "answered", **more: Any) -> Response:
    return Response(request="", outcome=outcome, text=text, **more)  # type: ignore[arg-type]


def worth(item: Item, answer: Response, condition: Condition = DIRECT, **scorer: Any) -> Scored:
    return Scorer(**scorer).score(item, condition, answer)


def brief(scored: Scored) -> tuple[Any, ...]:
    return scored.reading, scored.choice, scored.metric, scored.score


@pytest.mark.parametrize("outcome", ["answered", "truncated"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("B", ("chosen", "B", "accuracy", 1.0)),
        ("A dog", ("chosen", "B", "accuracy", 1.0)),
        ("C", ("chosen", "C", "accuracy", 0.0)),
        (REFUSAL, ("refused", None, "accuracy", 0.0)),
        ("It could be A or B, both are equally possible.", ("ambiguous", None, "accuracy", 0.0)),
        ("Hm.", ("unparsed", None, "accuracy", 0.0)),
        ("", ("unparsed", None, "accuracy", 0.0)),
    ],
)
def test_a_choice_by_outcome_and_reading(outcome: str, text: str, found: tuple[Any, ...]) -> None:
    scored = worth(choice_item(1), reply(text, outcome))
    if outcome == "truncated" and found[0] == "unparsed":
        found = ("cut off", *found[1:])
    assert brief(scored) == found
    assert scored.rule is not None
    assert scored.rule.startswith("eyetest/")
    assert scored.rule == scored.rule.strip()


@pytest.mark.parametrize("item", [choice_item(1), text_item("dog"), text_item("a", "b", "c")])
@pytest.mark.parametrize("given", [None, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("text", [None, "", "B"])
def test_a_failed_call_has_no_score_whatever_else_is_there(item: Item, given: float | None, text: str | None) -> None:
    scored = worth(item, reply(text, "failed", given=given, candidates=(0.0, 1.0, 2.0, 3.0)))
    assert (scored.reading, scored.choice, scored.rule, scored.score) == (None, None, None, None)
    assert scored.metric in ("accuracy", "open", "vqa")


@pytest.mark.parametrize(("item", "metric"), [(choice_item(1), "accuracy"), (text_item("dog"), "open")])
def test_a_blocked_question_scores_0_unread_and_an_unknown_answer_has_no_score(item: Item, metric: str) -> None:
    for text in (None, "", "B", "dog"):
        assert brief(worth(item, reply(text, "blocked"))) == (None, None, metric, 0.0)
    assert brief(worth(item, reply(None))) == (None, None, metric, None)


@given(data=st.data(), options=st.integers(2, 26), order=st.integers(-(2**63), 2**62), style=st.sampled_from(STYLES))
def test_the_mark_of_the_gold_is_right_in_any_order(
    data: st.DataObject, options: int, order: int, style: Letters
) -> None:
    gold = data.draw(st.integers(0, options - 1))
    named_at = data.draw(st.integers(0, options - 1))
    item = msgspec.structs.replace(
        choice_item(gold, options=tuple(f"thing number {n + 101}" for n in range(options))),
        id=data.draw(st.text(max_size=5)),
    )
    condition = Condition(order=order, letters=style)
    shown = shown_order(item, condition)
    assert sorted(shown) == list(range(options))
    right = worth(item, reply(mark(style, shown.index(gold))), condition)
    assert brief(right) == ("chosen", letter(gold), "accuracy", 1.0)
    other = worth(item, reply(mark(style, named_at)), condition)
    assert brief(other) == ("chosen", letter(shown[named_at]), "accuracy", float(shown[named_at] == gold))


def test_any_of_several_golds_is_right() -> None:
    item = choice_item(0, 3)
    assert [worth(item, reply(text)).score for text in "ABCD"] == [1.0, 0.0, 0.0, 1.0]
    assert [worth(item, reply(None, candidates=(0.0, *rest))).score for rest in ((-1, -2, -3), (1, -2, -3))] == [1, 0]


@pytest.mark.parametrize("rules", sorted(RULE_SETS))
def test_items_without_a_gold_are_read_and_have_no_score(rules: str) -> None:
    """A 0 would pull down a benchmark that hides its golds."""
    for text in ("B", REFUSAL, "Hm.", ""):
        assert worth(choice_item(), reply(text), rules=rules).score is None
        assert worth(text_item(), reply(text), rules=rules).score is None
        assert worth(text_item("", " "), reply(text), rules=rules).score is None
    assert worth(choice_item(), reply("B"), rules=rules).choice == "B"
    assert worth(choice_item(), reply(REFUSAL)).reading == worth(text_item(), reply(REFUSAL)).reading == "refused"
    assert worth(choice_item(), reply(None, "blocked")).score is None
    assert brief(worth(choice_item(), reply(None, candidates=(1, 2, 3, 0)))) == ("chosen", "C", "accuracy", None)
    assert worth(choice_item(), reply("B", given=1.0)).score == 1.0
    assert is_hit(choice_item(), DIRECT, Response(request="r", outcome="answered", text="B")) is None


@pytest.mark.parametrize("name", sorted(RULE_SETS))
def test_each_rule_set_says_its_version_and_never_guesses(name: str) -> None:
    version = RULE_SETS[name].version
    right = worth(choice_item(1), reply("(B)"), rules=name)
    assert (brief(right), right.rule.split()[0] if right.rule else "") == (("chosen", "B", "accuracy", 1.0), version)
    nothing = worth(choice_item(1), reply("?"), rules=name)
    assert (nothing.reading, nothing.choice, nothing.score) == ("unparsed", None, 0.0)
    if name in ("mmmu", "lmms-eval", "vlmevalkit"):
        assert nothing.why == "would guess"


@given(st.lists(st.floats(-1e6, 0), min_size=4, max_size=4), st.integers(0, 3), st.sampled_from((0, 1, 99)))
def test_likelihoods_against_a_plain_argmax(weights: list[float], gold: int, order: int) -> None:
    """Candidates stand in the order of the item's choices: likelihood requests show no options to reorder."""
    best = [place for place in range(4) if weights[place] == max(weights)]
    scored = worth(choice_item(gold), reply(None, candidates=tuple(weights)), Condition(order=order))
    assert scored.rule == "likelihood"
    if len(best) == 1:
        assert brief(scored) == ("chosen", letter(best[0]), "accuracy", float(best[0] == gold))
    else:
        assert brief(scored) == ("ambiguous", None, "accuracy", 0.0)
        assert scored.why == "equal likelihoods"


def test_a_likelihood_that_is_no_number_never_wins() -> None:
    for impossible in (math.nan, -math.inf):
        for place in range(3):
            weights = [-5.0, -6.0, -7.0]
            weights.insert(place, impossible)
            expected = letter(0 if place else 1)
            assert worth(choice_item(0), reply(None, candidates=tuple(weights))).choice == expected
        nothing = worth(choice_item(0), reply(None, candidates=(impossible,) * 4))
        assert (nothing.reading, nothing.score) == ("ambiguous", 0.0)


@pytest.mark.parametrize("given", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    ("item", "answer", "reading", "choice"),
    [
        (choice_item(1), reply("B"), "chosen", "B"),
        (choice_item(1), reply(REFUSAL), "refused", None),
        (choice_item(1), reply(None), None, None),
        (choice_item(1), reply(None, "blocked"), None, None),
        (text_item("dog"), reply("dog"), "text", None),
        (text_item("dog"), reply(REFUSAL), "refused", None),
    ],
)
def test_a_given_score_is_used_as_it_is_and_the_answer_is_still_read(
    given: float, item: Item, answer: Response, reading: str | None, choice: str | None
) -> None:
    scored = worth(item, msgspec.structs.replace(answer, given=given))
    assert (scored.reading, scored.choice, scored.rule, scored.metric, scored.score) == (
        *(reading, choice),
        *("given", "given", given),
    )


def test_the_metric_is_the_users_the_items_or_what_its_references_call_for() -> None:
    several = ("dog", "dog", "puppy")
    assert [Scorer().metric_for(text_item(*several[:n])) for n in range(4)] == ["open", "open", "open", "vqa"]
    tagged = text_item(*several, metric="anls")
    assert Scorer().metric_for(tagged) == "anls"
    assert Scorer(metric="exact").metric_for(tagged) == "exact"
    for strange in ("no such metric", 7, None, ["anls"]):
        assert Scorer().metric_for(text_item("dog", metric=strange)) == "open"
    for item in (text_item("dog"), tagged):
        for metric in (None, "exact", "cider"):
            assert worth(item, reply(None, "failed"), metric=metric).metric == Scorer(metric=metric).metric_for(item)
    assert worth(choice_item(1), reply("B"), metric="exact").metric == "accuracy"


@pytest.mark.parametrize("metric", sorted(set(METRICS) - {"meteor"}))
def test_a_refusal_is_a_refusal_under_every_metric(metric: str) -> None:
    scored = worth(text_item("a red bus"), reply(REFUSAL), metric=metric)
    if scored.score:
        assert scored.reading == "text", "a metric that finds something in it has the word"
    else:
        assert (scored.reading, scored.metric, scored.score) == ("refused", metric, 0.0)
        assert scored.rule is not None
        assert scored.rule.startswith("eyetest/")
    assert (metric == "ocr") == bool(scored.score), "only an edit distance finds a little of anything in anything"
