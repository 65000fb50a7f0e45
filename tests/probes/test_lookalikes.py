"""Many pictures are found by hashes: what comparing all with all finds, with work that grows as their number does."""

import runpy
from collections.abc import Callable

import numpy as np
import pytest

from eyetest.probes import lookalikes
from eyetest.probes.lookalikes import Floats, Ints, Thumbnail, promising_pairs
from tests.conftest import ROOT

made_up = runpy.run_path(str(ROOT / "speed/lookalikes.py"))["made_up"]


def pairs(thumbnails: list[Thumbnail]) -> set[tuple[int, int]]:
    found = promising_pairs(thumbnails, 24, 0.05, lambda share: None).tolist()
    assert all(one < other for one, other in found)
    assert len(found) == len({(one, other) for one, other in found})
    return {(one, other) for one, other in found}


def test_hashes_find_what_comparing_all_with_all_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    thumbnails, copies = made_up(2_000)
    everything = pairs(thumbnails)
    monkeypatch.setattr(lookalikes, "ALL_WITH_ALL", 1_000)
    monkeypatch.setattr(lookalikes, "_REACH", 64)
    monkeypatch.setattr(lookalikes, "_BLOCK", 32)
    hashed = pairs(thumbnails)
    assert copies <= everything
    assert copies <= hashed
    assert len(hashed & everything) >= 0.99 * len(everything)


def test_pictures_that_are_all_alike_cost_no_more_than_others(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    plain: Callable[[Floats, Ints, Ints, int], tuple[Ints, Floats]] = lookalikes._most_alike

    def counting(sketches: Floats, rows: Ints, window: Ints, count: int) -> tuple[Ints, Floats]:
        compared.append(len(rows) * len(window))
        return plain(sketches, rows, window, count)

    monkeypatch.setattr(lookalikes, "_most_alike", counting)
    monkeypatch.setattr(lookalikes, "ALL_WITH_ALL", 100)
    monkeypatch.setattr(lookalikes, "_REACH", 64)
    monkeypatch.setattr(lookalikes, "_BLOCK", 32)
    work = {}
    for count in (250, 500, 1_000):
        compared.clear()
        one = np.random.default_rng(1).standard_normal(256).astype(np.float32)
        near = lookalikes.nearest(np.tile(one / np.linalg.norm(one), (count, 1)), 24)
        assert near.shape == (count, 25)
        work[count] = sum(compared)
    assert work[1_000] < 2.3 * work[500] < 5.3 * work[250]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_few_pictures(count: int) -> None:
    picture = np.arange(32 * 32, dtype=np.uint8).reshape(32, 32)
    assert pairs([picture] * count) == ({(0, 1)} if count == 2 else set())
