"""The tutorial runs from top to bottom, and is committed without what it printed."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import ROOT

TUTORIAL = ROOT / "docs/tutorial.ipynb"
MOST_SECONDS = 600
"""For a cell that hangs; how fast it is, is not asked here."""


def test_the_committed_file_holds_no_outputs() -> None:
    notebook = nbformat.read(TUTORIAL, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert not any(cell.outputs or cell.execution_count for cell in code)


@pytest.mark.filterwarnings("ignore")  # of the kernel's own making
def test_it_runs_from_top_to_bottom(tmp_path: Path) -> None:
    notebook = nbformat.read(TUTORIAL, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(notebook, timeout=MOST_SECONDS, resources={"metadata": {"path": str(tmp_path)}})
    done = client.execute()
    shown = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    assert "Warning" not in "".join(output.text for output in shown if output.output_type == "stream")
    cards = [output.data["text/html"] for output in shown if "text/html" in output.get("data", {})]
    assert sum("data:image/" in card for card in cards) >= 3
    assert "chance-aware" in "".join(cards)
