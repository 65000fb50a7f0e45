"""vLLM itself on the processor, with random weights: what it finds likely is what transformers finds. Slow."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eyetest_world import load_rates, new_world

from eyetest.runs import Run, read_responses
from tests.models.serving import ENVIRONMENT, make_weights, python_with_vllm

ITEMS = 12
METHODS = "method=likelihood/first-token/generate"
VLLM = {"dtype": "float32", "enforce_eager": True, "max_model_len": 2048}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_world(tmp_path_factory.mktemp("world") / "world", load_rates("none"), items=18, seed=5).path


def write_models(weights: Path, path: Path, **more: Any) -> Path:
    entries = {
        "engine": {"spec": f"vllm:{weights}", "sampling": {"max_tokens": 8, **VLLM}, **more},
        "plain": {"spec": f"transformers:{weights}", "sampling": {"max_tokens": 8}},
    }
    path.write_text(json.dumps(entries))
    return path


def command(bench: Path, models: Path, model: str, to: Path, templates: str = "0") -> list[str]:
    ways = ("--condition", f"{METHODS}+template={templates}")
    run = [str(python_with_vllm()), "-c", "from eyetest.cli import main; main()", "run", str(bench)]
    return [*run, "--models", str(models), "--model", model, "--limit", str(ITEMS), *ways, "--to", str(to)]


def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, **ENVIRONMENT, "EYETEST_CACHE": str(tmp_path / "cache")}


def asked(bench: Path, models: Path, model: str, to: Path, templates: str = "0") -> dict[tuple[Any, ...], Any]:
    """What a model answered: by item, method and template."""
    done = subprocess.run(
        command(bench, models, model, to, templates),
        capture_output=True,
        text=True,
        check=False,
        env=environment(to.parent),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "INFO" not in done.stdout + done.stderr, "vLLM speaks through eyetest's terminal"
    responses = {response.request: response for response in read_responses(to)}
    plan = Run(to).plan().select(["item", "method", "template", "request"]).to_pylist()
    return {(row["item"], row["method"], row["template"]): responses[row["request"]] for row in plan}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["served-llava", "qwen2-vl", "idefics3"])
def test_likelihoods_are_those_of_transformers_and_answers_too(kind: str, bench: Path, tmp_path: Path) -> None:
    models = write_models(make_weights(kind, tmp_path / "weights"), tmp_path / "models.yaml")
    engine = asked(bench, models, "engine", tmp_path / "engine", "0/1")
    plain = asked(bench, models, "plain", tmp_path / "plain", "0/1")
    assert engine.keys() == plain.keys()
    weighed = [key for key in engine if key[1] != "generate"]
    assert len(weighed) >= 2 * ITEMS
    apart = [np.abs(np.subtract(engine[key].candidates, plain[key].candidates)).max() for key in weighed]
    print(f"{kind}: {len(weighed)} likelihoods differ by at most {max(apart):.1e}")
    assert max(apart) < 1e-3
    for key in weighed:
        assert engine[key].candidate_tokens == plain[key].candidate_tokens
        assert engine[key].tokens_in == plain[key].tokens_in > (576 if kind == "served-llava" else 20)
    written = [key for key in engine if key[1] == "generate"]
    alike = [engine[key].text == plain[key].text for key in written]
    print(f"{sum(alike)} of {len(alike)} greedy answers are the same")
    assert np.mean(alike) > 0.8


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_and_leaves_nothing_behind(
    bench: Path, served_llava: Path, tmp_path: Path
) -> None:
    models = write_models(served_llava, tmp_path / "models.yaml", concurrency=4)
    to = tmp_path / "run"
    slowly = command(bench, models, "engine", to, "0/1/2/3/4")
    with subprocess.Popen(
        slowly,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(tmp_path),
        start_new_session=True,
    ) as going:
        while not (to / "journal").exists() or sum(1 for _ in read_responses(to)) < 10:
            assert going.poll() is None, "the run was over before it could be killed"
            time.sleep(0.02)
        going.send_signal(signal.SIGKILL)
    before = {response.request: response for response in read_responses(to)}
    time.sleep(2)
    with pytest.raises(ProcessLookupError):
        os.killpg(going.pid, 0)
    done = subprocess.run(slowly, capture_output=True, text=True, check=False, env=environment(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    stored = list(read_responses(to))
    assert len(stored) == len({response.request for response in stored})
    assert {response.request: response for response in stored}.items() >= before.items()
    planned = set(Run(to).plan().column("request").to_pylist())
    assert planned == {response.request for response in stored}
    assert len(before) < len(planned)
    assert {response.outcome for response in stored} <= {"answered", "truncated"}
