"""A benchmark drawn again: the golds are found again from the scenes, by somebody who did not draw them."""

import json
from pathlib import Path

import msgspec
import polars as pl
import pytest
from eyetest_world import load_rates, new_world
from eyetest_world.editions import EditionScene, EditionSettings, draw_again

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Lineage, Manifest
from eyetest.tabular.record_files import write_records
from tests.conftest import ROOT, png
from tests.runs.written import content
from tests.support.command import call
from world_tests.world.solving import solve

pytestmark = pytest.mark.journey

ITEMS = 108


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return new_world(tmp_path_factory.mktemp("editions") / "world", load_rates("default"), items=ITEMS, seed=3)


def right_by(scene: dict[str, object], item: Item) -> set[str]:
    found = solve(item.tags["task"], scene, item.question)
    return {choice.text for choice in item.choices if choice.text in found}


def marked(item: Item) -> set[str]:
    return {item.choices[index].text for index in item.gold}


def test_an_edition_has_the_same_ids_and_kinds_and_only_right_golds(world: Benchmark, tmp_path: Path) -> None:
    done = draw_again(world, tmp_path / "new", EditionSettings(seed=1))
    write_records(done.scenes, EditionScene, tmp_path / "scenes.parquet", overwrite=False)
    scenes = dict(pl.read_parquet(tmp_path / "scenes.parquet").select("item", "scene").iter_rows())
    before = {item.id: item for item in world}
    facts = {name for name, item in before.items() if item.tags["task"] == "fact"}
    items = list(done.benchmark)
    assert {item.id for item in items} == set(before) - facts
    assert done.refused == {"it asks for a fact that no image shows": len(facts)}
    for item in items:
        assert item.tags == before[item.id].tags
        assert item.images != before[item.id].images
        assert item.lineage[-1] == Lineage(step="renew", source="world", item=item.id, seed=1)
        assert right_by(json.loads(scenes[item.id]), item) == marked(item), item.id
    assert done.benchmark.manifest.lineage[-1].seed == 1


def test_same_seed_same_bytes_other_seed_other_scenes(tmp_path: Path) -> None:
    world = new_world(tmp_path / "world", load_rates("none"), items=18, seed=4)
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        draw_again(world, tmp_path / name, EditionSettings(seed=seed))
        draw_again(world, tmp_path / f"{name}-twins", EditionSettings(twins=3, seed=seed, fresh=True))

    for end in ("", "-twins"):
        one, same, other = (content(tmp_path / f"{name}{end}") for name in "abc")
        assert one == same != other


def test_a_twin_has_the_same_words_and_another_right_option(world: Benchmark, tmp_path: Path) -> None:
    done = draw_again(world, tmp_path / "twins", EditionSettings(twins=3, seed=1))
    scenes = {one.item: json.loads(one.scene) for one in done.scenes}
    items = {item.id: item for item in done.benchmark}
    twins = [item for item in items.values() if item.tags["edition"] == "twin"]
    assert len(items) == done.items + len(twins)
    of = {item.id: [twin for twin in twins if twin.group == item.id] for item in items.values() if not item.group}
    for name, own in of.items():
        wrong = len(items[name].choices) - 1
        assert {twin.id for twin in own} == {f"{name}-twin{end}" for end in ("", "-2", "-3")[:wrong]}
        assert len({items[name].gold, *(twin.gold for twin in own)}) == 1 + len(own)
    assert done.items + sum(done.refused.values()) == ITEMS
    assert done.items > 0.7 * ITEMS
    assert "its words tell the answer: the longest option is right" in done.refused
    for twin in twins:
        original = items[twin.group]
        texts = [choice.text for choice in twin.choices]
        assert (twin.question, texts) == (original.question, [choice.text for choice in original.choices])
        assert not marked(twin) & marked(original)
        assert twin.images != original.images
        assert right_by(scenes[twin.id], twin) == marked(twin), twin.id
        assert msgspec.structs.replace(original, tags=dict(list(original.tags.items())[:-1])) == world[original.id]
        assert twin.lineage[-1].step == "twin"


@pytest.fixture
def dots(tmp_path: Path) -> Benchmark:
    with BenchmarkWriter(tmp_path / "dots", Manifest(name="dots")) as writer:
        image = writer.images.put(png())
        for number in range(3, 6):
            choices = tuple(Choice(str(n), n == number) for n in range(2, 7))
            tags = {"kind": "dots"}
            writer.add(Item(id=str(number), question="How many dots?", images=(image,), choices=choices, tags=tags))
    return Benchmark(tmp_path / "dots")


def test_the_generator_that_the_documentation_shows_works(dots: Benchmark, tmp_path: Path) -> None:
    file = tmp_path / "dots.py"
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("### A generator")[2]
    file.write_text(section.partition("```python\n")[2].partition("```")[0])
    renew = ("harden", "renew", dots.path, "--generator", file)
    assert "3 of 3 items drawn again" in call(*renew, "--to", tmp_path / "new").fine()
    call(*renew, "--twins", "3", "--to", tmp_path / "twins", "--scenes", tmp_path / "scenes.csv").fine()
    shown = pl.read_csv(tmp_path / "scenes.csv")
    for item in Benchmark(tmp_path / "twins"):
        if item.group:
            (scene,) = shown.filter(pl.col("item") == item.id).get_column("scene")
            assert marked(item) == {str(len(json.loads(scene)["at"]))} != {item.group}
    few = (*renew, "--to", tmp_path / "few", "--twins")
    call(*few, "1").fine()
    twins = [item for item in Benchmark(tmp_path / "few") if item.group]
    assert [item.id for item in twins] == ["3-twin", "4-twin", "5-twin"]
    assert "--twins: found -1" in call(*few, "-1").refused()
