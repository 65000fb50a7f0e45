"""A Ray that is started for a run is reached from this machine alone, and with its token alone."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eyetest.errors import InputError
from eyetest.models import parse_models
from eyetest.running import Asking, Cluster, Session
from eyetest.running.cluster import connected
from tests.running.benches import make_bench

WATCHED = """
import os, subprocess, sys
import psutil
from eyetest.running.cluster import connected
from eyetest.running.limits import Cluster

with connected(Cluster()) as ray:
    assert ray.get(ray.remote(num_cpus=0)(lambda: 7).remote()) == 7
    here = psutil.Process()
    every = [one for process in (here, *here.children(recursive=True)) for one in process.net_connections("tcp")]
    listening = sorted({one.laddr.ip for one in every if one.status == psutil.CONN_LISTEN})
    join = f"import ray; ray.init(address={ray.get_runtime_context().gcs_address!r}, log_to_driver=False)"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    ways = [clean, {**clean, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "x" * 64}, dict(os.environ)]
    begin = [sys.executable, "-c", join]
    joined = [subprocess.run(begin, env=way, capture_output=True).returncode == 0 for way in ways]
    print([listening, joined])
"""


@pytest.mark.slow
def test_only_this_machine_and_only_with_the_token() -> None:
    pytest.importorskip("ray")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run([sys.executable, "-c", WATCHED], env=clean, capture_output=True, text=True, check=True)
    listening, joined = ast.literal_eval(done.stdout.splitlines()[-1])
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}
    assert joined == [False, False, True]


def fake(version: str, node: str, began: list[dict[str, Any]]) -> SimpleNamespace:
    """As much of Ray as is called before work is handed to it."""

    def init(**how: Any) -> None:
        began.append(how | {name: os.environ.get(name, "") for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")})

    constants = SimpleNamespace(ray_constants=SimpleNamespace(ENABLE_RAY_CLUSTER=True))
    util = SimpleNamespace(get_node_ip_address=lambda: node)
    how = {"is_initialized": lambda: False, "init": init, "shutdown": began.clear}
    return SimpleNamespace(__version__=version, _private=constants, util=util, **how)


@pytest.mark.parametrize(
    ("version", "node", "why"),
    [("2.51.1", "127.0.0.1", "token"), ("2.52.0", "192.0.2.7", "other machines"), ("2.60.0", "127.0.0.1", "")],
)
def test_what_cannot_be_kept_private_is_refused(
    monkeypatch: pytest.MonkeyPatch, version: str, node: str, why: str
) -> None:
    began: list[dict[str, Any]] = []
    for name in ("RAY_ADDRESS", "RAY_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setitem(sys.modules, "ray", fake(version, node, began))
    if why:
        with pytest.raises(InputError, match=why), connected(Cluster()):
            pytest.fail("it was started")
    else:
        with connected(Cluster()):
            assert began[0]["RAY_AUTH_MODE"] == "token"
            assert len(began[0]["RAY_AUTH_TOKEN"]) == 64
    assert not began, "it is shut down"
    assert (os.environ["RAY_AUTH_MODE"], os.environ.get("RAY_AUTH_TOKEN")) == ("disabled", None)


def test_a_ray_that_fails_before_the_first_shard_is_shut_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: list[dict[str, Any]] = []

    def lost() -> dict[str, float]:
        assert began
        raise RuntimeError("the head is gone")

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    there = fake("2.60.0", "127.0.0.1", began)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(**vars(there), cluster_resources=lost))
    asking = Asking(cluster=Cluster())
    session = Session(make_bench(tmp_path / "b", 2), parse_models(["m=scripted:"]), asking)
    with pytest.raises(RuntimeError, match="the head is gone"):
        session.run(tmp_path / "r")
    assert not began
