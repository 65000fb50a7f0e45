"""Small benchmarks, panels and recipes to refine with, and what a refinement leaves behind."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Manifest
from tests.running.benches import image_file
from tests.support.tables import read_csv, write_csv

MAJORITY: dict[str, Any] = {
    "panels": {
        "inspectors": {"size": 4, "modality": "no-image-guess", "samples": 10, "sampling": {"temperature": 0.7}}
    },
    "stages": [
        {
            "filter": "blind-hits",
            "panel": "inspectors",
            "answers": {"op": ">", "value": 5},
            "keep": {"hits": {"op": "<", "value": 3}},
        }
    ],
}
"""MMMU-Pro's filter."""
INSPECTORS = {
    "i1": "scripted:blind=0.75,seed=1",
    "i2": "scripted:blind=0.55,seed=2,refuse=0.05",
    "i3": "scripted:blind=0.6,seed=3,dead=0.1",
    "i4": "scripted:blind=0.4,seed=4",
}


def make_bench(path: Path, items: int = 40, image_count: int = 5) -> Benchmark:
    """Choice items of two cores, some of which share an image."""
    with BenchmarkWriter(path, Manifest(name="small")) as writer:
        for number in range(items):
            images = (writer.images.put(image_file(number % image_count)),) if image_count else ()
            choices = tuple(Choice(f"option {place}", place == number % 4) for place in range(4))
            tags = {"core": "pq"[number % 2], "number": number}
            writer.add(
                Item(id=f"q{number}", question=f"Which is {number}?", images=images, choices=choices, tags=tags)
            )
    return Benchmark(path)


def write_yaml(path: Path, content: Mapping[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(dict(content), sort_keys=False))
    return path


def verdicts(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "verdicts.parquet")


def by_item(folder: Path, stage: str | None = None) -> dict[str, str]:
    """The verdict of a stage, or the last one, by item."""
    frame = verdicts(folder)
    if stage:
        frame = frame.filter(pl.col("stage") == stage)
    return dict(frame.select("item", "verdict").iter_rows())


def counts(folder: Path) -> dict[str, tuple[int, ...]]:
    """``funnel.csv``: items in, kept, dropped, to fix, to review; by stage."""
    rows = read_csv(folder / "funnel.csv")
    return {row["stage"]: tuple(int(row[name]) for name in ("into", "keep", "drop", "fix", "review")) for row in rows}


def kept(folder: Path) -> list[Item]:
    return list(Benchmark(folder / "benchmark"))


def decide(folder: Path, *rows: Mapping[str, str]) -> None:
    """What people decided, as a table."""
    (folder / "review").mkdir(exist_ok=True)
    write_csv(folder / "review/decisions.csv", rows)


def outcome(folder: Path) -> tuple[bytes, bytes, str]:
    """What has to be the same, however a refinement got there."""
    fingerprint = Benchmark(folder / "benchmark").manifest.fingerprint
    return (folder / "verdicts.parquet").read_bytes(), (folder / "funnel.csv").read_bytes(), fingerprint
