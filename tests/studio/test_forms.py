"""Forms: ours all load and ask what they should, others' are refused in one line, and labels are held to them."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from eyetest_world.posing import AXES, CORES

from eyetest.errors import InputError
from eyetest.recipes.loading import load_recipe
from eyetest.records import Choice, Decision, Item
from eyetest.studio.forms import Form, check_decision, check_labels, form_names, load_form
from tests.conftest import ROOT
from tests.support.refusals import refusal

OWN = """
about: Look at the gauge.
fields:
  - {name: readable, ask: "Can it be read?", values: ["yes", "no"]}
  - {name: faults, ask: "What is wrong?", kind: several, values: [glare, blur, cut off], required: false}
  - {name: why, ask: "Why?", kind: text, when: [drop]}
edits: [question, answer]
"""
wrong = partial(refusal, check_labels)


@pytest.fixture
def own(tmp_path: Path) -> Form:
    path = tmp_path / "gauge.yaml"
    path.write_text(OWN)
    return load_form(str(path))


@pytest.mark.parametrize("name", form_names())
def test_ours(name: str) -> None:
    form = load_form(name)
    assert form.name == name
    assert form.about.strip()
    assert form.reasons
    check_labels(form, "unsure", {})  # who cannot tell is asked for nothing


def test_mmstar_asks_for_the_capabilities_that_its_recipe_sorts_by() -> None:
    fields = {field.name: field for field in load_form("mmstar").fields}
    assert fields["core"].values == tuple(CORES)
    assert fields["axis"].values == AXES
    select = load_recipe("mmstar").stages[-1].select
    assert select is not None
    assert {fields["core"].tag, fields["axis"].tag} < set(select.tags)


def test_the_form_on_its_page(tmp_path: Path) -> None:
    page = (ROOT / "docs/review.md").read_text()
    path = tmp_path / "gauges.yaml"
    path.write_text(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0])
    form = load_form(str(path))
    assert [field.name for field in form.asked("drop")] == ["readable", "faults", "note"]
    assert form.tags({"readable": "yes", "instrument": "speed"}) == {"instrument": "speed"}
    assert [name for name in form_names() if f"| `{name}` |" not in page] == []


def test_plain_words_are_what_the_plain_form_says() -> None:
    form = load_form("Is it dark outside? Look twice.")
    assert (form.about, form.fields) == ("Is it dark outside? Look twice.", ())
    assert form.reasons == load_form("plain").reasons
    assert load_form("") == load_form() == load_form("plain")
    assert load_form("Gut?").about == "Gut?"


def test_a_file_of_ones_own(own: Form) -> None:
    with pytest.raises(InputError, match=r"nowhere\.yaml cannot be read"):
        load_form("nowhere.yaml")
    assert own.name == "gauge"
    assert [field.name for field in own.asked("keep")] == ["readable", "faults"]
    assert [field.name for field in own.asked("drop")] == ["readable", "faults", "why"]


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("fields: [", "is not YAML"),
        ("just words", "a form is a list of settings"),
        ("abuot: x", ': no setting "abuot"; did you mean "about"?'),
        ("fields: [{name: a, ask: b, vlaues: [x, y]}]", ', fields 1: no setting "vlaues"; did you mean "values"?'),
        ("fields: [{name: a, ask: b, values: [yes, no]}]", ", fields 1, values 1: "),
        ("fields: [{name: a, ask: b, values: [x]}]", "a: a choice takes at least two values"),
        ("fields: [{name: a, ask: b, values: [x, x]}]", 'a: the value "x" is there 2 times'),
        ("fields: [{name: a, ask: b, kind: text, values: [x, y]}]", "a: a text has no values"),
        ("fields: [{name: a, ask: b, kind: several, values: [x, y], tag: t}]", "a: a tag has one value"),
        ("fields: [{name: a, ask: b, kind: text}, {name: a, ask: c, kind: text}]", '2 fields are called "a"'),
        (
            "fields: [{name: a, ask: b, kind: text, tag: t}, {name: c, ask: d, kind: text, tag: t}]",
            '2 fields give the tag "t"',
        ),
        ("fields: [{name: a b, ask: c, kind: text}]", ", fields 1, name: "),
        ("fields: [{name: a, ask: c, kind: text, when: [undo]}]", "no value 'undo'"),
        ("edits: [image]", "no value 'image'"),
    ],
)
def test_a_broken_file_is_refused_in_one_line_by_its_recipe_too(tmp_path: Path, text: str, stated: str) -> None:
    form, recipe = tmp_path / "form.yaml", tmp_path / "recipe.yaml"
    form.write_text(text)
    default = tmp_path / "default.yaml"
    recipe.write_text(f"stages: [{{review: {{form: {form}}}}}]")
    default.write_text(f"form: {form}\nstages: [{{review: {{}}}}]")
    for load, path in ((load_form, form), (load_recipe, recipe), (load_recipe, default)):
        line = refusal(load, str(path))
        assert stated in line
        assert str(form) in line


def test_labels_are_kept_as_the_form_has_them(own: Form) -> None:
    labels = {"faults": ["cut off", "glare", "glare"], "readable": " yes "}
    assert check_labels(own, "keep", labels) == {"readable": "yes", "faults": ["glare", "cut off"]}
    assert list(check_labels(own, "keep", labels)) == ["readable", "faults"]
    assert check_labels(own, "keep", {"readable": "no", "faults": "blur"}) == {"readable": "no", "faults": ["blur"]}
    assert check_labels(own, "drop", {"readable": "no", "why": " glare\n"}) == {"readable": "no", "why": "glare"}
    assert check_labels(own, "unsure", {}) == {}


def test_wrong_labels(own: Form) -> None:
    assert wrong(own, "keep", {}) == "readable: Can it be read? This has to be answered"
    assert wrong(own, "keep", {"readable": " "}) == "readable: Can it be read? This has to be answered"
    assert wrong(own, "keep", {"readable": "maybe"}) == 'readable: no value "maybe"; known: no, yes'
    assert wrong(own, "keep", {"readable": ["yes"]}).startswith("readable: found ['yes'] (list), expected one of")
    assert wrong(own, "keep", {"readable": "yes", "faults": 3}).startswith("faults: found 3 (int), expected a list")
    assert wrong(own, "keep", {"readable": "yes", "faults": ["glair"]}) == (
        'faults: no value "glair"; did you mean "glare"?'
    )
    assert wrong(own, "keep", {"readable": "yes", "why": "x"}).startswith('no field "why" with keep; known: ')
    assert wrong(own, "drop", {"readable": "yes", "why": 3}) == "why: found 3 (int), expected a text"
    assert wrong(own, "drop", {"readable": "yes", "why": "x" * 4_001}) == (
        "why: 4,001 characters; at most 4,000 are kept"
    )


ITEM = Item(id="q1", question="?", choices=(Choice("a", True), Choice("b")))


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("keep", {}, "readable: Can it be read?"),
        ("drop", {"labels": {"readable": "yes"}, "edits": {"answer": "B"}}, "edits: only a fix changes an item"),
        ("fix", {"edits": {"tags": {"x": "y"}}, "labels": {"readable": "no"}}, "may be changed"),
        ("fix", {"edits": {"answer": "Z"}, "labels": {"readable": "no"}}, "an answer is one of A, B"),
        ("drop", {"reason": "x" * 10_001}, "reason: 10,001 characters"),
        ("fix", {"edits": {"question": "x" * 200_000}}, "edits: 200,0.. characters"),
    ],
)
def test_a_decision_that_the_form_or_the_item_does_not_allow(
    own: Form, kind: Any, given: dict[str, Any], message: str
) -> None:
    decided = Decision(item="q1", reviewer="ann", time="", decision=kind, **given)
    with pytest.raises(InputError, match=message):
        check_decision(decided, own, ITEM)
