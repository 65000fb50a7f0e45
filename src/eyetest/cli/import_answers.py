"""``eyetest import-answers``: bring what other tools asked into a run."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from eyetest.benchmarks import copy_without_pictures
from eyetest.cli import options
from eyetest.cli.terminal import note, out, safe
from eyetest.errors import InputError, nearest, short
from eyetest.records import RunBenchmark
from eyetest.runs import BENCHMARK
from eyetest.runs.importing import FieldMap, Source, import_answers, parse_field_map
from eyetest.wording import listed

_ROWS = ("item", "model")
_READING = "How the file is read"


def import_answers_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Answers in .parquet, .jsonl, .json, .csv, .tsv or .xlsx.")
    ],
    to: Annotated[Path, typer.Option("--to", metavar="RUN", help="The run folder to add them to.")],
    bench: Annotated[
        Path | None,
        typer.Option("--bench", metavar="BENCH", help="The benchmark they are about; its items are checked."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Who answered, if no column says.")
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=COLUMN,…",
            help="Which column holds what: item=item_id,text=raw_output. Joined: model=name+setting.",
            rich_help_panel=_READING,
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--map-values",
            metavar="FIELD=[COLUMN:]VALUE>OURS,…",
            help="What values mean: sight=condition:text>blind,image>image. Nothing after > leaves rows out.",
            rich_help_panel=_READING,
        ),
    ] = None,
    constants: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUE,…", help="The same for all rows: sight=blind.", rich_help_panel=_READING
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="COLUMN=VALUE", help="Only such rows.", rich_help_panel=_READING),
    ] = None,
    matrix: Annotated[
        str,
        typer.Option(
            "--matrix", metavar="ROWS", help="A table of 0/1; its rows are: item or model.", rich_help_panel=_READING
        ),
    ] = "",
    header: Annotated[
        str | None,
        typer.Option(
            "--header",
            metavar="REGEX",
            help="What a matrix's column names say: '(?P<sight><no_\\w+>)?(?P<item>.+)'.",
            rich_help_panel=_READING,
        ),
    ] = None,
    number_trials: Annotated[
        bool,
        typer.Option("--number-trials", help="Repeated answers are further trials.", rich_help_panel=_READING),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace answers that the run has already, where they differ.")
    ] = False,
) -> None:
    """Bring answers of other tools in: VLMEvalKit predictions, lmms-eval samples, any table, or a matrix of verdicts.

    Texts are kept as they are, to be read and scored like any other. A score that somebody else gave (given) is kept
    and marked as such. The file is checked to its end before the run is touched, and what the run has stays.
    """
    if matrix and matrix not in _ROWS:
        raise InputError(f'--matrix: rows are items or models, not "{matrix}"; {nearest(matrix, _ROWS)}')
    if header and not matrix:
        raise InputError("--header is about a matrix: add --matrix item or --matrix model")
    mapping = _answered_by(model, parse_field_map(fields or (), values or (), constants or (), where or ()))
    benchmark = options.open_with_bar(bench, options.read_options(allow_missing_gold=True)) if bench else None
    brought = import_answers(
        Source(path=file, fields=mapping, matrix=matrix, header=header, number_trials=number_trials),
        to,
        benchmark=RunBenchmark.of(benchmark.manifest, benchmark.path) if benchmark else None,
        known={item.id: tuple(choice.text for choice in item.choices) for item in benchmark} if benchmark else None,
        overwrite=overwrite,
        tell=note,
    )
    if benchmark:
        copy_without_pictures(benchmark, to / BENCHMARK)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in brought.outcomes.most_common())
    given = f", {brought.given:,} scored by others" if brought.given else ""
    verdicts = f", {brought.verdicts:,} of them verdicts only" if brought.verdicts else ""
    out.print(
        safe(f"{brought.answers:,} answers of {len(brought.models):,} models ({kinds}{given}{verdicts}) → {to}"),
        soft_wrap=True,
    )
    if brought.notices:
        some = listed([short(text) for text, _ in brought.notices.most_common()])
        note(f"{brought.notices.total():,} texts only say that a call failed, and count as failed, not wrong: {some}")
    if brought.there:
        note(f"{brought.there:,} of them were there already")
    if brought.replaced:
        note(f"{brought.replaced:,} of them replaced what was there")
    if brought.left_out:
        note(f"{brought.left_out:,} rows were left out by --where or --map-values")
    if brought.unknown:
        names = ", ".join(short(name) for name in list(brought.unknown)[:3])
        note(f"{brought.unknown.total():,} answers to items that are not in the benchmark were left out: {names} …")


def _answered_by(model: str | None, mapping: FieldMap) -> FieldMap:
    if model is None:
        return mapping
    if not model.strip():
        raise InputError("--model: the name is empty")
    if "model" in mapping.columns or "model" in mapping.constants:
        raise InputError("--model: --map or --set says who answered as well; say one of them")
    name = model.encode("utf-8", "replace").decode()
    return msgspec.structs.replace(mapping, constants=mapping.constants | {"model": name})
