"""Items by id, place and slice; a benchmark as a table; and what wrong types are told."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import polars as pl
import pytest

import eyetest as et
from eyetest.benchmarks import BenchmarkWriter
from eyetest.errors import InputError
from tests.api.conftest import ITEMS


def test_items_by_id_by_place_and_by_slice(here: Path) -> None:
    bench = et.open("world/benchmark")
    items = list(bench)
    assert bench["q07"] == bench[7] == bench[np.int64(7)] == bench[7 - ITEMS] == items[7]
    assert bench[::-7] == items[::-7]
    assert bench[58:99] == items[58:]
    assert_type(bench[7], et.Item)
    assert_type(bench[:7], list[et.Item])
    for number in (ITEMS, -ITEMS - 1):
        with pytest.raises(IndexError, match="has 60 items, from 0"):
            bench[number]
    for wrong in (1.0, None, ("q07",)):
        with pytest.raises(TypeError, match="expected its id"):
            bench[wrong]  # type: ignore[call-overload]
    with pytest.raises(InputError, match='did you mean "q07"'):
        bench["Q07"]


def test_a_benchmark_as_a_table(here: Path) -> None:
    bench = et.open("world/benchmark")
    frame = bench.frame
    assert frame["id"].to_list() == [item.id for item in bench]
    assert frame["options"].to_list()[7] == [choice.text for choice in bench[7].choices]
    assert frame["gold"].to_list()[7] == "ABCDEFGHIJ"[bench[7].gold[0]]
    assert frame.filter(core="math").height == sum(item.tags["core"] == "math" for item in bench) > 0
    assert frame["turn"].dtype == pl.Int64


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([True, None, False], [True, None, False]),
        (["a", 1, None], ['"a"', "1", None]),
        ([["a", "b"], {"x": 1}, None], ['["a","b"]', '{"x":1}', None]),
        ([None, None, None], [None, None, None]),
    ],
)
def test_tags_of_any_kind_become_columns(tmp_path: Path, values: list[Any], expected: list[Any]) -> None:
    with BenchmarkWriter(tmp_path / "bench", et.Manifest(name="odd")) as writer:
        for number, value in enumerate(values):
            tags = {"odd": value, "question": "a tag"} if value is not None else {}
            writer.add(et.Item(id=str(number), question="?", references=("a | b",), tags=tags))
        writer.add(et.Item(id="last", question="?", references=("a",), tags={"late": 1}))
    frame = et.open(tmp_path / "bench").frame
    assert (frame["odd"].to_list() if "odd" in frame.columns else [None] * 4) == [*expected, None]
    assert frame["late"].to_list() == [None, None, None, 1]
    assert frame["question"].to_list() == ["?"] * 4
    assert ("tags.question" in frame.columns) == (values != [None] * 3)


def test_wrong_types_are_one_line(here: Path) -> None:
    run: Any = et.open_run("run")
    bench: Any = et.open("world/benchmark")
    number: Any = 3
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: et.audit(number), "bench: found 3 \\(int\\), expected a benchmark, or the path of one"),
        (lambda: et.audit(run), "bench: found a Run, expected a benchmark"),
        (lambda: et.score(bench), "run: found a Benchmark, expected a run, or the path of one"),
        (lambda: et.measure("accuracy", number), "run: found 3"),
        (lambda: et.measure("accuracy", [run, bench]), "run: found a Benchmark"),
        (lambda: et.show(number), "what: found 3"),
        (lambda: et.run(run, models="scripted:", to="x"), "bench: found a Run"),
        (lambda: et.report(number, page="x.html"), "found 3 \\(int\\), expected"),
        (lambda: et.run(bench, describe="a", models={"b": "scripted:"}, to="x"), "no model 'a'; known: b"),
    ]
    for call, told in wrong:
        with pytest.raises(InputError, match=told):
            call()


def test_replies_stand_beside_scores(here: Path) -> None:
    with_replies = et.score("run").scores
    assert with_replies["reply"].null_count() == 0
    said = et.show("run", "q07").frame
    both = said.join(with_replies, on=["item", "model", "modality", "order"], suffix="_scored")
    assert len(both) == 12
    assert both.filter(pl.col("reply") != pl.col("reply_scored")).is_empty()
    assert both.filter(pl.col("score") != pl.col("score_scored")).is_empty()


def test_what_is_left_of_a_run(here: Path) -> None:
    with warnings.catch_warnings(action="ignore"):
        et.run("world/benchmark", models="dead=scripted:dead=0.5", to="asked", limit=20, budget="calls=12")
    status = et.show("asked")
    assert isinstance(status, et.StatusResult)
    counts = status.frame.row(0, named=True)
    assert (counts["planned"], status.left) == (20, 8)
    assert status.failures["calls"].sum() == counts["failed"] == 12 - counts["answered"] > 0
    assert "no process is writing" in repr(status)
    assert f"{counts['failed']} ×" in status._repr_html_()
    assert "8 planned calls without an answer" in et.export_file("asked", to="answers.jsonl").notes[0]
