"""A drawn world through MMMU-Pro's settings: four options, ten, one image; golds held to the scenes."""

import json
from pathlib import Path

import pytest
from eyetest_world import Truth, load_rates, new_world, read_truth
from world_tests.world.solving import solve

import eyetest as et
from eyetest.benchmarks import Benchmark
from eyetest.records import Item

pytestmark = pytest.mark.journey


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hardened")
    bench = new_world(folder / "world", load_rates("default"), items=60, seed=23)
    et.harden_options(bench, to=folder / "ten")
    et.harden_screenshot(folder / "ten/benchmark", to=folder / "screenshot")
    return folder


def right_by_the_scene(item: Item, truth: Truth) -> set[str]:
    """The options that a solver which sees nothing but scene and question calls right."""
    if truth.shown != truth.kind:  # the image of another question shows nothing of this one
        return set()
    return {choice.text for choice in item.choices} & solve(truth.kind, json.loads(truth.scene), item.question)


def test_golds_stay_and_no_new_option_is_right(world: Path) -> None:
    truths = {truth.item: truth for truth in read_truth(world / "world")}
    few, ten, shot = (Benchmark(world / name) for name in ("world/benchmark", "ten/benchmark", "screenshot"))
    grown = 0
    for item in few:
        more, drawn = ten[item.id], shot[item.id]
        golds = [[one.choices[n].text for n in one.gold] for one in (item, more, drawn)]
        assert golds[0] == golds[1] == golds[2]
        assert [choice.text for choice in more.choices] == [choice.text for choice in drawn.choices]
        assert right_by_the_scene(more, truths[item.id]) <= {choice.text for choice in item.choices}
        grown += len(more.choices) > len(item.choices)
        assert len(drawn.images) == 1
    assert grown >= len(few) / 3
