"""Real benchmarks, as somebody else wrote them down."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark, Import, ReadOptions, export_benchmark, import_benchmark
from eyetest.records import Choice

pytestmark = pytest.mark.journey

COUNTS = {
    "mathvista": (1000, 540, 460, 995, 995),
    "mmmu_pro": (1730, 1730, 0, 0, 0),
    "chartqa": (842, 0, 842, 473, 842),
    "puzzlevqa": (2000, 2000, 0, 400, 400),
}
"""Items, choice items, text items, image files, items with an image."""


@pytest.mark.parametrize("name", COUNTS)
def test_item_folders_import_with_the_counts_of_their_source(
    shared: Path, real_benchmark: Callable[[str], Benchmark], name: str
) -> None:
    source = (shared / "data" / name / "SOURCE.md").read_text()
    items, choice, text, files, with_image = COUNTS[name]
    assert re.search(rf"\b{items}\b", source)
    assert not files or re.search(rf"\b{files}\b", source)
    benchmark = real_benchmark(name)
    counts = benchmark.manifest.counts
    assert (counts.items, counts.choice_items, counts.text_items) == (items, choice, text)
    shown = {image.sha256 for item in benchmark for image in item.images}
    assert counts.images == len(shown) <= files
    assert sum(bool(item.images) for item in benchmark) == with_image


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("format_name", ["vlmevalkit", "jsonl", "parquet"])
def test_real_items_come_back_from_every_format(
    real_benchmark: Callable[[str], Benchmark], tmp_path: Path, name: str, format_name: str
) -> None:
    first = real_benchmark(name)
    suffix = {"vlmevalkit": ".tsv", "parquet": ".parquet"}.get(format_name, "")
    export_benchmark(first, format_name, tmp_path / f"out{suffix}")
    second, _ = import_benchmark(tmp_path / f"out{suffix}", tmp_path / "second")
    assert list(second) == list(first)


def test_ten_options_by_mapping(shared: Path, tmp_path: Path) -> None:
    read = ReadOptions(fields={"options": "options10_final", "answer": "answer10_final"})
    benchmark, _ = import_benchmark(shared / "data/mmmu_pro", tmp_path / "b", Import(read=read))
    options = benchmark.manifest.counts.options
    assert (options["10"], options["9"], options["12"]) == (1214, 221, 1)
    assert "1" not in options
    assert benchmark["validation_Accounting_29"].choices[1] == Choice("B", True)
    assert benchmark["test_History_1"].gold == (1,)
    assert len(benchmark["test_History_1"].tags["options"]) == 4
