"""The command line, processes and an endpoint for tests of recipes."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.endpoint import endpoint as endpoint
from tests.running import processes
from tests.running.processes import Nursery
from tests.runs.conftest import eyetest as eyetest

_MORE = """
import eyetest.cli.refine, scipy.stats
from eyetest.screens import SCREENS
from eyetest.probes import PROBES
list(SCREENS), list(PROBES)
"""


class _Warm(Nursery):
    """A nursery that has also loaded what a refinement takes."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0
        self._process = subprocess.Popen(
            [sys.executable, "-c", _MORE + processes._NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="session")
def _nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    nursery = _Warm(tmp_path_factory.mktemp("nursery"))
    yield nursery
    nursery.close()


@pytest.fixture
def nursery(_nursery: Nursery, tmp_path: Path) -> Nursery:
    """Starts commands in processes of their own."""
    _nursery.home(tmp_path)
    return _nursery
