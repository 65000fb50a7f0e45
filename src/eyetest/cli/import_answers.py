"""``eyetest import-answers``: bring what other tools asked into a run."""

from pathlib import Path
from typing import Annotated

from eyetest.cli.live import TERMINAL
from eyetest.cli.options import Words, argument, option, reading
from eyetest.cli.terminal import note, out, safe
from eyetest.errors import short
from eyetest.jobs.import_answers import import_answers
from eyetest.runs.importing import AnswerFile, parse_field_map
from eyetest.wording import listed


def import_answers_(
    file: Annotated[Path, argument("FILE", "Answers in .parquet, .jsonl, .json, .csv, .tsv or .xlsx.")],
    to: Annotated[Path, option("--to", "The run folder to add them to.", "RUN")],
    bench: Annotated[
        Path | None, option("--bench", "The benchmark they are about; its items are checked.", "BENCH")
    ] = None,
    model: Annotated[str | None, option("--model", "Who answered, if no column says.", "NAME")] = None,
    fields: Annotated[
        Words,
        reading(
            "--map",
            "Which column holds what: item=item_id,text=raw_output. Joined: model=name+setting.",
            "FIELD=COLUMN,…",
        ),
    ] = None,
    values: Annotated[
        Words,
        reading(
            "--map-values",
            "What values mean: sight=condition:text>blind,image>image. Nothing after > leaves rows out.",
            "FIELD=[COLUMN:]VALUE>OURS,…",
        ),
    ] = None,
    constants: Annotated[Words, reading("--set", "The same for all rows: sight=blind.", "FIELD=VALUE,…")] = None,
    where: Annotated[Words, reading("--where", "Only such rows.", "COLUMN=VALUE")] = None,
    matrix: Annotated[str, reading("--matrix", "A table of 0/1; its rows are: item or model.", "ROWS")] = "",
    header: Annotated[
        str | None,
        reading("--header", "What a matrix's column names say: '(?P<sight><no_\\w+>)?(?P<item>.+)'.", "REGEX"),
    ] = None,
    number_trials: Annotated[bool, reading("--number-trials", "Repeated answers are further trials.")] = False,
    overwrite: Annotated[
        bool, option("--overwrite", "Replace answers that the run has already, where they differ.")
    ] = False,
) -> None:
    """Bring answers of other tools in: VLMEvalKit predictions, lmms-eval samples, any table, or a matrix of verdicts.

    Texts are kept as they are, to be read and scored like any other. A score that somebody else gave (given) is kept
    and marked as such. The file is checked to its end before the run is touched, and what the run has stays.
    """
    mapping = parse_field_map(fields or (), values or (), constants or (), where or ())
    source = AnswerFile(path=file, fields=mapping, matrix=matrix, header=header, number_trials=number_trials)
    brought = import_answers(source, to, bench, model=model, overwrite=overwrite, observer=TERMINAL)
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
