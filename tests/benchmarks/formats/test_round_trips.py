"""Import → export → import gives the same items, in every format, whatever the items are like."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from eyetest.benchmarks import export_benchmark, import_benchmark
from tests.strategies import benchmarks, full_words, write

pytestmark = pytest.mark.journey

NAMES = {"vlmevalkit": "b.tsv", "parquet": "b.parquet"}
Drawn = list[tuple[str, dict[str, Any], list[int]]]


def assert_comes_back(drawn: Drawn, format_name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = write(Path(folder) / "first", drawn)
        place = Path(folder) / NAMES.get(format_name, "exported")
        export_benchmark(first, format_name, place)
        second, _ = import_benchmark(place, Path(folder) / "second")
        assert list(second) == list(first)
        for item in second:
            for image in item.images:
                assert second.images.read(image) == first.images.read(image)


@pytest.mark.parametrize("name", ["jsonl", "lmms-eval", "parquet"])
def test_every_item_comes_back(name: str) -> None:
    @settings(max_examples=15)
    @given(benchmarks())
    def holds(drawn: Drawn) -> None:
        assert_comes_back(drawn, name)

    holds()


@settings(max_examples=25)
@given(benchmarks(options=full_words))
def test_every_item_that_a_tsv_can_hold_comes_back(drawn: Drawn) -> None:
    assert_comes_back(drawn, "vlmevalkit")
