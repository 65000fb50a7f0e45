"""Processes for tests of recipes."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.running.processes import Nursery

_REFINING = """
import eyetest.recipes, scipy.stats
from eyetest.filters import FILTERS
from eyetest.probes import PROBES
list(FILTERS), list(PROBES)
"""


@pytest.fixture(scope="session")
def _nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """One that has loaded what a refinement takes."""
    with closing(Nursery(tmp_path_factory.mktemp("nursery"), _REFINING)) as nursery:
        yield nursery
