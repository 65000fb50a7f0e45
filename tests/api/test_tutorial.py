"""The tutorial runs from top to bottom, and prints the words that are stored with it."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tools.tutorial import executed, read

pytestmark = pytest.mark.journey


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def texts(notebook: Any) -> list[str]:
    return [found.text if found.output_type == "stream" else found.data["text/plain"] for found in outputs(notebook)]


def words(notebook: Any) -> list[set[str]]:
    """The words of each output: figures of toy models, and so the order of rows, differ between processors."""
    return [set(re.findall(r"[A-Za-z][\w-]{2,}", text)) for text in texts(notebook)]


@pytest.mark.filterwarnings("ignore")  # of the kernel's own making
def test_it_prints_what_is_stored(tmp_path: Path) -> None:
    stored, done = read(), executed(tmp_path)
    nbformat.validate(stored)
    assert words(done) == words(stored), "make tutorial stores what it prints now"
    assert "Warning" not in "".join(output.text for output in outputs(done) if output.output_type == "stream")
    for notebook in (stored, done):
        cards = [output.data["text/html"] for output in outputs(notebook) if "text/html" in output.get("data", {})]
        assert sum("data:image/" in card for card in cards) >= 3
        assert "chance-aware" in "".join(cards)
    assert str(tmp_path) not in "".join(texts(done))
