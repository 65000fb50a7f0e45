"""Items by id, place and slice; a benchmark as a table; and what wrong types are told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import polars as pl
import pytest

import eyetest as et
from eyetest.errors import InputError
from tests.api.conftest import ITEMS
from tests.support.refusals import refusal


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


def test_no_error_speaks_of_an_option(here: Path) -> None:
    (here / "there.html").touch()
    wrong: list[Callable[[], object]] = [
        lambda: et.measure("accuracy", "run", where="nonsense"),
        lambda: et.measure("accuracy", "run", where={"nonsense": 1}),
        lambda: et.measure("accuracy", "run", set={"nonsense": 1}),
        lambda: et.compare("run", where="modality=gray"),
        lambda: et.results("run", cluster="nonsense"),
        lambda: et.run("world/benchmark", models="scripted:right=0.5", samples=0, to="asked"),
        lambda: et.refine(
            "world/benchmark", recipe="chance-aware", models="models.yaml", hold_out="nobody", to="better"
        ),
        lambda: et.report("run", page="there.html"),
        lambda: et.open("there.html"),
    ]
    for call in wrong:
        assert "--" not in refusal(call, error=et.EyetestError)
    assert all("--" not in note for note in et.compare("run").notes)
