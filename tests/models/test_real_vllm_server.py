"""Likelihoods through vLLM's own server, with random weights on the processor. Slow.

Held to whole prompts, which need no walk, and to transformers on the same weights.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eyetest_world import load_rates, new_world

from eyetest.benchmarks import Benchmark
from eyetest.models import openai
from eyetest.models.openai.vllm import VllmPrompt, VllmTree
from eyetest.records import Condition, ModelEntry
from eyetest.running import Asking, Limits, Session
from eyetest.runs import Run, read_responses
from tests.models.serving import ENVIRONMENT, VllmServer, make_weights, python_with_vllm
from tests.support.command import MAIN

TEMPLATES, ITEMS = 5, 8
Key = tuple[str, str, int]


@pytest.fixture(scope="module")
def served_llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights of a LLaVA that vLLM and transformers both load."""
    return make_weights("served-llava", tmp_path_factory.mktemp("served") / "llava")


@pytest.fixture(scope="module")
def vllm_server(served_llava: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    server = VllmServer(served_llava, tmp_path_factory.mktemp("vllm") / "log.txt")
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return new_world(tmp_path_factory.mktemp("world") / "world", load_rates("none"), items=18, seed=11)


def by_row(to: Path) -> dict[Key, Any]:
    """What was answered: by item, method and template."""
    responses = {response.request: response for response in read_responses(to)}
    rows = Run(to).plan().select(["item", "method", "template", "request"]).to_pylist()
    return {(row["item"], row["method"], row["template"]): responses[row["request"]] for row in rows}


def prefilled(server: VllmServer) -> float:
    """Tokens that the server has computed, and not taken from its cache."""
    known = server.metrics()
    return sum(known[name] for name in known if "prompt_tokens_by_source" in name and "local_compute" in name)


def weigh(bench: Benchmark, spec: str, to: Path, *conditions: Condition, **entry: Any) -> dict[Key, Any]:
    models = {"m": ModelEntry(spec=spec, **entry)}
    asking = Asking(conditions=conditions, limit=ITEMS, limits=Limits(concurrency=16))
    Session(bench, models, asking).run(to)
    return by_row(to)


@pytest.mark.slow
def test_the_tree_costs_a_quarter_of_whole_prompts_and_gives_the_same(
    vllm_server: VllmServer, served_llava: Path, bench: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = f"openai:{vllm_server.model}@{vllm_server.url}"
    conditions = [Condition(method="likelihood", template=template) for template in range(TEMPLATES)]
    costs, logs = {}, {}
    for way in (VllmTree, VllmPrompt):
        monkeypatch.setattr(openai, "_WAYS", (way,))
        before = prefilled(vllm_server)
        logs[way] = weigh(bench, spec, tmp_path / way.__name__, *conditions)
        costs[way] = prefilled(vllm_server) - before
        assert Run(tmp_path / way.__name__).manifest.steps[0].ways == {"m": way.name}
    weighed = "likelihood+template=" + "/".join(map(str, range(TEMPLATES)))
    spoken = f"run {bench.path} --model m=transformers:{served_llava} --condition {weighed} --limit {ITEMS}"
    command = [str(python_with_vllm()), *MAIN[1:], *spoken.split(), "--to", str(tmp_path / "plain")]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **ENVIRONMENT})
    plain = by_row(tmp_path / "plain")
    tree, whole = logs[VllmTree], logs[VllmPrompt]
    assert tree.keys() == whole.keys() == plain.keys()
    assert len(tree) == TEMPLATES * ITEMS
    for key, response in tree.items():
        assert response.candidate_tokens == whole[key].candidate_tokens == plain[key].candidate_tokens
    apart = {
        name: float(max(np.abs(np.subtract(tree[key].candidates, others[key].candidates)).max() for key in tree))
        for name, others in (("whole prompts", whole), ("transformers", plain))
    }
    print(f"prefilled {costs[VllmTree]:,.0f} by the tree, {costs[VllmPrompt]:,.0f} by whole prompts; apart {apart}")
    assert max(apart.values()) < 1e-4
    assert costs[VllmPrompt] > 4 * costs[VllmTree] > 0


@pytest.mark.slow
def test_a_server_that_is_killed_in_mid_run_and_started_again(
    vllm_server: VllmServer, bench: Benchmark, tmp_path: Path
) -> None:
    to, models = tmp_path / "run", tmp_path / "models.yaml"
    models.write_text(json.dumps({"tiny": f"openai:{vllm_server.model}@{vllm_server.url}"}))
    command = [*MAIN, "run", str(bench.path), "--models", str(models), "--to", str(to), "--concurrency", "4"]
    templates = "/".join(map(str, range(TEMPLATES)))
    command += ["--condition", f"method=likelihood/first-token+template={templates}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as going:
        while not (to / "journal").exists() or sum(1 for _ in read_responses(to)) < 20:
            assert going.poll() is None, "the run was over before the server could be killed"
            time.sleep(0.01)
        vllm_server.kill()
        killed = {response.request: response for response in read_responses(to)}
        vllm_server.start()
        _, errors = going.communicate(timeout=900)
    assert going.returncode == 0, errors
    stored = list(read_responses(to))
    planned = set(Run(to).plan().column("request").to_pylist())
    assert len(killed) < len(planned)
    assert len(stored) == len({response.request for response in stored})
    assert {response.request for response in stored} == planned
    assert {response.request: response for response in stored}.items() >= killed.items()
    assert {response.outcome for response in stored} == {"answered"}
    assert max(response.attempts for response in stored) > 1
    print(f"{len(killed)} of {len(planned)} were answered when the server was killed; all were in the end")
