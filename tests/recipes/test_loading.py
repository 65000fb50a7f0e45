"""Recipes that cannot work are refused in one line, and benchmarks give the tags that a recipe needs."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from eyetest.errors import InputError
from eyetest.recipes.listing import list_recipes, needed_tags
from eyetest.recipes.loading import load_recipe, with_settings
from tests.support.refusals import refusal

pytestmark = pytest.mark.journey

GOOD = """
panels:
  inspectors: {size: 3, modality: no-image, models: [a, b, c]}
  contestants: {size: 4}
  judges: {size: 1}
stages:
  - {filter: blind-hits, panel: inspectors, keep: {hits: {op: "<=", value: 1}}}
  - {grade: difficulty, panel: contestants, bands: {easy: [3, 4], hard: [0, 2]}, drop: [easy]}
  - {filter: zero-pass, panel: contestants, judge: judges}
  - {review: {reviewers: 2}}
  - {select: {per: core, count: 5}}
"""


def refused(tmp_path: Path, text: str) -> str:
    """The error about a recipe: one line that begins with the file."""
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    message = refusal(load_recipe, str(path))
    assert message.startswith(str(path)), message
    return message.removeprefix(str(path))


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("stages:", "stage:", ': no setting "stage"; did you mean "stages"?'),
        ("{size: 4}", "{size: 4, modalty: blind}", ', panels: no setting "modalty"; did you mean "modality"?'),
        ("keep: {hits", "kep: {hits", ', stages 1: no setting "kep"; did you mean "keep"?'),
        ("value: 1}}", "vaule: 1}}", ', stages 1, keep: no setting "vaule"; did you mean "value"?'),
        ("{size: 4}", "{size: 0}", ", panels, size: expected a whole number of at least 1"),
        ("modality: no-image,", "modality: blnd,", ", panels, modality: no value 'blnd'; known: "),
        (
            "panel: inspectors",
            "panel: inspector",
            ': the stage blind-hits: no panel "inspector"; did you mean "inspectors"?',
        ),
        ("panel: inspectors, ", "", ": the stage blind-hits: it does not say which panel answers"),
        ("filter: blind-hits", "filter: blind-hit", 'no filter named "blind-hit"; did you mean "blind-hits"?'),
        ("filter: zero-pass", "filter: blind-hits", '2 stages are called "blind-hits"'),
        ("count: 5}", "count: 5}, rate: 0.1", "select has no use for rate (it knows"),
        ("hard: [0, 2]", "hard: [0, 1]", "bands have to hold each of 0 to 4 hits once"),
        ("drop: [easy]", "drop: [esay]", "no band esay; there are easy, hard"),
        ("keep: {hits: ", "keep: {hist: ", "keep says hist; it takes hits or share"),
        ("value: 1}}", "value: 3}}", "at most 3 of 3 models is always so; no answer could change it"),
        ("grade: difficulty", "grade: difficulty, filter: blind-hits", "a stage is one of filter, grade, review"),
        ("grade: difficulty", "filter: difficulty", "write grade: difficulty"),
        ("  - {select:", "  - {review: {}, name: again}\n  - {select:", "a recipe has one review stage"),
        ("count: 5}", "count: 5, total: 7}", "say one of count (of each quota), total"),
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
        ({"filter": "wrong-gold", "panel": "p"}, "keep has to say sound"),
        ({"filter": "chance-aware", "panel": "p", "rate": 0}, "expected a number above 0"),
    ],
)
def test_filters_are_checked_before_a_model_is_asked(tmp_path: Path, stage: dict[str, Any], message: str) -> None:
    text = yaml.safe_dump({"panels": {"p": {"size": 3}}, "stages": [stage]})
    assert message in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": no stages"),
        ("- a\n- b", ": found a list, expected names with values"),
        ("stages: [", " is not YAML: "),
        ("seed: 1\nseed: 2\nstages: []", ' is not YAML: "seed" stands there twice'),
        ("stages: [1]", ", stages 1: found 1, expected names with values"),
    ],
)
def test_what_is_no_recipe_at_all(tmp_path: Path, text: str, message: str) -> None:
    assert refused(tmp_path, text).startswith(message)


def test_a_name_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='no recipe "mmsatr"; did you mean "mmstar"\\?, or a file'):
        load_recipe("mmsatr")
    with pytest.raises(InputError, match="no recipe"):
        load_recipe(str(tmp_path))


PAPERS = {
    "mmstar": [("core", True), ("axis", True)],
    "mmmu-pro": [("subject", False)],
    "lime": [("task", False)],
    "chance-aware": [],
}


@pytest.mark.parametrize("name", PAPERS)
def test_what_recipes_need(name: str) -> None:
    """Difficulty is none of it: the recipe grades it itself."""
    assert [(tag.name, tag.asked) for tag in needed_tags(load_recipe(name))] == PAPERS[name]
    listed = next(tags for known, _, tags in list_recipes() if known == name)
    assert all(tag in listed for tag, _ in PAPERS[name])


def test_values_of_a_recipe_without_copying_it() -> None:
    recipe = load_recipe("mmstar")
    given = {"select.count": "50", "blind-hits.keep.hits": 1, "inspectors.samples": "3", "review.reviewers": "1"}
    changed = with_settings(
        recipe, given | {"difficulty.bands.easy": "[11, 16]", "difficulty.bands.moderate": [8, 10]}
    )
    blind, difficulty, review, select = changed.stages
    assert select.select
    assert review.review
    assert (select.select.count, review.review.reviewers, changed.panels["inspectors"].samples) == (50, 1, 3)
    assert (blind.keep["hits"].op, blind.keep["hits"].value) == ("<=", 1)
    assert difficulty.bands == recipe.stages[1].bands | {"easy": (11, 16), "moderate": (8, 10)}
    assert with_settings(recipe, {}) is recipe
    total = with_settings(recipe, {"select.total": "300"}).stages[-1].select
    assert total
    assert (total.total, total.count, total.balance) == (300, None, ("axis", "difficulty"))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("selec.count", "50", "--set selec.count: no stage or panel 'selec'; did you mean \"select\"?"),
        ("select.cuont", "50", '--set select.cuont: no setting "cuont"; did you mean "count"?'),
        ("select", "50", "--set select: that is no value; expected STAGE.KEY=VALUE"),
        ("select.count.x", "50", "--set select.count.x: that is no value"),
        ("select.count", "many", "--set select.count: found 'many', expected a whole number"),
        ("select.count", "0", "--set select.count: found 0, expected a whole number of at least 1"),
    ],
)
def test_values_that_no_recipe_has(path: str, value: str, message: str) -> None:
    assert refusal(with_settings, load_recipe("mmstar"), {path: value}).startswith(message)
