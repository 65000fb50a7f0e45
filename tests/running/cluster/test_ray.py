"""On a real Ray: the same rows as on one machine, whatever is killed, and in one line what is wrong."""

import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest

import eyetest as et
from eyetest.errors import EyetestError, InputError
from eyetest.running import Asking
from eyetest.running.cluster import Order, Shard, ask_shard
from eyetest.runs import Run, responses_table
from eyetest.runs.stored import answers_frame
from tests.endpoint import Endpoint
from tests.running.benches import keys_in, make_bench, stored
from tests.running.processes import Nursery, until

pytestmark = pytest.mark.journey

ray = pytest.importorskip("ray")

IN_FLIGHT = 8
TWO = {"a": "scripted:right=0.7,blind=0.4,refuse=0.1", "b": "scripted:right=0.5,fail=0.1,dead=0.02"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A Ray of its own for these tests; gives its address."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    there = ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield there.address_info["gcs_address"]
    ray.shutdown()


def rows(run: Path) -> pl.DataFrame:
    """All that is stored, but when and how quickly."""
    table = pl.from_arrow(responses_table(run))
    assert isinstance(table, pl.DataFrame)
    return table.drop("seconds", "time").sort("request")


def assert_same(here: Path, there: Path) -> None:
    assert answers_frame(here).collect().equals(answers_frame(there).collect())
    assert rows(here).equals(rows(there))
    assert Run(here).plan().equals(Run(there).plan())
    (mine,), (other,) = (list(Run(run).manifest.steps) for run in (here, there))
    assert (mine.saved, mine.planned, mine.requests) == (other.saved, other.planned, other.requests)


@pytest.mark.filterwarnings("ignore:.*failed; .*retry")
def test_the_same_rows_as_on_one_machine(tmp_path: Path, cluster: str) -> None:
    make_bench(tmp_path / "b", 90, image_count=20)
    how: dict[str, Any] = {"condition": "modality=image/no-image+template=0/1"}
    for name, on in (("here", ""), ("there", "ray")):
        et.run(tmp_path / "b", models=TWO, to=tmp_path / name, on=on, **how)
    assert_same(tmp_path / "here", tmp_path / "there")
    writers = {path.stem.partition("-")[2] for path in (tmp_path / "there/responses").iterdir()}
    assert len(writers) >= 2
    et.run(tmp_path / "b", models=TWO, to=tmp_path / "there", on="ray", **how)
    assert rows(tmp_path / "here").equals(rows(tmp_path / "there")), "a complete run asks nothing"


def workers_of() -> list[psutil.Process]:
    """The workers of a run that is going on, in their own processes; those of other tests are not ours to kill."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if any("ray::ask_shard" in word for word in process.cmdline()):
                found.append(process)
    return found


def test_workers_killed_five_times_and_the_driver_twice(
    tmp_path: Path, cluster: str, endpoint: Endpoint, nursery: Nursery
) -> None:
    make_bench(tmp_path / "b", 400, image_count=30)
    endpoint.latency = 0.05
    how = ("--on", "ray:2", "--concurrency", IN_FLIGHT)
    command = ("run", "b", "--models", endpoint.models(backoff=0.01), "--to", "r", *how)
    env = {"RAY_ADDRESS": cluster}
    lost = 0

    def asked_more(by: int) -> None:
        wanted = endpoint.sent.total() + by
        until(lambda: endpoint.sent.total() >= wanted, "calls")

    for kills in ((1, 2), (1, 1)):
        process = nursery.start(*command, env=env)
        for number in kills:
            asked_more(20)
            for worker in workers_of()[:number]:
                worker.kill()
                lost += IN_FLIGHT // 2
        asked_more(20)
        process.kill()
        lost += IN_FLIGHT
        kept = set(keys_in(stored(tmp_path / "r")))
        assert len(kept) >= len(set(endpoint.answered)) - lost, "only what was in flight at a kill can be missing"
    nursery.run(*command, env=env).fine()
    held = stored(tmp_path / "r")
    assert len({row.request for row in held}) == 400
    times = Counter(keys_in(held))
    assert len(times) == 400
    again = endpoint.sent.total() - 400
    assert 0 < again <= lost, "only what was in flight is asked again"
    assert sum(times.values()) - 400 <= again
    assert not list((tmp_path / "r/journal").iterdir()), "everything is sealed"
    assert not workers_of()


def test_a_limit_holds_for_all_workers_together(tmp_path: Path, cluster: str, endpoint: Endpoint) -> None:
    make_bench(tmp_path / "b", 100, image_count=10)
    models = {"m": f"openai:m@{endpoint.url}"}
    with pytest.warns(UserWarning, match="the limit of 37 calls is reached; 63 calls left"):
        et.run(tmp_path / "b", models=models, to=tmp_path / "r", on="ray", budget="calls=37")
    assert endpoint.sent.total() == len(stored(tmp_path / "r")) == 37


def test_ctrl_c_lets_calls_in_flight_finish(
    tmp_path: Path, cluster: str, endpoint: Endpoint, nursery: Nursery
) -> None:
    make_bench(tmp_path / "b", 200, image_count=10)
    endpoint.latency = 0.1
    command = ("run", "b", "--model", f"openai:m@{endpoint.url}", "--to", "r", "--on", "ray", "--concurrency", 8)
    process = nursery.start(*command, env={"RAY_ADDRESS": cluster})
    until(lambda: endpoint.sent.total() >= 30, "calls")
    process.send(signal.SIGINT)
    process.wait()
    assert process.code == 130, process.stderr
    assert "run the same again to continue" in process.stderr
    assert endpoint.sent.total() == len(stored(tmp_path / "r")) < 200
    assert not list((tmp_path / "r/journal").iterdir())


def test_a_dead_endpoint_is_given_up_by_all(tmp_path: Path, cluster: str) -> None:
    make_bench(tmp_path / "b", 30)
    gone = {"spec": "openai:m@http://127.0.0.1:9/v1", "patience": 0.2, "backoff": 0.01}
    models = {"good": "scripted:", "gone": gone}
    with pytest.warns(UserWarning, match="gone was given up"):
        et.run(tmp_path / "b", models=models, to=tmp_path / "r", on="ray")
    assert Counter(answers_frame(tmp_path / "r").collect()["model"]) == {"good": 30}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"on": "rya"}, "found 'rya', expected ray, ray:WORKERS or ray://HOST:PORT"),
        ({"on": "ray:0"}, "found 'ray:0', expected ray"),
        ({"on": "dask://x"}, "found 'dask://x', expected ray"),
        ({"on": "ray", "until": "a>b"}, "so they are asked from one machine"),
    ],
)
def test_a_wrong_place_is_one_line(tmp_path: Path, how: dict[str, Any], words: str) -> None:
    make_bench(tmp_path / "b", 4)
    with pytest.raises(InputError, match=re.escape(words)):
        et.run(tmp_path / "b", models=TWO, to=tmp_path / "r", **how)


def test_what_a_machine_lacks_is_one_line(tmp_path: Path) -> None:
    shard = Shard(writer="w", positions=[], requests=[], abandoned={})
    order = Order(benchmark="/nowhere", run="/nowhere", entries={}, asking=Asking())
    assert "/nowhere is not there" in str(ask_shard(order, shard))


def test_a_machine_without_eyetest_is_one_line(tmp_path: Path, cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(order: Any, shard: Any) -> None:
        raise ModuleNotFoundError("No module named 'eyetest'")

    monkeypatch.setattr("eyetest.running.cluster.ask_shard", elsewhere)
    make_bench(tmp_path / "b", 4)
    with pytest.raises(EyetestError, match=r"^a worker cannot go on: .*No module named 'eyetest'$"):
        et.run(tmp_path / "b", models={"m": "scripted:right=1"}, to=tmp_path / "r", on="ray")
