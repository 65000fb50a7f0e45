"""Run docs/tutorial.ipynb and store it with what it printed: ``python -m tools.tutorial``, or ``make tutorial``.

A reader sees its images and tables without running anything; a test holds what is stored against what it prints.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient

TUTORIAL = Path(__file__).parents[1] / "docs/tutorial.ipynb"
MOST_SECONDS = 600
"""For a cell that hangs."""


def read() -> Any:
    """The notebook as it is stored."""
    return nbformat.read(TUTORIAL, as_version=4)  # type: ignore[no-untyped-call]


def executed(folder: Path) -> Any:
    """The notebook after every cell was run in a folder, without when that was and how far it was meanwhile."""
    done = NotebookClient(read(), timeout=MOST_SECONDS, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in done.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if not one.get("text", "").startswith("\r")]
    return done


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        nbformat.write(executed(Path(place)), TUTORIAL)  # type: ignore[no-untyped-call]
