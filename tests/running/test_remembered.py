"""A plan that is remembered comes to the same as one that is gone through, or is not remembered at all."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from eyetest.benchmarks import Benchmark
from eyetest.models import parse_models
from eyetest.records import Condition
from eyetest.running import Asking, Limits, Session, remembered
from eyetest.runs import Run
from eyetest.runs.folder import LEDGER
from tests.running.benches import answers, make_bench, make_dialogues

MODELS = ["a=scripted:right=0.7", "b=scripted:right=0.4,dead=0.1"]
ASKING = Asking(
    conditions=(Condition(), Condition(sight="blind"), Condition(sight="caption")), limits=Limits(calls=50)
)


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "_FEWEST", 1)


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A run of which some calls were made."""
    make_bench(tmp_path / "b", 40, pictures=7)
    session(tmp_path).run(tmp_path / "r")
    return tmp_path


def session(folder: Path, models: list[str] = MODELS, **other: Any) -> Session:
    asking = msgspec.structs.replace(ASKING, **other)
    return Session(Benchmark(folder / "b"), parse_models(models), asking)


def test_what_is_left_is_the_same_without_going_through_it(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = session(begun)
    (begun / "r" / LEDGER).rename(begun / "aside")
    gone_through = slow.estimate(begun / "r")
    (begun / "aside").rename(begun / "r" / LEDGER)
    quick = session(begun)
    monkeypatch.setattr(quick.plan, "calls", None)
    assert quick.estimate(begun / "r") == gone_through
    assert (gone_through.stored, gone_through.calls) == (50 - gone_through.failed, 110)
    assert gone_through.not_applicable.total() > 0


def test_a_run_that_goes_on_asks_what_is_left_and_nothing_else(begun: Path) -> None:
    plan = Run(begun / "r").plan()
    before = answers(begun / "r")
    progress = session(begun, limits=Limits()).run(begun / "r")
    assert progress.done == 110
    session(begun, limits=Limits()).run(begun / "whole")
    assert before.items() <= answers(begun / "r").items()
    assert answers(begun / "r") == answers(begun / "whole")
    assert Run(begun / "r").plan().equals(plan)
    assert Run(begun / "whole").plan().equals(plan)


@pytest.mark.parametrize(
    "other",
    [
        {"models": MODELS[:1]},
        {"models": ["a=scripted:right=0.7", "b=scripted:right=0.5,dead=0.1"]},
        {"conditions": (Condition(), Condition(sight="blind"))},
        {"conditions": (*ASKING.conditions[:2], Condition(sight="caption", template=1))},
        {"trials": 2},
        {"sampling": {"max_tokens": 5}},
        {"limit": 39},
        {"own": {"b": {"sight": "blind"}}},
    ],
    ids=["models", "scripts", "fewer", "template", "trials", "sampling", "limit", "own"],
)
def test_what_differs_in_anything_is_gone_through_again(begun: Path, other: dict[str, Any]) -> None:
    assert remembered.recall(begun / "r", session(begun).plan) is not None
    assert remembered.recall(begun / "r", session(begun, **other).plan) is None


def test_other_items_are_gone_through_again(begun: Path) -> None:
    (begun / "b").rename(begun / "old")
    make_bench(begun / "b", 40, pictures=6)
    assert remembered.recall(begun / "r", session(begun).plan) is None


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_damaged_memory_is_none(begun: Path, place: float) -> None:
    path = begun / "r" / LEDGER
    data = bytearray(path.read_bytes())
    data[int(len(data) * place)] ^= 0xFF
    path.write_bytes(data)
    assert remembered.recall(begun / "r", session(begun).plan) is None
    assert session(begun, limits=Limits()).run(begun / "r").done == 110


def test_another_plan_in_the_folder_is_not_taken_for_this_one(begun: Path) -> None:
    session(begun, models=["c=scripted:"]).run(begun / "r")
    assert remembered.recall(begun / "r", session(begun).plan) is None
    assert session(begun, limits=Limits()).run(begun / "r").done == 110


def test_dialogues_are_never_remembered(tmp_path: Path) -> None:
    make_dialogues(tmp_path / "b")
    session(tmp_path, conditions=(Condition(history="own"),)).run(tmp_path / "r")
    assert not (tmp_path / "r" / LEDGER).exists()
