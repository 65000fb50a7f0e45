"""A checkpoint lives in a process of its own, and answers there as it would here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import eyetest as et
from tests.models.checkpoint.conftest import checkpoints as checkpoints
from tests.running.benches import make_bench
from tests.running.cluster.test_ray import assert_same
from tests.running.processes import until

ray = pytest.importorskip("ray")


def repair() -> None:
    """In each process: torchvision, where it was built for another PyTorch."""
    import tests.models.checkpoint.tiny  # noqa: F401


def hosts() -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["name"]) if "ray::Worker" in p.info["name"]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    quiet: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False}
    ray.init(address="local", num_cpus=2, runtime_env={"worker_process_setup_hook": repair}, **quiet)
    yield
    ray.shutdown()


@pytest.mark.slow
def test_a_hosted_checkpoint_answers_as_it_would_here(tmp_path: Path, cluster: None, checkpoints: Any) -> None:
    make_bench(tmp_path / "b", 12, image_count=3)
    models = {"tiny": {"spec": f"transformers:{checkpoints('llava')}"}}
    for name, on in (("here", ""), ("there", "ray")):
        how: dict[str, Any] = {"condition": "likelihood,generate", "max_tokens": 4}
        et.run(tmp_path / "b", models=models, to=tmp_path / name, on=on, **how)
    assert_same(tmp_path / "here", tmp_path / "there")
    ways = [et.Run(tmp_path / name).manifest.steps[-1].ways for name in ("here", "there")]
    assert ways[0] == ways[1] != {}
    until(lambda: not hosts(), "hosts to be given back")
