"""``eyetest import|export|import-answers|export-answers``: benchmarks and answers of other tools, in and out."""

from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec.structs import replace
from rich.text import Text

from eyetest.benchmarks import FORMATS, Import, export_benchmark, import_benchmark
from eyetest.benchmarks.formats import writable
from eyetest.cli import options
from eyetest.cli.options import JsonOption, OverwriteOption, RunArgument, Words, argument, option, reading
from eyetest.cli.terminal import note, out, print_json, safe, say, step_bar
from eyetest.errors import short
from eyetest.jobs import answers as job
from eyetest.jobs.answers import bring_answers, export_answers_as
from eyetest.jobs.opening import open_bench, read_options
from eyetest.records import ItemCounts
from eyetest.results.every_eval_ever import EVERY_EVAL_EVER
from eyetest.runs import Run
from eyetest.runs.answers import write_answers
from eyetest.runs.importing import AnswerFile, parse_field_map
from eyetest.wording import counted, listed

about = partial(options.option, panel="What the benchmark says of itself")


def import_(
    source: Annotated[Path, options.argument("SRC", "A file or folder of another tool.")],
    to: Annotated[Path, options.option("--to", "The benchmark folder to write.", "DIR")],
    *,
    file: options.GoldFileOptions,
    allow_missing_gold: options.GoldOption = False,
    skip_bad: Annotated[
        bool, options.taken("--skip-bad", "Leave bad items out and list them in DIR/skipped.jsonl.")
    ] = False,
    limit: options.FirstOption = None,
    overwrite: options.OverwriteOption = False,
    name: Annotated[str, about("", "Its name. (default: the file's)")] = "",
    version: Annotated[str, about("", "Its version.")] = "1",
    licence: Annotated[str, about("", "Under what licence.")] = "",
    origin: Annotated[str, about("--source", "Where it is from.")] = "",
    canary: Annotated[str, about("", "Its canary string.")] = "",
) -> None:
    """Bring a benchmark into a folder: items in Parquet, every picture once, a manifest.

    The format is recognised: VLMEvalKit TSV, Hugging Face Parquet (also MMMU's and MMStar's layouts), JSON Lines,
    CSV, Excel, folders of pictures by class, a folder saved by datasets, a list of golds without questions. The
    folder appears when it is complete; a bad item stops the import with one line.
    """
    how = Import(
        read=replace(file.read_all(gold_required=not allow_missing_gold), limit=limit),
        name=name,
        version=version,
        licence=licence,
        source=origin,
        canary=canary,
        skip_bad=skip_bad,
        overwrite=overwrite,
    )
    with step_bar(title := f"importing {source.name}") as bar:
        benchmark, skipped = import_benchmark(source, to, how, lambda share: bar(title, share))
    manifest = benchmark.manifest
    out.print(
        Text.assemble((safe(manifest.name), "bold"), f": {contents(manifest.counts)} → {safe(str(to))}"),
        soft_wrap=True,
    )
    if skipped:
        note(f"{len(skipped):,} bad items left out, listed in {to / 'skipped.jsonl'}; the first: {skipped[0].where}")


def contents(counts: ItemCounts) -> str:
    """``1,000 items (540 choice, 460 text), 967 pictures``."""
    kinds = [f"{n:,} {kind}" for n, kind in ((counts.choice_items, "choice"), (counts.text_items, "text")) if n]
    return f"{counts.items:,} items ({', '.join(kinds)}), {counts.images:,} pictures"


def export(
    bench: options.BenchArgument,
    format_name: Annotated[str, options.option("--format", f"One of {', '.join(writable())}.", "NAME")],
    to: Annotated[Path, options.option("--to", "The file or folder to write.", "DST")],
    overwrite: options.OverwriteOption = False,
    fields: options.MapOption = None,
    images: options.ImagesOption = None,
    gold_style: options.GoldStyleOption = None,
    drop: options.DropOption = None,
    allow_missing_gold: options.GoldOption = False,
) -> None:
    """Write a benchmark as another tool's file, from which the same items can be read again.

    A folder that can be uploaded as it is (lmms-eval, datasets) gets the benchmark's card along.
    """
    FORMATS[format_name]
    read = read_options(None, fields or (), images, gold_style, drop or (), gold_required=not allow_missing_gold)
    benchmark = open_bench(bench, read)

    def beside(folder: Path) -> None:
        from eyetest.jobs.card import write_beside  # noqa: PLC0415 (slow to load, and most exports are files)

        write_beside(bench, benchmark, format_name, folder)

    for message in export_benchmark(benchmark, format_name, to, overwrite=overwrite, beside=beside):
        note(message)
    out.print(f"{len(benchmark):,} items as {format_name} → {safe(str(to))}", soft_wrap=True)


def import_answers_(
    file: Annotated[
        Path, argument("FILE", "Answers in .parquet, .jsonl, .json, .csv, .tsv, .xlsx or .eval, or a folder of them.")
    ],
    to: Annotated[Path, option("--to", "The run folder to add them to.", "RUN")],
    bench: Annotated[
        Path | None, option("--bench", "The benchmark they are about; its items are checked.", "BENCH")
    ] = None,
    model: Annotated[str | None, option("--model", "Who answered, if no column says.", "NAME")] = None,
    fields: Annotated[
        Words,
        reading(
            "--map",
            "Which column holds what: item=item_id. Joined: model=name+setting.",
            "FIELD=COLUMN,…",
        ),
    ] = None,
    values: Annotated[
        Words,
        reading(
            "--map-values",
            "What values mean: sight=text>blind; of a column: sight=setting:text>blind. Empty after >: no such rows.",
            "FIELD=A>B,…",
        ),
    ] = None,
    constants: Annotated[Words, reading("--fill", "The same for all rows: sight=blind.", "FIELD=VALUE,…")] = None,
    where: Annotated[Words, reading("--where", "Only such rows.", "COLUMN=A,B")] = None,
    matrix: Annotated[str, reading("--matrix", "A table of 0/1; its rows are: item or model.", "ROWS")] = "",
    header: Annotated[
        str | None,
        reading("--header", "A pattern with (?P<item>.+) for what a matrix's column names say.", "REGEX"),
    ] = None,
    names: Annotated[
        str, reading("--names", "Which files of a folder, and what their names say.", "{model}_MMStar.xlsx")
    ] = "",
    number_trials: Annotated[bool, reading("--number-trials", "Repeated answers are further trials.")] = False,
    overwrite: Annotated[
        bool, option("--overwrite", "Replace answers that the run has already, where they differ.")
    ] = False,
) -> None:
    """Bring answers of other tools in: VLMEvalKit, lmms-eval and inspect-ai, any table, or a matrix of verdicts.

    Texts are kept as they are, to be read and scored like any other. A score that somebody else gave (given) is kept
    and marked as such. The file is checked to its end before the run is touched, and what the run has stays.
    """
    mapping = parse_field_map(fields or (), values or (), constants or (), where or ())
    source = AnswerFile(
        path=file, fields=mapping, matrix=matrix, header=header, names=names, number_trials=number_trials
    )
    brought = bring_answers(source, to, bench, model=model, overwrite=overwrite)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in brought.outcomes.most_common())
    given = f", {brought.given:,} scored by others" if brought.given else ""
    verdicts = f", {brought.verdicts:,} of them verdicts only" if brought.verdicts else ""
    whose = f"{counted(brought.answers, 'answer')} of {counted(len(brought.models), 'model')}"
    say(f"{whose} ({kinds}{given}{verdicts}) → {to}")
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


def export_answers_(
    run: RunArgument,
    to: Annotated[Path, option("--to", "The table: .parquet, .jsonl or .csv; a folder for every-eval-ever.", "FILE")],
    format_name: Annotated[
        str | None,
        option("--format", f"{EVERY_EVAL_EVER}: per model an aggregate and a line for each answer.", "NAME"),
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write a run's answers as one table: item, model, how it was asked, what was said, what became of it.

    The table can be brought into another run with import-answers, or replayed as it is.
    """
    if format_name is not None:
        exported = export_answers_as(format_name, Run(run), to, overwrite=overwrite)
        out.print(safe(f"{exported.answers:,} answers as {format_name} → {to}"), soft_wrap=True)
        return
    Run(run)
    written, missing = write_answers(run, to, overwrite=overwrite)
    out.print(safe(f"{written:,} answers → {to}"), soft_wrap=True)
    if missing:
        note(f"{missing:,} planned calls have no answer yet and are not in the table")


def merge(
    runs: Annotated[list[Path], argument("RUN...", "Run folders about one benchmark.")],
    to: Annotated[Path, option("--to", "The run that they become; one that is there is added to.", "RUN")],
    prefer: Annotated[
        str | None,
        option("--prefer", "Where runs differ: what the first one says, or the newest answer.", "first|newest"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Put runs of several people or sites together as one run.

    What runs answered differently is counted and refused, unless --prefer says which counts; only a failure gives way
    to an answer by itself. Scores are made anew when they are next asked for, and run asks only what is left.
    """
    merged = job.merge_into(runs, to, prefer)
    if as_json:
        print_json(merged)
        return
    for run, answers in merged.brought.items():
        out.print(safe(f"{answers:>9,}  answers of {run}"), soft_wrap=True)
    about = f"{counted(merged.planned, 'planned call')} of {counted(merged.models, 'model')}"
    out.print(safe(f"{about} → {to}" if merged.new else f"{to} held all of it already"), soft_wrap=True)
    if merged.gave_way:
        note(f"{counted(merged.gave_way, 'failure')} gave way to an answer")
    if merged.decided:
        note(f"{counted(merged.decided, 'answer')} differed; the {prefer} was taken (--prefer)")


def models(
    run: RunArgument,
    rename: Annotated[Words, option("--rename", "Call a model otherwise; again for another.", "OLD=NEW")] = None,
    remove: Annotated[Words, option("--remove", "Take a model out; again for another.", "NAME")] = None,
) -> None:
    """List the models of a run, rename one, or take one out.

    Scores follow when they are next asked for, and run.json says what was done. Not a word is lost: what was said
    stays in responses/, also of a model that was taken out.
    """
    for name, calls in job.models_after(run, rename or (), remove or ()).items():
        out.print(safe(f"{calls:>9,}  {name}"), soft_wrap=True)
