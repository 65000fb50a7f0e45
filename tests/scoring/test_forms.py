"""Forms of replies: placeholders, under which form a reply is counted, and what a decision on a form does."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from eyetest.errors import InputError
from eyetest.records import Choice, Condition, Item, Response
from eyetest.scoring import Scorer
from eyetest.scoring.forms import FormDecisions, forms_of, name_forms, read_decisions, read_ends
from eyetest.scoring.rules import RULE_SETS, Reply

ANIMALS = ("cat", "dog", "sea cow", "fish")
ITEM = Item(id="q", question="Which?", choices=tuple(Choice(text, text == "dog") for text in ANIMALS))


def forms(text: str, letters: str = "upper") -> list[str]:
    return forms_of(read_ends(Reply(text, ANIMALS, letters)))


def names(*texts: str, decisions: FormDecisions | None = None) -> list[str]:
    return name_forms([read_ends(Reply(text, ANIMALS)) for text in texts], decisions or FormDecisions())


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("B", "[mark]"),
        ("**(C)** Sea cow", "[mark] [option]"),
        ("Option B is correct.", "option [mark] is correct"),
        ("Option A is correct.", "option [mark] is correct"),
        ("A dog is a dog.", "a [option] is a [option]"),
        ("I'd say 3.5 of 12", "i'd say [number] of [number]"),
        ('The sign says "No entry"', "the sign says [quote]"),
        ('The answer is "dog".', "the answer is [option]"),
        ("Underdogs catch it", "underdogs catch it"),
        ("<think>It may be A.</think>B", "[mark]"),
        (r"$\boxed{B}$", "boxed [mark]"),
    ],
)
def test_a_short_reply_is_a_form_with_placeholders(text: str, form: str) -> None:
    assert forms(text)[0] == form


def test_marks_of_other_styles() -> None:
    assert forms("Answer: (2)", "digit")[0] == "answer [mark]"
    assert forms("It is 2", "digit")[0] == "it is [number]"
    assert forms("(b) it is", "lower")[0] == "[mark] it is"
    assert forms("答案是Б", "АБВГ")[0] in ("答案是б", "答案是 [mark]")
    assert forms("Ответ: Б", "АБВГ")[0] == "ответ [mark]"


def test_many_replies_that_begin_alike_are_one_form() -> None:
    reasons = ("cats are small", "it barks", "we see its tail", "the fur is brown", "it stands on the left")
    texts = [
        f"Option {mark} is correct since {reason}, as the {reason} shows." for mark in "BCD" for reason in reasons
    ]
    texts += ["No idea at all", "Quite something else, as everyone can see."]
    named = names(*texts)
    assert named == ["option [mark] is correct since …"] * 15 + ["", ""]


def test_a_form_needs_three_replies() -> None:
    assert names("It is B", "It is C") == ["", ""]
    assert names("It is B", "It is C", "It is D") == ["it is [mark]"] * 3


def test_a_decided_form_comes_first_and_the_longest_decides() -> None:
    decisions = FormDecisions({"it is …": "unread", "it is [mark]": "read"})
    assert names("It is B", "It is surely and clearly nothing", decisions=decisions) == ["it is [mark]", "it is …"]
    assert decisions.of(Reply("It is B", ANIMALS)) == "read"
    assert decisions.of(Reply("It is surely and clearly nothing", ANIMALS)) == "unread"
    assert decisions.of(Reply("Hm, it is B", ANIMALS)) is None


def score(text: str, **scorer: object):  # type: ignore[no-untyped-def]
    response = Response(request="r", outcome="answered", text=text)
    return Scorer(**scorer).score(ITEM, Condition(), response)  # type: ignore[arg-type]


def test_a_confirmed_form_is_read_and_a_refused_one_is_not() -> None:
    text = "It is B"
    plain = score(text)
    assert (plain.reading, plain.choice) == ("chosen", "B")
    assert plain.probability == RULE_SETS["eyetest"].read(Reply(text, ANIMALS)).probability
    confirmed = score(text, forms=FormDecisions({"it is [mark]": "read"}), sure=1.0)
    assert (confirmed.choice, confirmed.score, confirmed.probability) == ("B", 1.0, 1.0)
    refused = score(text, forms=FormDecisions({"it is [mark]": "unread"}))
    assert (refused.reading, refused.choice, refused.score) == ("unparsed", None, 0.0)
    assert (refused.why, refused.probability, refused.marked) == ("its form is refused", 0.0, None)


def test_a_reading_below_the_threshold_is_unread_and_says_why() -> None:
    text = "I see a cat, and a dog may be there; a sea cow swims, perhaps it is the dog after all."
    plain = score(text)
    assert plain.reading in ("chosen", "ambiguous")
    assert plain.probability is not None
    unread = score(text, sure=plain.probability + 0.001)
    assert (unread.reading, unread.choice, unread.score, unread.probability) == (
        "unparsed",
        None,
        0,
        plain.probability,
    )
    assert unread.why.startswith("not sure enough (0.")
    assert unread.rule == plain.rule
    assert score(text, sure=plain.probability) == plain


def test_what_is_unread_anyway_keeps_its_reason() -> None:
    assert score("Hm.", sure=1.0) == score("Hm.")


def test_rules_without_probabilities_are_not_thresholded() -> None:
    assert score("It is B", rules="mmmu", sure=1.0).choice == "B"


def test_decisions_are_read_from_yaml(tmp_path: Path) -> None:
    path = tmp_path / "forms.yaml"
    path.write_text(
        "- form: '[mark]'\n  decision: read\n  replies: 3\n- form: it is …\n  decision:\n"
        "- {form: it was …, decision: unread}\n"
    )
    decisions = read_decisions(path)
    assert decisions.decisions == {"[mark]": "read", "it was …": "unread"}
    assert decisions.shared_by == {"[mark]": 0, "it is …": 0, "it was …": 0}
    assert (
        decisions.fingerprint
        == FormDecisions(dict(sorted(decisions.decisions.items(), reverse=True)), decisions.shared_by).fingerprint
        != ""
    )
    assert FormDecisions().fingerprint == ""
    path.write_text("")
    assert read_decisions(path) == FormDecisions({})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {form: a, decision: maybe}", "forms.yaml"),
        ("- {form: a, decison: read}", 'no setting "decison"; did you mean "decision"?'),
        ("- {form: a, decision: read}\n- {form: a, decision: unread}", 'the form "a" is decided in two ways'),
        ("form: a", "forms.yaml"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "forms.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_decisions(path)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_megabyte_costs_its_ends() -> None:
    text = f"Option B is correct. {'So many words. ' * 70_000}The answer is B."
    assert "option [mark] is correct so many …" in forms(text)
    assert "… the answer is [mark]" in forms(text)
    assert msgspec.json.encode(read_ends(Reply(text, ANIMALS)))


def test_forms_do_not_depend_on_the_seed_of_hashes() -> None:
    """Of two options that overlap and have the same length, the order in a set would decide."""
    script = (
        "from eyetest.scoring.forms import read_ends\n"
        "from eyetest.scoring.rules import Reply\n"
        "options = ('red hat', 'hat red', 'big red', 'red big')\n"
        "print(read_ends(Reply('it is big red hat red big here', options)))\n"
    )
    printed = set()
    for seed in range(6):
        environment = os.environ | {"PYTHONHASHSEED": str(seed)}
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
        printed.add(done.stdout)
    assert len(printed) == 1


def test_an_undecided_form_of_the_file_keeps_its_replies() -> None:
    decisions = FormDecisions(
        {"the answer is …": "unread"}, {"the answer is [mark]": 30, "the answer is …": 40, "… is [mark]": 5}
    )
    assert decisions.of(Reply("The answer is B", ANIMALS)) is None
    assert decisions.of(Reply("The answer is probably a small dog", ANIMALS)) == "unread"
    assert decisions.of(Reply("The answer is hard to tell, I think it is B", ANIMALS)) == "unread"


def test_a_form_that_a_person_added_holds_before_those_with_counts() -> None:
    decisions = FormDecisions({"it is …": "unread", "… but [mark]": "read"}, {"it is …": 50, "… but [mark]": 0})
    assert decisions.of(Reply("It is surely nothing but B", ANIMALS)) == "read"
