"""``eyetest export-answers``: take a run's answers out as one table."""

from pathlib import Path
from typing import Annotated

from eyetest.cli.options import OverwriteOption, RunArgument, option
from eyetest.cli.terminal import note, out, safe
from eyetest.runs import Run
from eyetest.runs.answers import write_answers


def export_answers_(
    run: RunArgument,
    to: Annotated[Path, option("--to", "The table: .parquet, .jsonl or .csv.", "FILE")],
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
