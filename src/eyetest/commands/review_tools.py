"""The commands ``review export`` and ``review import``: a review in a spreadsheet or in Label Studio."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from eyetest.commands.base import observer, path_of, several
from eyetest.commands.lazy import reviews
from eyetest.commands.options import AnyPath, Overwrite, Words
from eyetest.commands.results import Written
from eyetest.errors import InputError, counted, heading, short

if TYPE_CHECKING:
    Reviewers = Words | Mapping[str, str]
else:
    Reviewers = Words


def export_review(
    place: AnyPath,
    /,
    *,
    to: AnyPath,
    tool: str = "csv",
    overwrite: Overwrite = False,
) -> Written:
    """Write the open and the made decisions of a review as files of another tool.

    A review of a benchmark has to exist: eyetest review PLACE --address none prepares one. Decisions that people make
    in the other tool come back with eyetest review import.

    Args:
        place: The review, or the refinement or benchmark that it is about.
        to: A new folder for the files.
        tool: csv for a spreadsheet, or label-studio.
        overwrite: Replace files that eyetest wrote before.

    Examples:
        $ eyetest review export mybench --to studio --tool label-studio

        >>> et.export_review("bench-review", to="studio", tool="label-studio").facts["files"]  # doctest: +SKIP

    """
    from eyetest.studio.exchange import check_target, check_tool, outgoing_of, write_files

    form, folder, where = check_tool(tool), path_of(to, "to"), path_of(place, "place")
    check_target(folder, overwrite=overwrite)
    if reviews.recipe_place(where) is None:
        reviews.find_review(where).close()  # otherwise the next line would begin one
    project, collection = reviews.open_review([where], reviews.ReviewSettings(), tell=observer().busy)
    with project:
        waiting, made = outgoing_of(project, collection, form)
    files = [str(folder / name) for name in write_files(waiting, made, form, folder, overwrite=overwrite)]
    line = f"{len(waiting):,} to decide, {counted(len(made), 'decision')} → {folder}"
    return Written("\n".join((line, *files)), {"open": len(waiting), "decisions": len(made), "files": files})


def import_review(file: AnyPath, /, *, on: AnyPath, reviewer: Reviewers = ()) -> Written:
    """Add decisions that were made in another tool to a review.

    All new decisions are added, or none if one of them is invalid.

    Args:
        file: CSV, or the JSON that Label Studio exports.
        on: The review: its folder, or the refinement or benchmark that it is about.
        reviewer: Name of the reviewer, if the file has none, or ID=NAME for a user; repeatable.

    Examples:
        $ eyetest review import export.json --on mybench --reviewer 3=Ann

        >>> et.import_review("export.json", on="bench-review", reviewer={"3": "Ann"}).facts  # doctest: +SKIP
        {'decisions': 40, 'new': 40}

    """
    from eyetest.studio.exchange import read_review

    words: list[str] = [] if isinstance(reviewer, Mapping) else several(reviewer)
    names = {str(user): name for user, name in reviewer.items() if name} if isinstance(reviewer, Mapping) else {}
    for word in words:  # without an id, the name for decisions without a user
        user, name = word.split("=", 1) if "=" in word else ("", word)
        if not name.strip():
            raise InputError(f"{heading('reviewer')}: found {short(word)}, expected NAME or ID=NAME")
        names[user.strip()] = name.strip()
    path = path_of(file, "file")
    with reviews.find_review(path_of(on, "on")) as project:
        read, added = read_review(project, reviews.reviewed_collection(project, observer().busy), path, names)
    facts = {"decisions": read, "new": added}
    return Written(f"{counted(read, 'decision')} in {path.name}, {added:,} of them new", facts)
