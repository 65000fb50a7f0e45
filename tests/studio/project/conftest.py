"""Whatever a test begins is let go of."""

from collections.abc import Iterator

import pytest

from tests.studio.project.reviews import OPENED


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()
