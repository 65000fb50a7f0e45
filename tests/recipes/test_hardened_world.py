"""A drawn world through the whole of MMMU-Pro: four options, ten, one image; golds held to the scenes."""

import json
from pathlib import Path

import msgspec
import pytest
from eyetest_world import Truth, load_rates, new_world, read_truth
from world_tests.world.solving import solve

import eyetest as et
from eyetest.benchmarks import Benchmark
from eyetest.commands.gathering import gather
from eyetest.measures import MEASURES, Settings
from eyetest.measures.results import own_settings
from eyetest.models import parse_models
from eyetest.records import Condition, Item, Recipe
from eyetest.running import Asking, Session
from eyetest.runs import Run

pytestmark = pytest.mark.journey

RECIPE = {
    "panels": {"writer": {"size": 1}, "checker": {"size": 1}},
    "stages": [
        {"filter": "probe", "probe": "duplicate-items", "then": "drop"},
        {"harden": {"options": {"options": 10}}, "name": "ten-options", "writer": "writer", "checker": "checker"},
        {"review": {"reviewers": 1, "form": "mmmu-pro"}},
        {"review": {"reviewers": 2, "form": "mmmu-pro"}, "name": "second-review"},
        {"select": {"total": 12}},
        {"harden": {"screenshot": {"look": "screen"}}},
    ],
}
SETTINGS = ("benchmark", "ten-options", "screenshot")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hardened")
    bench = new_world(folder / "world", load_rates("default"), items=110, seed=23)
    recipe = msgspec.convert(RECIPE, Recipe)
    et.refine(bench, recipe=recipe, to=folder / "pro", models=["embedded:kite-l"], skip_review=True)
    return folder


def right_by_the_scene(item: Item, truth: Truth) -> set[str]:
    """The options that a solver which sees nothing but scene and question calls right."""
    if truth.shown != truth.kind:  # the image of another question shows nothing of this one
        return set()
    return {choice.text for choice in item.choices} & solve(truth.kind, json.loads(truth.scene), item.question)


def test_golds_stay_and_no_new_option_is_right(world: Path) -> None:
    truths = {truth.item: truth for truth in read_truth(world / "world")}
    few, ten, shot = (Benchmark(world / "pro" / name) for name in SETTINGS)
    grown = 0
    for item in few:
        more, drawn = ten[item.id], shot[item.id]
        golds = [[one.choices[n].text for n in one.gold] for one in (item, more, drawn)]
        assert golds[0] == golds[1] == golds[2] == [item.choices[ord(truths[item.id].gold) - ord("A")].text]
        assert [choice.text for choice in more.choices] == [choice.text for choice in drawn.choices]
        assert right_by_the_scene(more, truths[item.id]) <= {choice.text for choice in item.choices}
        grown += len(more.choices) > len(item.choices)
        assert len(drawn.images) == 1
    assert len(few) == 12
    assert grown >= len(few) / 3


def test_settings_are_asked_and_shown_on_one_page(world: Path) -> None:
    """A bird that answers in words can take ten options: its letters beyond D were in no training."""
    runs = []
    for name in ("benchmark", "ten-options"):
        asking = Asking(conditions=(Condition(modality="image"), Condition(modality="no-image")))
        session = Session(Benchmark(world / "pro" / name), parse_models(["kite-l=embedded:kite-l"]), asking)
        session.run(world / f"run-{name}")
        runs.append(Run(world / f"run-{name}"))
    results = gather(runs)
    linked = MEASURES["linked"]
    table, steps = (
        linked.measure(results, Settings(own=own_settings(linked, {"over": over}))).table for over in ("", "no-image")
    )
    (row,) = table.to_dicts()
    assert row["delta1_low"] <= row["delta1"] <= row["delta1_high"]
    assert row["paired"]
    steps = steps.filter(model="all models")
    assert steps["step"].to_list() == ["few options", "ten options"]
    assert steps["guessing"][1] < steps["guessing"][0], "guessing falls with more options"
    et.report(runs, page=world / "page.html", gallery=1)
    assert "Right with few options, wrong with ten" in (world / "page.html").read_text("utf-8")
