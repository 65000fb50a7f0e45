"""``eyetest suite`` with real models and real processes: killed twice, it ends in the tables of one left alone."""

import random
import time
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
import yaml
from eyetest_world import load_rates, new_world

from eyetest.benchmarks import BenchmarkWriter
from eyetest.records import Manifest
from tests.running.processes import Nursery

pytestmark = pytest.mark.journey

DIMENSIONS = ("CG", "FG", "STP", "Spatial", "VGR", "CMI")
ZOO = ("jay-m", "robin-s", "swift-s", "wren-xs", "finch-xs")
TESTS = 5


def write_suite(folder: Path, items: int) -> int:
    """Six drawn benchmarks of so many items, five models of the zoo, five tests; how many answers that takes."""
    drawn = new_world(folder / "world", load_rates("none"), items=max(18, items * len(DIMENSIONS)), size=64, seed=5)
    together = list(drawn)
    for number, dimension in enumerate(DIMENSIONS):
        with BenchmarkWriter(folder / dimension, Manifest(name=dimension.lower())) as writer:
            for item in together[number * items : (number + 1) * items]:
                writer.adopt(msgspec.structs.replace(item, tags={**item.tags, "dimension": dimension}), drawn)
    suite = {
        "benchmarks": [*DIMENSIONS],
        "models": {name: f"embedded:{name}" for name in ZOO},
        "conditions": {"perturb": "instruction,order,letters", "tests": TESTS},
    }
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite))
    return items * len(DIMENSIONS) * len(ZOO) * TESTS


def answered(folder: Path) -> int:
    """How many answers are on disk, also while they are written."""
    time.sleep(0.01)
    try:
        sealed: list[int] = [pq.read_metadata(path).num_rows for path in folder.glob("runs/*/responses/*.parquet")]
        return sum(sealed) + sum(path.read_bytes().count(b"\n") for path in folder.glob("runs/*/journal/*.jsonl"))
    except FileNotFoundError:
        return answered(folder)


def tables(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "tables").iterdir())}


def check_killed(folder: Path, nursery: Nursery, items: int) -> None:
    calls = write_suite(folder, items)
    whole = nursery.run("suite", "suite.yaml", "--to", "whole")
    assert whole.code == 0, whole.stderr
    rng = random.Random()
    for share in (rng.uniform(0.02, 0.45), rng.uniform(0.5, 0.95)):
        process = nursery.start("suite", "suite.yaml", "--to", "killed")
        while answered(folder / "killed") < share * calls:
            assert not process.ends_within(0.05), process.stderr
        process.kill()
        assert process.code == -9, process.stderr
        assert not (folder / "killed/tables").exists(), "the kill has to fall before the end"
    again = nursery.run("suite", "suite.yaml", "--to", "killed")
    assert again.code == 0, again.stderr
    assert tables(folder / "killed") == tables(folder / "whole")
    assert again.stdout == whole.stdout
    assert {"accuracy-by-dimension.csv", "instability-by-task.csv", "correlation.csv", "circular.csv"} < {
        *tables(folder / "whole")
    }
    assert all(f"\n{name}," in tables(folder / "whole")["accuracy-by-dimension.csv"].decode() for name in ZOO)


def test_killed_twice_the_tables_are_the_same_byte_for_byte(tmp_path: Path, nursery: Nursery) -> None:
    check_killed(tmp_path, nursery, items=2)
