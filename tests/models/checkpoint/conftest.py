from functools import cache
from typing import Any

import pytest

pytest.importorskip("torch", reason="checkpoints need PyTorch: make torch")
pytest.importorskip("transformers", reason="checkpoints need transformers: make torch")


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A tiny checkpoint of each architecture, made when it is asked for."""
    from tests.models.checkpoint.tiny import make_checkpoint

    folder = tmp_path_factory.mktemp("checkpoints")
    return cache(lambda kind: make_checkpoint(kind, folder / kind))
