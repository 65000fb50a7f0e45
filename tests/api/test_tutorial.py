"""The tutorial runs from top to bottom, and prints what is stored with it."""

from pathlib import Path
from typing import Any

import nbformat
import pytest

from tools.tutorial import executed, read


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def told(notebook: Any) -> list[str]:
    """What it says in words. Cards and charts may look otherwise some day and say the same."""
    return [one.text if one.output_type == "stream" else one.data["text/plain"] for one in outputs(notebook)]


@pytest.mark.filterwarnings("ignore")  # of the kernel's own making
def test_it_prints_what_is_stored(tmp_path: Path) -> None:
    stored, done = read(), executed(tmp_path)
    nbformat.validate(stored)
    assert told(done) == told(stored), "make tutorial stores what it prints now"
    assert "Warning" not in "".join(output.text for output in outputs(done) if output.output_type == "stream")
    for notebook in (stored, done):
        cards = [output.data["text/html"] for output in outputs(notebook) if "text/html" in output.get("data", {})]
        assert sum("data:image/" in card for card in cards) >= 3
        assert "chance-aware" in "".join(cards)
    assert str(tmp_path) not in "".join(told(done))
