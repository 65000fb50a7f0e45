"""The Python of docs/python.md and of the README runs, in the order in which a reader would type it."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.journey


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def test_the_page_on_python(here: Path) -> None:
    space: dict[str, Any] = {}
    for block in blocks(ROOT / "docs/python.md"):
        exec(block, space)
    assert {*space["gain"].frame["model"]} >= {"seer", "squinter"}
    assert space["both"].scores.filter(model="mine").collect().height == len(space["replies"]) > 0


def test_the_readme(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "empty").mkdir()
    monkeypatch.chdir(here / "empty")
    Path("mybench.tsv").symlink_to(here / "mine.tsv")
    code = "\n".join(blocks(ROOT / "README.md"))
    assert "et.run(" in code
    offline = re.sub(r"openai:[^\"]+", "scripted:right=0.8,blind=0.4", code)
    exec(offline.replace('bench["17"]', "next(iter(bench))"), {})
