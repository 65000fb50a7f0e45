"""Which tags recipes need, and how a benchmark that calls them otherwise gives them."""

from pathlib import Path

import msgspec
import polars as pl
import pytest

import eyetest as et
from eyetest.errors import InputError
from eyetest.recipes.listing import list_recipes, needed_tags
from eyetest.recipes.loading import load_recipe, map_tags, parse_map_tags, refuse_missing_tags
from eyetest.records import Recipe
from tests.recipes.benches import make_bench
from tests.runs.conftest import eyetest as eyetest

PAPERS = {
    "mmstar": [("core", True), ("axis", True)],
    "mmmu-pro": [("subject", False)],
    "lime": [("task", False)],
    "chance-aware": [],
}
SELECT = {"stages": [{"select": {"per": "core", "count": 2, "balance": ["axis"], "short": "keep-all"}}]}


@pytest.mark.parametrize("name", PAPERS)
def test_what_recipes_need(name: str) -> None:
    """Difficulty is none of it: the recipe grades it itself."""
    assert [(tag.name, tag.asked) for tag in needed_tags(load_recipe(name))] == PAPERS[name]
    listed = next(one.tags for one in list_recipes() if one.name == name)
    assert all(tag in listed for tag, _ in PAPERS[name])


def test_a_missing_tag_is_told_with_those_there_are(tmp_path: Path) -> None:
    items = list(make_bench(tmp_path / "b", 4))
    with pytest.raises(InputError) as caught:
        refuse_missing_tags(load_recipe("mmmu-pro"), items)
    said = str(caught.value)
    assert "the stage select needs the tag subject, which the benchmark has not; its tags are core, number;" in said
    assert "--map-tags subject=TAG" in said
    refuse_missing_tags(map_tags(load_recipe("mmmu-pro"), {"subject": "core"}), items)


def test_the_task_of_a_screen_is_given_like_any_tag() -> None:
    stage = {"filter": "wrong-gold", "panel": "p", "keep": {"sound": {"op": ">=", "value": 0.5}}}
    recipe = msgspec.convert({"panels": {"p": {"size": 2}}, "stages": [stage]}, Recipe)
    assert needed_tags(recipe) == [], "it does without"
    assert map_tags(recipe, {"task": "category"}).stages[0].task == "category"
    assert map_tags(map_tags(recipe, {"task": "a"}), {"a": "b"}).stages[0].task == "b"
    assert map_tags(recipe, {}) == recipe


def test_the_benchmarks_own_tags_are_spread_over(tmp_path: Path) -> None:
    make_bench(tmp_path / "b", 12)
    recipe = msgspec.convert(SELECT, Recipe)
    refined = et.refine(
        tmp_path / "b",
        recipe=recipe,
        models={"m": "scripted:right=1"},
        to=tmp_path / "d",
        map_tags={"core": "number", "axis": "core"},
    )
    assert len(refined.benchmark) == 12, "a quota for each number"
    assert set(pl.read_csv(tmp_path / "d/funnel.csv").get_column("stage")) == {"select"}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("cor=category", 'the recipe uses no tag "cor"; did you mean "core"?'),
        ("core", "takes TAG=TAG pairs, such as core=category"),
        ("core=", "core is which tag of the benchmark?"),
        ("core=number,axis=number", '"number" is named 2 times'),
    ],
)
def test_what_cannot_be_mapped_is_told(said: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        map_tags(msgspec.convert(SELECT, Recipe), parse_map_tags([said]))
    assert message in str(caught.value)
