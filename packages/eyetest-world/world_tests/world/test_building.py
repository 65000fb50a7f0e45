import re
from pathlib import Path

import msgspec
import pytest
from eyetest_world import FLAWS, load_rates, new_world
from eyetest_world.scenes import KINDS

from eyetest.benchmarks import Benchmark
from eyetest.records import check, letter
from tests.conftest import ROOT
from tests.runs.written import content
from tests.support.command import call
from world_tests.world.conftest import World
from world_tests.world.solving import SOLVERS, solve


def test_the_same_command_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        new_world(tmp_path / name, load_rates("default"), items=90, seed=3)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert len(content(tmp_path / "one")) > 80


def test_items_are_well_formed_and_none_says_what_another_says(default_world: World, clean_world: World) -> None:
    for world in (default_world, clean_world):
        assert [len(item.gold) for item in world.items.values()] == [1] * 600
        for item in world.items.values():
            check(item)
    twice = {truth.item for truth in default_world.with_flaw("exact-duplicate")}
    for world in (default_world, clean_world):
        questions = [item.question for item in world.items.values() if item.id not in twice or world is clean_world]
        assert len(set(questions)) == len(questions)


@pytest.mark.parametrize("which", ["default_world", "clean_world"])
def test_the_truth_follows_from_the_images(which: str, request: pytest.FixtureRequest) -> None:
    """Every answer is found again from what is drawn, by other code than that which posed the question."""
    world: World = request.getfixturevalue(which)
    assert set(SOLVERS) == set(KINDS)
    for truth in world.truths.values():
        item = world.items[truth.item]
        if "impossible" in truth.flaws:
            continue
        found = solve(truth.kind, msgspec.json.decode(truth.scene), item.question)
        plain = [choice.text.partition(",")[0] for choice in item.choices]
        right = tuple(letter(place) for place, text in enumerate(plain) if text in found)
        assert right == truth.right, truth
        assert truth.gold_before in right
        assert letter(item.gold[0]) == truth.gold
        assert (truth.gold in right) == ("wrong-gold" not in truth.flaws)
        assert len(right) == 1 + ("two-right-options" in truth.flaws)


def test_the_benchmark_says_nothing_about_its_flaws(default_world: World) -> None:
    assert {frozenset(item.tags) for item in default_world.items.values()} == {frozenset({"core", "axis", "task"})}
    assert min(content(default_world.path / "benchmark")) == "benchmark.json"
    assert sorted(path.name for path in default_world.path.iterdir()) == [
        *("benchmark", "facts.jsonl", "leaks.jsonl", "truth.parquet", "world.json")
    ]


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("rates: {wrong-gold: 0.5}\n")
    to = tmp_path / "world"
    said = call(
        "world", "new", "--item-count", 40, "--flaws", tmp_path / "mine.yaml", "--size", 64, "--to", to
    ).fine()
    assert "40 items, 20 of them with an error" in said
    image = next(iter(Benchmark(to / "benchmark"))).images[0]
    assert (image.width, image.height) == (64, 64)
    assert "already there" in call("world", "new", "--item-count", 40, "--to", to).refused()
    call("world", "new", "--item-count", 40, "--to", to, "--overwrite").fine()
    assert "did you mean" in call("world", "nwe").refused()
    assert "--to DIR" in call("world", "new").refused()
    assert "18 to 100000 items" in call("world", "new", "--item-count", 5, "--to", tmp_path / "x").refused()
    for text, told in (("rates: {wrong-golds: 0.1}", "did you mean"), ("rates: {impossible: 2}", "impossible"),
                       ("rates: {leaked-to-lvlms: 0.1}", "groups"), ("rats: {}", "did you mean"),
                       ("rates: {impossible: 0.6, wrong-gold: 0.6}", "more than all"),
                       ("rates: {exact-duplicate: 0.7}", "more duplicates")):  # fmt: skip
        (tmp_path / "bad.yaml").write_text(text)
        assert told in call("world", "new", "--flaws", tmp_path / "bad.yaml", "--to", tmp_path / "y").refused()
    assert "default" in call("world", "new", "--flaws", "defaults", "--to", tmp_path / "y").refused()


def test_the_page_shows_rates_and_every_flaw(tmp_path: Path) -> None:
    page = (ROOT / "docs/world.md").read_text()
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "mine.yaml").write_text(example)
    load_rates(str(tmp_path / "mine.yaml"))
    assert all(f"`{flaw}`" in page for flaw in FLAWS)
