"""What screens do to a benchmark with nothing wrong, whose readers have tastes and know nothing."""

import csv
from pathlib import Path

import numpy as np
import pytest

from eyetest.benchmarks import Benchmark
from tests.filters.simulated import TASTES
from tests.recipes.benches import by_item
from tests.support.command import call

pytestmark = pytest.mark.journey


def write_guesses(bench: Benchmark, taste: str, to: Path) -> None:
    """Four readers, ten answers each, of which each follows the reader's taste for contents."""
    rng = np.random.default_rng(5)
    with to.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("item", "model", "modality", "sample", "text"))
        for item in bench:
            likely = TASTES[taste](rng, 1, 4, len(item.choices))[0]
            for reader, own in enumerate(likely):
                for sample, place in enumerate(rng.choice(len(own), size=10, p=own / own.sum())):
                    rows.writerow((item.id, f"reader-{reader}", "no-image-guess", sample, "ABCDEFGHIJ"[place]))


@pytest.mark.parametrize("taste", ["leaning", "beliefs on a tenth"])
def test_a_drawn_world_without_flaws_is_kept(workdir: Path, taste: str) -> None:
    call("world", "new", "--to", "w", "--item-count", "240", "--seed", "91", "--flaws", "none").fine()
    bench = Benchmark(workdir / "w/benchmark")
    write_guesses(bench, taste, workdir / "guesses.csv")
    call("import", "guesses.csv", "--to", "answers", "--bench", "w/benchmark").fine()
    call("refine", "w/benchmark", "--recipe", "chance-aware", "--answers", "answers", "--to", "r").fine()
    verdicts = list(by_item(workdir / "r").values())
    assert len(verdicts) == 240
    assert verdicts.count("drop") == 0
    assert verdicts.count("review") <= 2
