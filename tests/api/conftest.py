"""A small drawn world, answers of three scripted models to it, and a recipe's panel: what the examples speak of."""

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import eyetest_world
import msgspec
import pytest
import yaml
from eyetest_world.commands import renew

import eyetest as et
from eyetest.benchmarks import BenchmarkWriter
from eyetest.commands.base import NOTEBOOK, observing
from eyetest.errors import in_python, spelled
from eyetest.records import Manifest

ITEMS, FILTERS = 60, 12
MODELS = {
    "seer": {"spec": "scripted:right=0.9,blind=0.4", "base": "language"},
    "squinter": {"spec": "scripted:right=0.6,blind=0.4,seed=2", "base": "language"},
    "language": "scripted:right=0.3,blind=0.3,seed=3",
}
PANEL = {f"reader-{seed}": f"scripted:right=0.3,blind=0.35,seed={seed}" for seed in range(5)}


@pytest.fixture(autouse=True)
def _spelling() -> Iterator[None]:
    """Messages name parameters as Python does, and notes are warnings."""
    with spelled(in_python), observing(NOTEBOOK):
        yield


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``world/benchmark``, ``run``, ``mine.tsv``, ``models.yaml``. Nobody changes it; `here` is a copy."""
    place = tmp_path_factory.mktemp("drawn")
    world = eyetest_world.new_world(place / "first", eyetest_world.load_rates("none"), items=ITEMS, size=64, seed=1)
    (place / "world").mkdir()
    with BenchmarkWriter(place / "world/benchmark", world.manifest) as writer:
        for number, item in enumerate(world):
            before = f"q{number - 1:02}" if number % 2 else ""
            tags = item.tags | {"dialogue": f"d{number // 2}", "turn": number % 2 + 1}
            writer.adopt(msgspec.structs.replace(item, group=before, tags=tags), world)
    et.export_benchmark(world, "vlmevalkit", place / "mine.tsv")
    (place / "models.yaml").write_text(yaml.safe_dump(PANEL))
    et.run(place / "world/benchmark", models=MODELS, condition="modality=image/no-image+order=0/1", to=place / "run")
    return place


@pytest.fixture(scope="session")
def hardened(drawn: Path) -> Path:
    """``ten``, ``twins``, ``screens``: runs over the same world with more options, with twins, as screenshots."""
    world, place = drawn / "first/benchmark", drawn / "hardened"
    with warnings.catch_warnings(action="ignore"):
        ten = et.harden_options(drawn / "world/benchmark", to=place / "options").benchmark
    et.run(ten, models=MODELS, condition="image,no-image", to=place / "ten")
    twins = renew(world, to=place / "twinned", twins=1).benchmark
    et.run(twins, models=MODELS, to=place / "twins")
    with BenchmarkWriter(place / "few", Manifest(name="few")) as writer:
        for item in et.Benchmark(world).take(range(FILTERS)):
            writer.adopt(item, et.Benchmark(world))
    screens = et.harden_screenshot(place / "few", to=place / "screenshots").benchmark
    asks = [et.Condition(modality="screenshot", ask=ask) for ask in ("direct", "ocr")]
    et.run(screens, models=MODELS, condition=asks, to=place / "screens")
    return place


@pytest.fixture(scope="session")
def weighed(drawn: Path) -> Path:
    """``weighed``: written and weighed answers to the same world, in several modalities and orders."""
    ways = "modality=image/no-image/no-question+method=generate/likelihood/first-token+order=0/1"
    et.run(drawn / "world/benchmark", models=MODELS, condition=ways, to=drawn / "weighed")
    return drawn


@pytest.fixture
def here(drawn: Path, workdir: Path) -> Path:
    """The same files, linked where a test may write, in the folder where it runs."""
    for name in ("world", "mine.tsv", "models.yaml"):
        (workdir / name).symlink_to(drawn / name)
    shutil.copytree(drawn / "run", workdir / "run")
    return workdir
