"""A run that ends when one of two models leads for certain."""

from pathlib import Path
from typing import Any

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.models import parse_models
from eyetest.records import Condition, Item, Response
from eyetest.running import Asking, Limits, Session
from eyetest.runs import Run, read_responses
from tests.running.benches import make_bench

ITEMS = 200
LIMITS = Limits(backoff=0.0, concurrency=7)


def says_gold(item: Item, condition: Condition, response: Response) -> bool | None:
    return None if response.outcome == "failed" else response.text == "ABCD"[item.gold[0]]


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    return make_bench(tmp_path / "b", ITEMS)


def raced(bench: Benchmark, rates: tuple[float, float], **more: Any) -> Session:
    """Two models that are right so often, asked until one leads."""
    specs = parse_models([f"one=scripted:right={rates[0]},seed=1", f"two=scripted:right={rates[1]},seed=2"])
    how: dict[str, Any] = {"until": "one>two", "limits": LIMITS, **more}
    return Session(bench, specs, Asking(**how), hit=says_gold)


def asked(run: Path) -> set[str]:
    return {response.request for response in read_responses(run)}


@pytest.mark.parametrize(("rates", "leader"), [((0.9, 0.4), "one leads two"), ((0.4, 0.9), "two leads one")])
def test_it_ends_early_with_who_leads(
    tmp_path: Path, bench: Benchmark, rates: tuple[float, float], leader: str
) -> None:
    session = raced(bench, rates)
    progress = session.run(tmp_path / "r")
    assert session.race is not None
    assert session.race.finding.startswith(f"{leader} on the whole benchmark, by between ")
    assert len(asked(tmp_path / "r")) == progress.done < ITEMS
    assert progress.saved == 2 * ITEMS - progress.done
    assert progress.left == 0
    assert Run(tmp_path / "r").manifest.steps[-1].options["until"] == "one>two"


def test_in_pieces_the_same_is_asked_and_told_as_at_once(tmp_path: Path, bench: Benchmark) -> None:
    whole = raced(bench, (0.9, 0.4))
    whole.run(tmp_path / "whole")
    for _ in range(20):
        piece = raced(bench, (0.9, 0.4), limits=Limits(backoff=0.0, concurrency=7, calls=23))
        if not piece.run(tmp_path / "pieces").done:
            break
    assert asked(tmp_path / "pieces") == asked(tmp_path / "whole")
    assert whole.race is not None
    assert piece.race is not None
    assert piece.race.finding == whole.race.finding


def test_equals_are_asked_everything_and_found_level(tmp_path: Path, bench: Benchmark) -> None:
    session = raced(bench, (1.0, 1.0))
    assert session.run(tmp_path / "r").done == 2 * ITEMS
    assert session.race is not None
    assert session.race.finding == "one and two are level on all 200 items"


def test_where_calls_fail_nobody_gains(tmp_path: Path, bench: Benchmark) -> None:
    specs = parse_models(["one=scripted:right=1.0", "two=scripted:right=1.0,fail=1.0"])
    asking = Asking(until="one>two", limit=30, limits=Limits(backoff=0.0, attempts=1))
    session = Session(bench, specs, asking, hit=says_gold)
    session.run(tmp_path / "r")
    assert session.race is not None
    expected = "one and two are level on all 30 items; on 30 that one of both has no score on, they count as level"
    assert session.race.finding == expected


def test_what_is_no_race_is_refused(bench: Benchmark) -> None:
    with pytest.raises(InputError, match="in one way, once"):
        raced(bench, (0.9, 0.4), samples=2)
