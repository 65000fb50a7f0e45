"""What is published: the files of both distributions hold what they should, and the wheels work elsewhere.

The quick tests install the wheels into an environment that borrows the packages of this one; the slow one lets pip
fetch everything, as a user would, and types what the README shows (`make package`).
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email import message_from_bytes
from email.message import Message
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement

from eyetest.benchmarks import Benchmark
from eyetest.version import __version__
from tests.conftest import ROOT
from tests.docs.test_readme import mine as mine
from tests.docs.test_readme import readme_commands

pytestmark = pytest.mark.journey

"""Bytes of eyetest's wheel: a newcomer downloads it, and images or weights in it would not be noticed otherwise."""
MINUTES = 60.0
MOST_OF_CORE = 3_000_000
WORLD = ROOT / "packages/eyetest-world"
FIRST_EXAMPLE = ("score", "--options", "cat,dog,bird,fish", "--text", "A dog", "--rules", "all")


class Distributions(NamedTuple):
    """The files of one distribution that are published."""

    sdist: Path
    wheel: Path

    @property
    def about(self) -> Message:
        wheel = zipfile.ZipFile(self.wheel)
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(wheel.read(name))

    @property
    def required(self) -> list[Requirement]:
        """What the wheel needs without extras."""
        found = (Requirement(text) for text in self.about.get_all("Requires-Dist", []))
        return [requirement for requirement in found if "extra" not in str(requirement.marker)]


class Environment(NamedTuple):
    """An environment away from this repository, and a folder to work in."""

    bin: Path
    here: Path

    def call(self, *words: str, minutes: float = 1) -> str:
        """What one of its programs says."""
        command = [str(self.bin / words[0]), *words[1:]]
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        settings = {"cwd": self.here, "env": surroundings, "timeout": minutes * MINUTES}
        done = subprocess.run(command, capture_output=True, text=True, check=False, **settings)  # type: ignore[call-overload]
        assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
        return str(done.stdout)


def build(project: Path, folder: Path) -> Distributions:
    """Both files, the wheel built of the source distribution, so that nothing is missing there either."""
    (sdist,) = import_module("hatchling.builders.sdist").SdistBuilder(str(project)).build(directory=str(folder))
    with tarfile.open(sdist) as archive:
        archive.extractall(folder)
    source = folder / Path(sdist).name.removesuffix(".tar.gz")
    builder = import_module("hatchling.builders.wheel").WheelBuilder(str(source))
    (wheel,) = builder.build(directory=str(folder), versions=["standard"])
    return Distributions(Path(sdist), Path(wheel))


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    return build(WORLD, tmp_path_factory.mktemp("dist-world"))


def borrow(folder: Path, *wheels: Path) -> Environment:
    """Wheels in a new environment, with the packages that are here behind it."""
    venv.create(folder / "env", with_pip=False, symlinks=True)
    paths = {"base": str(folder / "env"), "platbase": str(folder / "env")}
    site = Path(sysconfig.get_path("purelib", scheme="venv", vars=paths))
    (site / "borrowed.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "env/bin/python"), "--quiet"]
    install = [*pip, "install", "--no-deps", "--no-index", "--no-compile", "--ignore-installed"]
    subprocess.run([*install, *map(str, wheels)], check=True)
    return Environment(folder / "env/bin", folder)


@pytest.fixture(scope="module")
def borrowing(core: Distributions, world: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Both wheels in an environment of its own."""
    return borrow(tmp_path_factory.mktemp("borrowing"), core.wheel, world.wheel)


def test_a_wheel_holds_its_package_and_its_licences_and_nothing_else(
    core: Distributions, world: Distributions
) -> None:
    """Templates, recipes and weights are files like any other; what is ignored by name would be missing."""
    licences = {
        "eyetest": ("LICENSE", "LICENSES.md", "src/eyetest/harden/screenshot/faces/NotoEmoji-OFL.txt"),
        "eyetest_world": ("LICENSE",),
    }
    for files, name, source in ((core, "eyetest", ROOT / "src"), (world, "eyetest_world", WORLD / "src")):
        inside = set(zipfile.ZipFile(files.wheel).namelist())
        paths = [path for path in (source / name).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        about = f"{name}-{__version__}.dist-info"
        said = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", *(f"licenses/{one}" for one in licences[name]))
        assert inside == {str(path.relative_to(source)) for path in paths} | {f"{about}/{one}" for one in said}


def test_the_core_is_small_and_leaves_weights_to_the_other(core: Distributions, world: Distributions) -> None:
    kinds = [{Path(name).suffix for name in zipfile.ZipFile(files.wheel).namelist()} for files in (core, world)]
    assert core.wheel.stat().st_size < MOST_OF_CORE
    assert kinds[0] >= {".ttf", ".j2", ".yaml", ".typed"}
    assert ".onnx" not in kinds[0]
    assert kinds[1] >= {".onnx", ".j2", ".yaml", ".typed"}
    needed = [{requirement.name for requirement in files.required} for files in (core, world)]
    assert "onnxruntime" in needed[1] - needed[0]
    assert "eyetest" in needed[1]
    demo = [text for text in core.about.get_all("Requires-Dist", []) if "demo" in text]
    assert [Requirement(text).name for text in demo] == ["eyetest-world"]
    assert core.about["Version"] == world.about["Version"] == __version__


def test_the_locks_pin_what_both_distributions_need(core: Distributions, world: Distributions) -> None:
    needed = {requirement.name.lower() for files in (core, world) for requirement in files.required} - {"eyetest"}
    for lock in ("requirements.lock", "requirements-dev.lock"):
        pinned = {line.partition("==")[0] for line in (ROOT / lock).read_text().splitlines() if "==" in line}
        assert needed - pinned == set()


def test_the_source_distribution_holds_what_a_wheel_is_built_of(core: Distributions) -> None:
    with tarfile.open(core.sdist) as archive:
        top = {name.split("/")[1] for name in archive.getnames()}
    about = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "LICENSES.md", "README.md"}
    assert top == {"src", "pyproject.toml", "PKG-INFO", ".gitignore", *about}


def test_the_wheels_work_away_from_the_repository(borrowing: Environment) -> None:
    for package in ("eyetest", "eyetest_world"):
        where = borrowing.call("python", "-c", f"import {package}; print({package}.__file__)")
        assert Path(where.strip()).is_relative_to(borrowing.bin.parent)
    assert {"audit", "demo"} <= set(borrowing.call("eyetest", "--help").split())
    assert "eyetest: chosen B. dog" in borrowing.call("python", "-m", "eyetest", *FIRST_EXAMPLE)
    assert "embedded:owl-m" in borrowing.call("eyetest", "world", "models")


def test_what_the_wheels_ask_for_is_what_is_tested(core: Distributions, world: Distributions) -> None:
    needed = [*core.required, *world.required]
    assert len(needed) > 20
    assert [str(one) for one in needed if version(one.name) not in one.specifier] == []
    assert core.about["Requires-Python"] == world.about["Requires-Python"] == ">=3.11"


@pytest.mark.slow
def test_the_wheels_do_what_the_readme_shows(core: Distributions, world: Distributions, mine: Path) -> None:
    """As a user has it: everything else comes from the index."""
    subprocess.run([sys.executable, "-m", "venv", mine / "env"], check=True)
    clean = Environment(mine / "env/bin", mine)
    clean.call("python", "-m", "pip", "install", "--quiet", f"{core.wheel}[demo]", str(world.wheel), minutes=15)
    assert "No broken requirements" in clean.call("python", "-m", "pip", "check")
    sizes = ((path.stat().st_blocks, path.parts) for path in (mine / "env/lib").rglob("*") if path.is_file())
    print(sum(blocks for blocks, parts in sizes if "pip" not in parts) // 2048, "MB installed")
    shutil.copy(mine / "mine.tsv", mine / "mybench.tsv")
    for words in readme_commands(next(iter(Benchmark(mine / "mine-drawn"))).id):
        clean.call("eyetest", *words, minutes=20)
    assert (mine / "leaderboard.html").stat().st_size > 10_000
    assert (mine / "demo/report.html").exists()
