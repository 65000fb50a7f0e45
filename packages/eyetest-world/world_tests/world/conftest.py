"""Two worlds that many tests look at: the default one, and one without flaws."""

from pathlib import Path
from typing import NamedTuple

import pytest
from eyetest_world import Rates, Truth, load_rates, new_world, read_truth

from eyetest.benchmarks import Benchmark
from eyetest.records import Item


class World(NamedTuple):
    """A world, read."""

    path: Path
    benchmark: Benchmark
    items: dict[str, Item]
    truths: dict[str, Truth]

    def with_flaw(self, flaw: str) -> list[Truth]:
        return [truth for truth in self.truths.values() if flaw in truth.flaws]


def make(path: Path, flaws: str | Rates, items: int, seed: int) -> World:
    rates = load_rates(flaws) if isinstance(flaws, str) else flaws
    benchmark = new_world(path, rates, items=items, seed=seed)
    return World(path, benchmark, {item.id: item for item in benchmark}, {one.item: one for one in read_truth(path)})


@pytest.fixture(scope="session")
def default_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make(tmp_path_factory.mktemp("worlds") / "default", "default", items=600, seed=7)


@pytest.fixture(scope="session")
def clean_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make(tmp_path_factory.mktemp("worlds") / "clean", "none", items=600, seed=7)
