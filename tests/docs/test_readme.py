"""The README: its first screen, its first example, its commands on a real file."""

import re
import shlex
from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.conftest import ROOT
from tests.docs.pages import ITEMS, blocks, commands, draw, offline, write_real
from tests.endpoint import Endpoint
from tests.support.command import call_narrowly

pytestmark = pytest.mark.journey


@pytest.fixture
def mine(workdir: Path) -> Path:
    draw(workdir, "mine", seed=1)
    named = yaml.safe_load(blocks("refine.md", "yaml")[0])
    entries = {name: {"spec": offline(entry["spec"])} for name, entry in named.items()}
    (workdir / "models.yaml").write_text(yaml.safe_dump(entries))
    return workdir


def test_its_first_screen_names_the_two_commands_of_a_fresh_machine() -> None:
    first_screen = (ROOT / "README.md").read_text("utf-8").splitlines()[:40]
    commands_shown = [line.partition("#")[0].strip() for line in first_screen if line.startswith("$ make ")]
    assert commands_shown == ["$ make demo", "$ make test"]


def test_the_first_example_is_true() -> None:
    shown = re.findall(
        r"^\$ eyetest (score --text .*)\n((?:.*: chosen .*\n)+)", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    ((words, reported),) = shown
    assert call_narrowly(*shlex.split(words)).fine() == reported
    assert reported.count("B. dog") == 1
    assert reported.count("A. cat") == 4


@pytest.fixture
def real(mine: Path, shared: Path) -> Path:
    """Choice items of MathVista as a TSV with images, as people have it."""
    write_real(mine / "mybench.tsv", shared / "data/mathvista", ITEMS)
    return mine


def readme_commands(first: str) -> list[list[str]]:
    """What the README types, on files that it speaks of; not what is left running."""
    Path("mine.jsonl").write_text(
        "".join(f'{{"id": {n}, "prompt": "Which?", "choices": ["a{n}", "b"], "gold": "A"}}\n' for n in range(40))
    )
    shown = (words for words in commands("README.md") if words[0] != "open")
    return [[first if word == "17" else offline(word) for word in words] for words in shown]


def test_readme_and_init(real: Path, endpoint: Endpoint) -> None:
    """The three paths of the README, then what ``init`` writes, on a real file."""
    first = pl.read_csv("mybench.tsv", separator="\t", infer_schema=False)["index"][0]
    wanted = [words for words in readme_commands(first) if words[0] != "demo"]  # tested elsewhere
    assert [words[0] for words in wanted].count("run") == 2
    for words in wanted:
        done = call_narrowly(*words)  # what pages tell one to type has to fit
        assert done.code == 0, (words, done.err)
    assert Path("leaderboard.html").stat().st_size > 10_000
    assert len(pl.read_csv("refined.tsv", separator="\t", infer_schema=False)) <= ITEMS
