"""``eyetest export-answers``: take a run's answers out as one table."""

from pathlib import Path
from typing import Annotated

import typer

from eyetest.cli.options import OverwriteOption
from eyetest.cli.terminal import note, out, safe
from eyetest.runs import Run
from eyetest.runs.answers import write_answers


def export_answers_(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="The table: .parquet, .jsonl or .csv.")],
    overwrite: OverwriteOption = False,
) -> None:
    """Write a run's answers as one table: item, model, how it was asked, what was said, what became of it.

    The table can be brought into another run with import-answers, or replayed as it is.
    """
    Run(run)
    written, missing = write_answers(run, to, overwrite=overwrite)
    out.print(safe(f"{written:,} answers → {to}"), soft_wrap=True)
    if missing:
        note(f"{missing:,} planned calls have no answer yet and are not in the table")
