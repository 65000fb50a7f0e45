"""A real engine for tests of models."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.serving import VllmServer, make_weights


@pytest.fixture(scope="session")
def served_llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights of a LLaVA that vLLM and transformers both load."""
    return make_weights("served-llava", tmp_path_factory.mktemp("served") / "llava")


@pytest.fixture(scope="session")
def vllm_server(served_llava: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """vLLM's own server with these weights."""
    server = VllmServer(served_llava, tmp_path_factory.mktemp("vllm") / "log.txt")
    server.start()
    yield server
    server.kill()
