"""A probe of ``eyetest audit`` as a screen."""

from pathlib import Path

import msgspec
import pytest

from eyetest.benchmarks import Benchmark
from eyetest.filters import FILTERS, Evidence, FilterInput
from eyetest.records import Choice, Item
from tests.filters.answers import stage
from tests.scoring.test_table import make_bench


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    good, twice = (Choice("a", True), Choice("b")), (Choice("same", True), Choice("same"))
    asked = [(f"What is the name of thing number {n}?", twice if n in (3, 7) else good) for n in range(30)]
    items = [Item(id=f"q{n}", question=question, choices=choices) for n, (question, choices) in enumerate(asked)]
    return make_bench(tmp_path / "b", items)


def judge(bench: Benchmark, **fields: object) -> dict[str, tuple[str, str]]:
    case = FilterInput(stage(filter="probe", **fields), list(bench), Evidence(), benchmark=bench)
    rows = list(FILTERS["probe"].judge(case))
    for row in rows:
        assert not row.evidence or isinstance(msgspec.json.decode(row.evidence), dict)
    return {row.item: (row.verdict, row.reason) for row in rows}


def test_what_a_probe_finds_gets_its_verdict(bench: Benchmark) -> None:
    found = judge(bench, probe="malformed")
    assert {name for name, (verdict, _) in found.items() if verdict != "keep"} == {"q3", "q7"}
    assert found["q3"][1].startswith("malformed: ")
    assert found["q0"][0] == "keep"
    assert found["q0"][1].startswith("malformed: nothing found; No item has an image")
    assert len(found) == 30


def test_a_probe_that_cannot_look_says_so_and_drops_nothing(bench: Benchmark) -> None:
    found = judge(bench, probe="duplicate-items", then="drop")
    assert set(found.values()) == {
        (
            "keep",
            "duplicate-items: nothing found; "
            "No image is here: repeated questions were not looked for, since images may differ",
        )
    }
