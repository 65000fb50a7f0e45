"""What is published: both files hold what they should and nothing else, and the wheel works far from here.

The quick tests install the wheel into an environment that borrows the packages of this one; the slow one lets pip
fetch everything, as a user would, and types what the README shows (`make package`).
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email import message_from_bytes
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement

from eyetest.version import __version__
from tests.cli.test_docs import mine as mine
from tests.cli.test_docs import readme_commands
from tests.conftest import ROOT

MINUTES = 60.0
FIRST_EXAMPLE = ("read", "--options", "cat", "dog", "bird", "fish", "--text", "A dog", "--rules", "all")


class Distributions(NamedTuple):
    """The two files that are published."""

    sdist: Path
    wheel: Path


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


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """Both, the wheel built of the other, so that nothing is missing there either."""
    folder = tmp_path_factory.mktemp("dist")
    (sdist,) = import_module("hatchling.builders.sdist").SdistBuilder(str(ROOT)).build(directory=str(folder))
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    source = folder / Path(sdist).name.removesuffix(".tar.gz")
    builder = import_module("hatchling.builders.wheel").WheelBuilder(str(source))
    (wheel,) = builder.build(directory=str(folder), versions=["standard"])
    return Distributions(Path(sdist), Path(wheel))


@pytest.fixture(scope="module")
def borrowing(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel in an environment of its own, with the packages that are here behind it."""
    folder = tmp_path_factory.mktemp("borrowing")
    venv.create(folder / "env", with_pip=False, symlinks=True)
    paths = {"base": str(folder / "env"), "platbase": str(folder / "env")}
    site = Path(sysconfig.get_path("purelib", scheme="venv", vars=paths))
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "env/bin/python"), "--quiet"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--no-compile", str(distributions.wheel)], check=True)
    return Environment(folder / "env/bin", folder)


def test_the_wheel_holds_the_package_and_its_licences_and_nothing_else(distributions: Distributions) -> None:
    """Templates, recipes and weights are files like any other; what is ignored by name would be missing."""
    inside = set(zipfile.ZipFile(distributions.wheel).namelist())
    files = [path for path in (ROOT / "src/eyetest").rglob("*") if path.is_file()]
    source = {str(path.relative_to(ROOT / "src")) for path in files if "__pycache__" not in path.parts}
    about = f"eyetest-{__version__}.dist-info"
    told = ("METADATA", "RECORD", "WHEEL", "entry_points.txt")
    licences = ("LICENSE", "LICENSES.md", "src/eyetest/harden/screenshot/faces/NotoEmoji-OFL.txt")
    assert inside == source | {f"{about}/{name}" for name in told} | {f"{about}/licenses/{name}" for name in licences}
    assert {Path(name).suffix for name in source} >= {".onnx", ".ttf", ".j2", ".yaml", ".typed"}


def test_the_source_distribution_holds_what_a_wheel_is_built_of(distributions: Distributions) -> None:
    with tarfile.open(distributions.sdist) as archive:
        top = {name.split("/")[1] for name in archive.getnames()}
    about = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "LICENSES.md", "README.md"}
    assert top == {"src", "pyproject.toml", "PKG-INFO", ".gitignore", *about}


def test_the_wheel_works_away_from_the_repository(borrowing: Environment) -> None:
    where = borrowing.call("python", "-c", "import eyetest; print(eyetest.__file__)")
    assert Path(where.strip()).is_relative_to(borrowing.bin.parent)
    assert "audit" in borrowing.call("eyetest", "--help")
    assert "eyetest: chosen B. dog" in borrowing.call("python", "-m", "eyetest", *FIRST_EXAMPLE)


def test_what_the_wheel_asks_for_is_what_is_tested(distributions: Distributions) -> None:
    wheel = zipfile.ZipFile(distributions.wheel)
    about = message_from_bytes(wheel.read(f"eyetest-{__version__}.dist-info/METADATA"))
    core = [Requirement(text) for text in about.get_all("Requires-Dist", []) if "extra ==" not in text]
    assert len(core) > 10
    assert [str(one) for one in core if version(one.name) not in one.specifier] == []
    assert about["Requires-Python"] == ">=3.11"


@pytest.mark.slow
def test_the_wheel_alone_does_what_the_readme_shows(distributions: Distributions, mine: Path) -> None:
    """As a user has it: everything else comes from the index."""
    subprocess.run([sys.executable, "-m", "venv", mine / "env"], check=True)
    clean = Environment(mine / "env/bin", mine)
    clean.call("python", "-m", "pip", "install", "--quiet", str(distributions.wheel), minutes=15)
    assert "No broken requirements" in clean.call("python", "-m", "pip", "check")
    sizes = ((path.stat().st_blocks, path.parts) for path in (mine / "env/lib").rglob("*") if path.is_file())
    print(sum(blocks for blocks, parts in sizes if "pip" not in parts) // 2048, "MB installed")
    for words in readme_commands(mine):
        clean.call("eyetest", *words, minutes=20)
    assert (mine / "both.html").stat().st_size > 10_000
    assert (mine / "demo/report.html").exists()
