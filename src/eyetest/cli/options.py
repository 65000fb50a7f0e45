"""Arguments that several commands share, so that every command which takes a benchmark takes any readable file."""

from pathlib import Path
from typing import Annotated

import typer

from eyetest.benchmarks import ANSWER_STYLES, FORMATS, Benchmark, ReadOptions, is_benchmark, open_benchmark, parse_map
from eyetest.cli.terminal import progress_bar
from eyetest.errors import InputError, nearest

_READING = "How the file is read"


BenchArgument = Annotated[
    Path, typer.Argument(metavar="BENCH", help="A benchmark folder, or any file that eyetest can import.")
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="Its format, if it is not recognised.", rich_help_panel=_READING),
]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN,…",
        help="Which column holds what, where names differ: question=prompt,options=choices. Several columns: A+B+C.",
        rich_help_panel=_READING,
    ),
]
ImagesOption = Annotated[
    Path | None,
    typer.Option(
        "--images",
        metavar="DIR",
        help="Folder that image paths start from and may not leave. (default: the file's own)",
        rich_help_panel=_READING,
    ),
]
AnswersOption = Annotated[
    str | None,
    typer.Option(
        "--answers",
        metavar="STYLE",
        help="How golds point at options: letter, text, index (from 0) or number (from 1). (default: by looking)",
        rich_help_panel=_READING,
    ),
]
DropOption = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Leave a column out.", rich_help_panel=_READING),
]
GoldOption = Annotated[
    bool,
    typer.Option("--allow-missing-gold", help="Take items whose answer is held back.", rich_help_panel=_READING),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace what eyetest wrote there before.")]


def read_options(
    format_name: str | None = None,
    fields: list[str] | None = None,
    images: Path | None = None,
    answers: str | None = None,
    drop: list[str] | None = None,
    allow_missing_gold: bool = False,
    allow_missing_pictures: bool = False,
) -> ReadOptions:
    """The user's words about a file, checked."""
    if format_name:
        FORMATS[format_name]
    if answers is not None and answers not in ANSWER_STYLES:
        raise InputError(f'--answers: no style "{answers}"; {nearest(answers, ANSWER_STYLES)}')
    if images is not None and not images.is_dir():
        raise InputError(f"--images: {images} is no folder")
    return ReadOptions(
        format=format_name,
        fields=parse_map(fields or []),
        images=images,
        answers=answers,
        drop=tuple(drop or ()),
        gold_required=not allow_missing_gold,
        pictures_required=not allow_missing_pictures,
    )


def open_with_bar(path: Path, read: ReadOptions) -> Benchmark:
    """Open a benchmark; a file that has to be imported first shows how far it is."""
    if is_benchmark(path):
        return open_benchmark(path)
    with progress_bar(f"reading {path.name}") as progress:
        return open_benchmark(path, read, progress)
