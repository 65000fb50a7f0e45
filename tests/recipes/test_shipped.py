"""The recipes that come with eyetest are the papers' methods, number by number; and they run."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.recipes.hardening import settings_of
from eyetest.recipes.listing import recipe_names, recipe_text
from eyetest.recipes.loading import load_recipe
from eyetest.records import Choice, Cut, Item, Manifest, Panel, Recipe, Stage
from tests.conftest import png
from tests.recipes.benches import counts, write_yaml
from tests.runs.conftest import Eyetest

pytestmark = pytest.mark.journey

EXPECTED: dict[str, list[dict[str, Any]]] = {
    "mmstar": [
        {"filter": "blind-hits", "keep": {"hits": {"op": "<=", "value": 2}}},
        {"grade": "difficulty", "bands": {"easy": [12, 16], "moderate": [8, 11], "hard": [4, 7], "tough": [0, 3]}},
        {"review": {"reviewers": 3}},
        {"select": {"per": "core", "count": 250, "balance": ["axis", "difficulty"]}},
    ],
    "mmmu-pro": [
        {"answers": {"op": ">", "value": 5}, "keep": {"hits": {"op": "<", "value": 3}}},
        {"select": {"per": "subject", "count": 60}},
        {"name": "ten-options", "harden": {"options": {"options": 10}}},
        {"name": "first-review", "review": {"form": "mmmu-pro"}},
        {"review": {"reviewers": 2}},
        {"harden": {"screenshot": {"look": "all"}}},
    ],
    "lime": [
        {"bands": {"easy": [6, 9], "middle": [3, 5], "hard": [0, 2]}, "drop": ["easy"]},
        {"filter": "zero-pass", "judge": "judges", "right": {"vqa": {"op": ">=", "value": 0.6}}},
        {"keep": {"share": {"op": "<", "value": 0.5}}, "right": {"bleu-4": {"op": ">=", "value": 0.2}}},
        {"select": {"per": "task", "count": 1200, "proportional": ["difficulty"], "short": "keep-all"}},
    ],
    "lime-code": [{"bands": {"easy": [5, 9], "middle": [3, 4], "hard": [0, 2]}}],
}
"""Settings of the papers' methods, stage by stage."""
PANELS = {"mmstar": (8, 1), "mmmu-pro": (4, 10), "chance-aware": (4, 1)}


def holds(found: Any, expected: Any) -> bool:
    """Whether the settings are as expected; others may stand beside them."""
    if isinstance(expected, dict):
        return all(name in found and holds(found[name], value) for name, value in expected.items())
    return bool(found == expected)


@pytest.mark.parametrize("name", EXPECTED)
def test_stages_are_those_of_the_paper(name: str) -> None:
    recipe = msgspec.json.decode(msgspec.json.encode(load_recipe(name)))
    for stage, expected in zip(recipe["stages"], EXPECTED[name], strict=name != "lime-code"):
        assert holds(stage, expected), stage
    if name in PANELS:
        panel = load_recipe(name).panels["inspectors"]
        assert (panel.size, panel.samples) == PANELS[name]


def named(recipe: Recipe, name: str) -> Stage:
    return next(stage for stage in recipe.stages if stage.title == name)


def test_mmstar() -> None:
    recipe = load_recipe("mmstar")
    assert recipe.panels == {
        "inspectors": Panel(size=8, modality="no-image", shots="two"),
        "contestants": Panel(size=16, modality="image"),
    }
    assert [stage.title for stage in recipe.stages] == ["blind-hits", "difficulty", "review", "select"]
    assert named(recipe, "blind-hits").keep == {"hits": Cut(op="<=", value=2)}
    bands = {"easy": (12, 16), "moderate": (8, 11), "hard": (4, 7), "tough": (0, 3)}
    assert named(recipe, "difficulty").bands == bands
    assert named(recipe, "difficulty").drop == ()
    review, select = named(recipe, "review").review, named(recipe, "select").select
    assert review
    assert select
    assert review.reviewers == 3
    assert (select.per, select.count, select.balance, select.short) == ("core", 250, ("axis", "difficulty"), "refuse")
    assert recipe.rescale == {}


def test_mmmu_pro() -> None:
    recipe = load_recipe("mmmu-pro")
    panel = recipe.panels["inspectors"]
    assert (panel.size, panel.samples, panel.orders, panel.modality) == (4, 10, 1, "no-image-guess")
    assert panel.sampling["temperature"] > 0, "ten samples at temperature 0 are one"
    stage = named(recipe, "blind-hits")
    assert (stage.answers, stage.keep) == (Cut(op=">", value=5), {"hits": Cut(op="<", value=3)})
    select = named(recipe, "select").select
    assert select
    assert (select.per, select.count) == ("subject", 60)
    assert [stage.title for stage in recipe.stages[2:]] == [
        "ten-options",
        "first-review",
        "second-review",
        "screenshot",
    ]
    grow, *reviews, shot = recipe.stages[2:]
    assert settings_of(grow).options == 10
    assert settings_of(shot).look == "all"
    assert [stage.review.reviewers for stage in reviews if stage.review] == [1, 2]


@pytest.mark.parametrize(("name", "easy", "middle"), [("lime", (6, 9), (3, 5)), ("lime-code", (5, 9), (3, 4))])
def test_lime(name: str, easy: tuple[int, int], middle: tuple[int, int]) -> None:
    recipe = load_recipe(name)
    assert recipe.panels["contestants"] == Panel(size=9, modality="image")
    assert [stage.title for stage in recipe.stages] == ["difficulty", "zero-pass", "blind-hits", "select"]
    graded = named(recipe, "difficulty")
    assert graded.bands == {"easy": easy, "middle": middle, "hard": (0, 2)}
    assert graded.drop == ("easy",)
    thresholds = {"any": Cut(op=">=", value=1), "vqa": Cut(op=">=", value=0.6), "bleu-4": Cut(op=">=", value=0.2)}
    assert graded.right == named(recipe, "zero-pass").right == thresholds
    assert named(recipe, "zero-pass").judge == "judges"
    assert named(recipe, "blind-hits").right == thresholds
    assert named(recipe, "blind-hits").keep == {"share": Cut(op="<", value=0.5)}
    select = named(recipe, "select").select
    assert select
    assert (select.per, select.count, select.proportional, select.short) == (
        "task",
        1200,
        ("difficulty",),
        "keep-all",
    )


def test_the_two_limes_differ_in_nothing_but_their_bands() -> None:
    paper, code = load_recipe("lime"), load_recipe("lime-code")
    assert paper.panels == code.panels
    assert paper.stages[1:] == code.stages[1:]
    assert recipe_text("lime") != recipe_text("lime-code")


def test_chance_aware_and_information() -> None:
    panel = load_recipe("chance-aware").panels["inspectors"]
    assert (panel.size, panel.orders, panel.samples, panel.held_out) == (4, 10, 1, 1)
    assert load_recipe("chance-aware").stages[0].rate == 0.05
    select = load_recipe("information").stages[0].select
    assert select
    assert (select.fraction, select.by) == (0.5, "information")


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eyetest: Eyetest) -> None:
    """With as many scripted models as its panels have seats; quotas as small as the benchmark."""
    monkeypatch.chdir(tmp_path)
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b")) as writer:
        image = writer.images.put(png())
        for number in range(24):
            choices = tuple(Choice(f"option {place}", place == number % 4) for place in range(4))
            tags = {"core": "xy"[number % 2], "axis": "pqr"[number % 3], "subject": "s", "task": "t"}
            item = Item(id=f"q{number}", question=f"Which is {number}?", choices=choices, images=(image,), tags=tags)
            writer.add(item)
    recipe = msgspec.to_builtins(load_recipe(name))
    for stage in recipe["stages"]:
        if "count" in stage.get("select", {}):
            stage["select"] |= {"count": 2, "short": "keep-all"}
    write_yaml(tmp_path / "recipe.yaml", recipe)
    models: dict[str, str] = {}
    who: list[str] = []
    for panel, found in load_recipe(name).panels.items():
        seats = [f"{panel}{number}" for number in range(found.size + found.held_out)]
        models |= {seat: f"scripted:right=0.45,blind=0.25,seed={len(models) + n}" for n, seat in enumerate(seats)}
        who += ["--panel", f"{panel}={','.join(seats)}"]
    write_yaml(tmp_path / "models.yaml", models)
    usual = ("refine", "b", "--recipe", "recipe.yaml", "--models", "models.yaml", "--to", "d", "--skip-review")
    eyetest(*usual, *who).fine()
    found_counts = counts(tmp_path / "d")
    assert [stage for stage, _ in found_counts] == [stage.title for stage in load_recipe(name).stages]
    assert len(Benchmark(tmp_path / "d/benchmark")) == found_counts[load_recipe(name).stages[-1].title, ""][1] > 0
