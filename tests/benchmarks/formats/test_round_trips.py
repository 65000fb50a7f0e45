"""Import → export → import gives the same items, in every format, whatever the items are like."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.benchmarks import export_benchmark, import_benchmark
from eyetest.benchmarks.opening import writable
from tests.strategies import benchmarks, content, full_words, write
from tests.support.drawn import draw_benchmark

pytestmark = pytest.mark.journey

NAMES = {"vlmevalkit": "b.tsv", "parquet": "b.parquet"}
Drawn = list[tuple[str, dict[str, Any], list[int]]]


def assert_comes_back(drawn: Drawn, format_name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = write(Path(folder) / "first", drawn)
        place = Path(folder) / NAMES.get(format_name, "exported")
        export_benchmark(first, format_name, place)
        second, _ = import_benchmark(place, Path(folder) / "second")
        assert content(second) == content(first)
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


@settings(max_examples=20)
@given(benchmarks(options=full_words), st.sampled_from(["jsonl", "vlmevalkit", "parquet"]),
       st.sampled_from(["jsonl", "vlmevalkit", "parquet"]))  # fmt: skip
def test_a_detour_through_another_format_changes_nothing(drawn: Drawn, there: str, back: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        first = write(root / "first", drawn)
        for number, name in enumerate((there, back)):
            export_benchmark(first, name, place := root / f"{number}{NAMES.get(name, '')}")
            first, _ = import_benchmark(place, root / f"again{number}")
        assert content(first) == content(write(root / "anew", drawn))


def test_the_drawn_benchmark_comes_back_from_every_format_that_holds_it(tmp_path: Path) -> None:
    drawn = draw_benchmark(tmp_path / "drawn", items=16)
    for name in writable():
        place = tmp_path / name / NAMES.get(name, "exported")
        export_benchmark(drawn, name, place)
        back, _ = import_benchmark(place, tmp_path / f"{name}-back")
        assert content(back) == content(drawn)
        assert back.manifest.fingerprint == drawn.manifest.fingerprint
