"""What these tests share: pages are dear, so each is set once."""

from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.harden.screenshot.page import Typesetter
from eyetest.harden.screenshot.taking import Screenshots, ScreenshotSettings, take_screenshots
from tests.harden.screenshot.pages import own_benchmark


@pytest.fixture(scope="session")
def typesetter() -> Typesetter:
    """The renderer, its fonts looked up once."""
    return Typesetter()


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Forty questions of our own."""
    return own_benchmark(tmp_path_factory.mktemp("pages") / "own")


@pytest.fixture(scope="session")
def taken(own: Benchmark) -> Screenshots:
    """The same as screenshots."""
    to: Path = own.path.parent / "taken"
    return take_screenshots(own, to, ScreenshotSettings(seed=7), workers=1)
