"""The recipes that come with eyetest are the papers' methods, number by number; and they run."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.recipes.listing import recipe_names, recipe_text
from eyetest.recipes.loading import load_recipe
from eyetest.records import Choice, Item, Manifest, Panel
from tests.conftest import png
from tests.recipes.benches import counts, write_yaml
from tests.support.command import call

pytestmark = pytest.mark.journey

THRESHOLDS = {
    "any": {"op": ">=", "value": 1},
    "vqa": {"op": ">=", "value": 0.6},
    "bleu-4": {"op": ">=", "value": 0.2},
}
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
    ],
    "lime": [
        {"bands": {"easy": [6, 9], "middle": [3, 5], "hard": [0, 2]}, "drop": ["easy"], "right": THRESHOLDS},
        {"filter": "zero-pass", "judge": "judges", "right": THRESHOLDS},
        {"filter": "blind-hits", "keep": {"share": {"op": "<", "value": 0.5}}, "right": THRESHOLDS},
        {"select": {"per": "task", "count": 1200, "proportional": ["difficulty"], "short": "keep-all"}},
    ],
    "lime-code": [{"bands": {"easy": [5, 9], "middle": [3, 4], "hard": [0, 2]}}],
    "chance-aware": [{"filter": "chance-aware", "rate": 0.05}],
}
"""Settings of the papers' methods, stage by stage."""
PANELS = {
    "mmstar": {"inspectors": Panel(size=8, modality="no-image", shots="two"), "contestants": Panel(size=16)},
    "lime": {"contestants": Panel(size=9)},
    "chance-aware": {"inspectors": Panel(size=4, modality="no-image-guess", orders=10, held_out=1)},
    "mmmu-pro": {"inspectors": Panel(size=4, modality="no-image-guess", samples=10, sampling={"temperature": 0.7})},
}


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
    assert load_recipe(name).panels.items() >= PANELS.get(name, {}).items()


def test_the_two_limes_differ_in_nothing_but_their_bands() -> None:
    paper, code = load_recipe("lime"), load_recipe("lime-code")
    assert paper.panels == code.panels
    assert paper.stages[1:] == code.stages[1:]
    assert recipe_text("lime") != recipe_text("lime-code")


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_runs(name: str, workdir: Path) -> None:
    """With as many scripted models as its panels have seats; quotas as small as the benchmark."""
    with BenchmarkWriter(workdir / "b", Manifest(name="b")) as writer:
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
    write_yaml(workdir / "recipe.yaml", recipe)
    models: dict[str, str] = {}
    who: list[str] = []
    for panel, found in load_recipe(name).panels.items():
        seats = [f"{panel}{number}" for number in range(found.size + found.held_out)]
        models |= {seat: f"scripted:right=0.45,blind=0.25,seed={len(models) + n}" for n, seat in enumerate(seats)}
        who += ["--panel", f"{panel}={','.join(seats)}"]
    write_yaml(workdir / "models.yaml", models)
    usual = ("refine", "b", "--recipe", "recipe.yaml", "--models", "models.yaml", "--to", "d", "--skip-review")
    call(*usual, *who).fine()
    found_counts = counts(workdir / "d")
    assert list(found_counts) == [stage.title for stage in load_recipe(name).stages]
    assert len(Benchmark(workdir / "d/benchmark")) == found_counts[load_recipe(name).stages[-1].title][1] > 0
