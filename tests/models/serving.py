"""A real vLLM on the processor with random weights, for slow tests. ``make vllm`` sets it up; without it they skip.

EYETEST_VLLM_PYTHON names another Python that has vLLM.
"""

import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.proxy import free_port

_MOST_SECONDS = 600
"""How long a server may take until it answers; two minutes are usual on two cores."""
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}


def python_with_vllm() -> Path:
    """The environment's Python, or a skip."""
    python = Path(os.environ.get("EYETEST_VLLM_PYTHON", ROOT / ".venv-vllm/bin/python"))
    if not python.exists():
        pytest.skip("no vLLM here: make vllm")
    return python


def make_weights(kind: str, folder: Path) -> Path:
    """A small checkpoint that vLLM and transformers both load, as ``tests.models.checkpoint.tiny`` makes them."""
    command: list[str | Path] = [python_with_vllm(), "-m", "tests.models.checkpoint.tiny", kind, folder]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **ENVIRONMENT})
    return folder


def wait_for(url: str, process: subprocess.Popen[bytes], seconds: float, log: Path | None = None) -> None:
    """Return once a server answers."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text(errors="replace")[-3000:] if log else "the server ended"
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            time.sleep(0.5)
        else:
            return
    raise AssertionError("the server does not answer")


class VllmServer:
    """vLLM's own server, which can be killed and started anew under the same address."""

    def __init__(self, weights: Path, log: Path, *options: str) -> None:
        self.port = free_port()
        self.root = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.root}/v1"
        self.model = "tiny"
        self._log = log
        self._command = [
            str(python_with_vllm().with_name("vllm")),
            "serve",
            str(weights),
            "--served-model-name",
            self.model,
        ]
        self._command += ["--host", "127.0.0.1", "--port", str(self.port), "--dtype", "float32", "--enforce-eager"]
        self._command += ["--max-model-len", "2048", "--max-num-seqs", "32", "--block-size", "32", *options]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {**os.environ, **ENVIRONMENT}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, env=environment, start_new_session=True
            )
        wait_for(f"{self.root}/health", self._process, _MOST_SECONDS, self._log)

    def kill(self) -> None:
        """End it at once with the engine that it started, which would live on."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def metrics(self) -> dict[str, float]:
        """Its counters, each under its name, with labels where one is told apart: ``name{source="…"}``."""
        with urllib.request.urlopen(f"{self.root}/metrics", timeout=60) as page:
            lines = page.read().decode().splitlines()
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")}
