"""What tests share: real data where it is there, and small images."""

import io
import os
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from PIL import Image

from eyetest.benchmarks import Benchmark, import_benchmark
from eyetest.cli.main import as_option
from eyetest.commands.base import Observer, observing
from eyetest.errors import spelled
from tests.endpoint import endpoint as endpoint
from tests.running.processes import _nursery as _nursery
from tests.running.processes import nursery as nursery
from tests.support.browser import Browser

for _profile, _examples in (("eyetest", 25), ("thorough", 100)):
    settings.register_profile(
        _profile,
        max_examples=_examples,
        deadline=None,
        derandomize=bool(os.environ.get("CI")),
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("eyetest")

ROOT = Path(__file__).parent.parent
_JOURNEY_FIXTURES = {"browser", "nursery"}
_NUMBERS = count()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that open a browser or start processes as journeys."""
    for item in items:
        if _JOURNEY_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("journey")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real benchmarks and answers (EYETEST_SHARED, by default ../shared)."""
    folder = Path(os.environ.get("EYETEST_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"no real data: {folder}/data is missing (set EYETEST_SHARED)")
    return folder


@pytest.fixture(scope="session")
def real_benchmark(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Benchmark]:
    """A real benchmark by its name, imported once for all who only read it."""
    folder = tmp_path_factory.mktemp("real")
    return cache(lambda name: import_benchmark(shared / "data" / name, folder / name)[0])


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium, started once for all who open pages."""
    with Browser(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture(autouse=True, scope="session")
def _hurried_disk() -> Iterator[None]:
    """Nobody pulls the plug here, so waiting for the disk shows nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the user's cache; the folder is made when something is cached."""
    monkeypatch.setenv("EYETEST_CACHE", str(tmp_path_factory.getbasetemp() / f"cache-{next(_NUMBERS)}"))


@pytest.fixture(autouse=True)
def _own_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test has learnt to hide is no secret to the next."""
    for learnt in ("_learnt", "_unmistakable"):
        monkeypatch.setattr(f"eyetest.redaction.{learnt}", {})


@pytest.fixture(autouse=True, scope="session")
def _silence() -> Iterator[None]:
    """Notes of jobs are ignored, unless a test observes them; also in fixtures of modules."""
    with observing(Observer()):
        yield


@pytest.fixture(autouse=True)
def _spelling() -> Iterator[None]:
    """Messages name parameters as the command line does, where a test does not say otherwise."""
    with spelled(as_option):
        yield


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def png(colour: str = "red", size: tuple[int, int] = (8, 8)) -> bytes:
    data = io.BytesIO()
    Image.new("RGB", size, colour).save(data, "PNG")
    return data.getvalue()
