"""``eyetest review export`` and ``import``: for teams that keep their spreadsheet or Label Studio."""

from pathlib import Path
from typing import Annotated, get_args

from eyetest.cli.options import OverwriteOption, argument, option
from eyetest.cli.review import AskedOptions, OnOption
from eyetest.cli.terminal import note, out
from eyetest.errors import InputError, param
from eyetest.jobs import review_tools as job
from eyetest.review.exchange.files import ToolFormat
from eyetest.wording import counted


def export(
    places: Annotated[
        list[Path],
        argument("PLACE...", "The review; or a refinement, or a benchmark with runs and audits of it."),
    ],
    asked: AskedOptions,
    to: Annotated[Path, option("--to", "A new folder for the files.", "DIR")],
    tool: Annotated[str, option("--tool", f"Whose files: {', '.join(get_args(ToolFormat))}.", "NAME")] = "csv",
    round_: Annotated[int | None, option("--round", "Only this round.", min=1)] = None,
    with_pictures: Annotated[bool, option("--with-pictures", "Put the pictures themselves into the files.")] = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Write what waits, and what was decided, as files of a spreadsheet or of Label Studio.

    Begins a review where there is none, as eyetest review does. What people decide comes back with eyetest review
    import.
    """
    exported = job.write_review_files(
        places,
        to,
        wishes=asked,
        tool=tool,
        round=round_,
        with_pictures=with_pictures,
        overwrite=overwrite,
    )
    note(f"{exported.waiting:,} to decide, {counted(exported.decisions, 'decision')} → {to}")
    for name in exported.files:
        out.print(str(to / name), highlight=False, soft_wrap=True)


def import_(
    file: Annotated[Path, argument("FILE", "CSV, or the JSON that Label Studio exports.")],
    on: OnOption,
    tool: Annotated[
        str | None, option("--tool", "Whose file: csv or label-studio, where it does not show.", "NAME")
    ] = None,
    reviewer: Annotated[
        list[str] | None,
        option("--reviewer", "Who decided, where the file does not say; ID=NAME for a user of the tool.", "NAME"),
    ] = None,
) -> None:
    """Take decisions in that were made in another tool: all that are new, or none where one is wrong."""
    names = dict(_named(text) for text in reviewer or ())
    imported = job.read_review_files(file, on, tool=tool, reviewers=names)
    note(f"{counted(imported.read, 'decision')} in {file.name}, {imported.added:,} of them new")


def _named(text: str) -> tuple[str, str]:
    """Who it is by the tool's id; by nothing, who it is where the tool does not say."""
    identity, equals, name = text.partition("=")
    if not (name if equals else identity).strip():
        raise InputError(f"{param('reviewer')}: found {text!r}, expected NAME or ID=NAME")
    return (identity.strip(), name.strip()) if equals else ("", identity.strip())
