"""Plug-ins of other distributions: found, listed and used like built-in ones; a bad one is refused in one line."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from eyetest.cli import app
from tests.conftest import ROOT
from tests.support.command import call

pytestmark = pytest.mark.journey

BENCH = "id,question,A,B,answer\n1,What is it?,cat,dog,A\n2,What is that now?,cat,dog,B\n"


class Installed(NamedTuple):
    """A folder that a distribution is installed into, and a folder to work in."""

    site: Path
    here: Path

    def eyetest(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "eyetest", *words]
        env = {**os.environ, "PYTHONPATH": str(self.site), "COLUMNS": "100"}
        return subprocess.run(command, cwd=self.here, env=env, capture_output=True, text=True, check=False)

    def fine(self, *words: str) -> str:
        done = self.eyetest(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refused(self, *words: str) -> str:
        done = self.eyetest(*words)
        assert (done.returncode, done.stdout) == (2, ""), done
        (line,) = done.stderr.splitlines()
        return line


def install(folder: Path, pyproject: str, code: str) -> Installed:
    """Build and install a distribution as pip does it for a user."""
    source = folder / "source"
    source.mkdir()
    (source / "pyproject.toml").write_text(pyproject)
    (source / "eyetest_parrot.py").write_text(code)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(folder / "site"), str(source)], check=True)
    (folder / "mybench.csv").write_text(BENCH)
    return Installed(folder / "site", folder)


def example() -> tuple[str, str]:
    """The distribution that CONTRIBUTING.md shows: its pyproject.toml and its module."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("### A distribution of your own")[2]
    (pyproject,) = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    return pyproject, re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]


@pytest.fixture(scope="module")
def parrot(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """That distribution, installed."""
    return install(tmp_path_factory.mktemp("parrot"), *example())


def test_a_measure_a_metric_a_model_and_a_command_of_another_distribution(parrot: Installed) -> None:
    assert re.search(r"longest +Print the longest question of a benchmark\.", parrot.fine("--help"))
    assert parrot.fine("longest", "mybench.csv") == "What is that now?\n"
    assert parrot.fine("longest", "--help").rstrip().endswith("eyetest --help")
    assert "Example:\n  eyetest longest mybench.tsv\n" in parrot.fine("longest", "--help")
    parrot.fine("run", "mybench.csv", "--model", "echo=parrot:Answer: A", "--condition", "no-image", "--to", "run")
    assert re.search(r"reply-length +mean length of replies", parrot.fine("measure", "--list"))
    assert parrot.fine("measure", "reply-length", "run", "--output", "csv").splitlines()[1:] == ["echo,9.0,2"]
    assert 'did you mean "same-length"' in parrot.refused("score", "run", "--metric", "same-lenght")
    words = "id,question,answer,image_path\n1,What?,ABCDEFGHI,\n2,What?,B,\n"
    (parrot.here / "words.csv").write_text(words)
    parrot.fine("run", "words.csv", "--model", "echo=parrot:Answer: A", "--condition", "no-image", "--to", "said")
    assert "same-length" in parrot.fine("score", "said", "--metric", "same-length")


def test_a_plug_in_that_fails_to_load_is_named(tmp_path: Path) -> None:
    broken = install(tmp_path, example()[0], "import a_module_that_is_missing\n")
    for words in (("longest", "mybench.csv"), ("measure", "--list")):
        line = broken.refused(*words)
        assert line.startswith("error: eyetest-parrot: its plug-in eyetest.")
        assert "a_module_that_is_missing" in line
    assert "longest" in broken.fine("--help")


def test_a_plug_in_with_the_name_of_a_built_in_one_is_refused(tmp_path: Path) -> None:
    pyproject, code = example()
    renamed = pyproject.replace('\nlongest = "', '\naudit = "')
    taken = install(tmp_path, renamed, code.replace('"same-length"', '"vqa"'))
    assert 'eyetest-parrot: there is another command named "audit"' in taken.refused("--help")
    about = taken.site / "eyetest_parrot-1.0.dist-info/entry_points.txt"
    about.write_text(about.read_text().replace("audit =", "longest ="))
    taken.fine("run", "mybench.csv", "--model", "scripted:", "--condition", "no-image", "--to", "run")
    line = taken.refused("score", "run", "--metric", "vqa")
    assert line.startswith('error: eyetest-parrot: there is another metric named "vqa"; rename it, or uninstall')


@pytest.mark.parametrize("words", [name.split() for name in app._WORLD], ids=" ".join)
def test_a_command_of_eyetest_world_says_how_to_get_it(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is without that distribution: no plug-in declares the command."""
    monkeypatch.setattr(app, "_plugin_points", dict)
    command = " ".join(words)
    expected = f"error: eyetest {command} needs the package eyetest-world: pip install 'eyetest[demo]'"
    assert call(*words, "new").refused() == expected
