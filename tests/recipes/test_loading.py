"""A recipe of one's own: whatever is wrong with it is said in one line, with its place and what was meant."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from eyetest.errors import InputError
from eyetest.recipes.listing import recipe_text
from eyetest.recipes.loading import load_recipe

GOOD = """
panels:
  inspectors: {size: 3, modality: no-image, models: {grey-one: {modality: gray}}}
  contestants: {size: 4}
  judges: {size: 1}
stages:
  - {filter: blind-hits, panel: inspectors, keep: {hits: {op: "<=", value: 1}}}
  - {grade: difficulty, panel: contestants, bands: {easy: [3, 4], hard: [0, 2]}, drop: [easy]}
  - {filter: zero-pass, panel: contestants, judge: judges}
  - {review: {reviewers: 2}}
  - {select: {per: core, count: 5}}
rescale: {contestants: proportional}
"""


def refused(tmp_path: Path, text: str) -> str:
    """What is said about a recipe: one line that begins with the file."""
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_recipe(str(path))
    message = str(error.value)
    assert message.startswith(str(path)), message
    assert "\n" not in message
    return message.removeprefix(str(path))


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def test_the_good_one_is_good(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    assert len(load_recipe(str(tmp_path / "mine.yaml")).stages) == 5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("stages:", "stage:", ': no setting "stage"; did you mean "stages"?'),
        ("rescale:", "rescales:", ': no setting "rescales"; did you mean "rescale"?'),
        ("{size: 4}", "{size: 4, modalty: blind}", ', panels: no setting "modalty"; did you mean "modality"?'),
        ("{size: 4}", "{size: 4, keep: 1}", ', panels: no setting "keep"; known: ask,'),
        ("keep: {hits", "kep: {hits", ', stages 1: no setting "kep"; did you mean "keep"?'),
        ("value: 1}}", "vaule: 1}}", ', stages 1, keep: no setting "vaule"; did you mean "value"?'),
        ("bands:", "band:", ', stages 2: no setting "band"; did you mean "bands"?'),
        ("{reviewers: 2}", "{reviewer: 2}", ', stages 4, review: no setting "reviewer"; did you mean "reviewers"?'),
        ("count: 5", "cuont: 5", ', stages 5, select: no setting "cuont"; did you mean "count"?'),
        (
            "{modality: gray}",
            "{modalty: grey}",
            ', panels inspectors, grey-one: no setting "modalty"; did you mean "modality"?',
        ),
        ("{modality: gray}", "{order: 3}", ', panels inspectors, grey-one: no setting "order"; known: ask, history,'),
    ],
)
def test_a_misspelt_key_anywhere(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert refused(tmp_path, changed(old, new)).startswith(message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{size: 4}", "{size: 0}", ", panels, size: Expected `int` >= 1"),
        ("{size: 4}", "{modality: image}", ", panels: Object missing required field `size`"),
        ("{size: 4}", "{size: four}", ", panels, size: Expected `int`, got `str`"),
        ("modality: no-image,", "modality: blnd,", ", panels, modality: Invalid enum value 'blnd'"),
        ('"<="', '"=<"', ", stages 1, keep, op: Invalid enum value '=<'"),
        (
            "{modality: gray}",
            "{modality: grey}",
            ", panels inspectors, grey-one, modality: Invalid enum value 'grey'",
        ),
        ("contestants: proportional", "contestants: linear", ", rescale: Invalid enum value 'linear'"),
        ("contestants: proportional", "contestant: proportional", ', rescale: no panel "contestant"; did you mean'),
        (
            "panel: inspectors",
            "panel: inspector",
            ': the stage blind-hits: no panel "inspector"; did you mean "inspectors"?',
        ),
        ("judge: judges", "judge: judge", ': the stage zero-pass: no panel "judge"; did you mean "judges"?'),
        ("panel: inspectors, ", "", ": the stage blind-hits: it does not say which panel answers"),
        ("filter: blind-hits", "filter: blind-hit", 'no filter named "blind-hit"; did you mean "blind-hits"?'),
        ("filter: zero-pass", "filter: blind-hits", '2 stages are called "blind-hits"'),
        ("filter: zero-pass", "filter: zero-pass, rate: 0.1", "zero-pass has no use for rate (it knows"),
        ("{reviewers: 2}", "{reviewers: 2}, panel: inspectors", "review has no use for panel"),
        ("count: 5}", "count: 5}, min_answers: 3", "select has no use for min_answers (it knows"),
        ("count: 5}", "count: 5}, keep: {hits: {op: '<', value: 1}}", "select has no use for keep"),
        ("hard: [0, 2]", "hard: [0, 1]", "bands have to hold each of 0 to 4 hits once"),
        ("hard: [0, 2]", "hard: [0, 2], tough: [0, 0]", "bands have to hold each of 0 to 4 hits once"),
        ("drop: [easy]", "drop: [esay]", "no band esay; there are easy, hard"),
        ("keep: {hits: ", "keep: {hist: ", "keep says hist; it takes hits or share"),
        ("value: 1}}", "value: 3}}", "<= 3 of 3 models is always so; no answer could change it"),
        ("grade: difficulty", "grade: difficulty, filter: blind-hits", "a stage is one of filter, grade, review"),
        (
            "{review: {reviewers: 2}}",
            "{name: nothing}",
            "a stage is one of filter, grade, review, select, harden; found none",
        ),
        ("grade: difficulty", "filter: difficulty", "write grade: difficulty"),
        ("filter: zero-pass", "grade: zero-pass", "write filter: zero-pass"),
        ("count: 5}", "count: 5, total: 7}", "say one of count (of each quota), total"),
        (
            "drop: [easy]",
            "drop: [easy], best_cut: [vqa], right: {vqa: {op: '>=', value: 1}}",
            "vqa stands under right",
        ),
        ("filter: zero-pass", "filter: zero-pass, best_cut: [vqa]", "has to be chosen by a grade"),
        ("filter: blind-hits", "filter: blind-hits, best_cut: [vqa]", "blind-hits has no use for best_cut"),
        ("count: 5}", "fraction: 0.5, by: information}", "information takes a panel of at least 9 models, not 0"),
    ],
)
def test_what_cannot_work(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert message in refused(tmp_path, changed(old, new))


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ({"filter": "probe"}, "which probe"),
        ({"filter": "probe", "probe": "malformd"}, 'did you mean "malformed"?'),
        ({"filter": "probe", "probe": "malformed", "panel": "p"}, "no model is asked"),
        ({"filter": "wrong-gold", "panel": "p"}, "keep has to say one of sound"),
        ({"filter": "leak", "panel": "p"}, 'did you mean "leaks"?'),
        ({"filter": "leaks", "panel": "p", "keep": {"hits": {"op": "<", "value": 1}}}, "no use for keep"),
        ({"filter": "blind-majority", "panel": "p"}, "keep says nothing; it takes hits or share"),
        ({"filter": "chance-aware", "panel": "p", "rate": 0}, "Expected `float` > 0"),
        ({"filter": "chance-aware", "panel": "p", "rate": 5}, "Expected `float` < 1"),
        ({"filter": "chance-aware", "panel": "p", "keep": {"hits": {"op": "<", "value": 1}}}, "no use for keep"),
    ],
)
def test_screens_are_checked_before_anybody_is_asked(tmp_path: Path, stage: dict[str, Any], message: str) -> None:
    text = yaml.safe_dump({"panels": {"p": {"size": 3}}, "stages": [stage]})
    assert message in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": no stages"),
        ("stages: []", ": no stages"),
        ("- a\n- b", ": Expected `object`, got `array`"),
        ("just words", ": Expected `object`, got `str`"),
        ("stages: {a: 1}", ", stages: Expected `array`, got `object`"),
        ("stages: [", " is not YAML: "),
        ("seed: 1\nseed: 2\nstages: []", ' is not YAML: "seed" stands there twice'),
        ("stages: [1]", ", stages 1: Expected `object`, got `int`"),
        ("stages: [null]", ", stages 1: Expected `object`, got `null`"),
    ],
)
def test_what_is_no_recipe_at_all(tmp_path: Path, text: str, message: str) -> None:
    assert refused(tmp_path, text).startswith(message)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"about: \xff\xfe\nstages: []")
    for read in (load_recipe, recipe_text):
        with pytest.raises(InputError, match=r"mine\.yaml is not"):
            read(str(path))


def test_a_name_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='no recipe "mmsatr"; did you mean "mmstar"\\?, or a file'):
        load_recipe("mmsatr")
    with pytest.raises(InputError, match="no recipe"):
        load_recipe(str(tmp_path))


def test_yaml_that_people_write(tmp_path: Path) -> None:
    """Numbers as names, anchors, comments, other line ends."""
    text = (
        "panels: {7: {size: 1, modality: no-image}}\r\nstages:\r\n  # one\r\n  - &s {filter: blind-hits, panel: '7',"
    )
    text += " keep: {hits: {op: '<', value: 1}}, name: 1st}\r\n"
    path = tmp_path / "mine.yaml"
    path.write_text(text, newline="")
    assert load_recipe(str(path)).stages[0].title == "1st"
