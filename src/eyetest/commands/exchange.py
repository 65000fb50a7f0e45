"""The commands ``import`` and ``export``: benchmarks and answers from and for other tools."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from eyetest.commands.base import (
    hinting_skip_bad,
    new_path,
    observer,
    open_bench,
    path_of,
    read_options,
    several,
    tag_maps,
)
from eyetest.commands.gathering import pairs
from eyetest.commands.lazy import pl
from eyetest.commands.options import SHORT_M, AnyPath, AnyRun, Bench, Overwrite, Pairs, Words, panel
from eyetest.commands.results import Written
from eyetest.errors import InputError, counted, heading, listed, param, short, tallied
from eyetest.grammar import choose_names, refuse_joined_pairs, refuse_unknown

if TYPE_CHECKING:
    from eyetest.runs.importing import Brought

    Table = AnyPath | pl.DataFrame
    """A file of another tool, or in Python a table."""
    Target = AnyPath
    """A path, a dataset of the hub, or a tracker."""
else:
    Table, Target = Path, str

_ITEMS = panel("Where the file holds items", 1)
_ANSWERS = panel("Where the file holds answers", 2)
_FACTS = ("name", "version", "licence", "source", "canary")
_MAY_MISS = ("gold", "images")
_CARD = "card"


def import_file(
    file: Table,
    /,
    *,
    to: AnyPath,
    map: Words = (),  # noqa: A002 (the name of the option)
    skip_bad: bool = False,
    format: Annotated[str | None, _ITEMS] = None,  # noqa: A002
    images: Annotated[AnyPath | None, _ITEMS] = None,
    gold_style: Annotated[str | None, _ITEMS] = None,
    drop: Annotated[Words, _ITEMS] = (),
    map_tags: Annotated[Pairs, _ITEMS] = (),
    allow_missing: Annotated[Words, _ITEMS] = (),
    fact: Annotated[Words, _ITEMS] = (),
    bench: Annotated[Bench | None, _ANSWERS] = None,
    model: Annotated[str | None, SHORT_M, _ANSWERS] = None,
    map_values: Annotated[Words, _ANSWERS] = (),
    fill: Annotated[Words, _ANSWERS] = (),
    where: Annotated[Words, _ANSWERS] = (),
    matrix: Annotated[str, _ANSWERS] = "",
    header: Annotated[str | None, _ANSWERS] = None,
    overwrite: Overwrite = False,
) -> Written:
    """Import items as a benchmark folder, or answers of models as a run.

    Formats and usual columns are recognised: VLMEvalKit, lmms-eval, inspect-ai, Hugging Face, CSV, Excel, JSON Lines,
    and matrices of 0 and 1. Whether a file holds items or answers is decided by its content and by the options
    below. Nothing is written unless the whole file can be read.

    Args:
        file: A file or folder of another tool; in Python also a Polars table.
        to: The benchmark folder to write, or the run to write or to add to.
        map: Which column holds what, where names differ: question=prompt, options=A+B+C, text=raw_output.
        skip_bad: Leave out rows that cannot be used, and say which; invalid items are listed in skipped.jsonl.
        format: Format of the items, if it is not recognised.
        images: Folder that image paths start from and may not leave.
        gold_style: How answer keys refer to options: letter, text, index (from 0) or number (from 1).
        drop: Leave this column out; repeatable.
        map_tags: Tags made of others: core=category, or through a table: field=subject@TABLE; repeatable.
        allow_missing: Take items without an answer key (gold), or without their images (images): gold,images.
        fact: What the benchmark states about itself: name, version, licence, source, canary; repeatable.
        bench: The benchmark that was asked; items of answers are checked against it.
        model: The model that answered, if no column names it.
        map_values: What values mean: modality=text>no-image; of a column: modality=setting:text>no-image.
        fill: The same value for all rows: modality=no-image.
        where: Only these rows: COLUMN=A,B.
        matrix: The rows of a matrix of scores are: item or model (default for 0 and 1: recognised).
        header: A pattern for the column names of a matrix, such as (?P<item>.+).
        overwrite: Replace the benchmark, or answers of the run that differ.

    Examples:
        $ eyetest import mybench.tsv --fact licence=CC-BY-4.0 --to mybench
        $ eyetest import gpt4o_MMBench.xlsx --bench mybench --model gpt-4o --to run

        >>> et.import_file("mine.tsv", to="kept").facts["items"]
        60
        >>> replies = pl.DataFrame({"item": ["q00", "q01"], "reply": ["A", "I think it is B."]})
        >>> et.import_file(replies, bench="world/benchmark", model="me", map="text=reply", to="mine").facts["answers"]
        2

    """
    if not isinstance(file, str | Path) and hasattr(file, "write_parquet"):
        options = {name: value for name, value in locals().items() if name != "file"}
        with TemporaryDirectory() as folder:
            file.write_parquet(table := Path(folder, "table.parquet"))
            return import_file(table, **options)
    source, target = path_of(file, "file"), new_path(to, "to")
    about_items = {
        "format": format, "images": images, "gold_style": gold_style, "drop": drop, "fact": fact,
        "map_tags": map_tags, "allow_missing": allow_missing,
    }  # fmt: skip
    about_answers = {
        "bench": bench, "model": model, "map_values": map_values, "fill": fill, "where": where, "matrix": matrix,
        "header": header,
    }  # fmt: skip
    is_answers, notes = _decide(source, target, several(map), about_items, about_answers)
    if is_answers:
        from eyetest.results.joining import bring_answers
        from eyetest.runs.importing import AnswerFile, parse_field_map

        fields = parse_field_map(several(map), several(map_values), several(fill), several(where))
        answers = AnswerFile(path=source, fields=fields, matrix=matrix, header=header, skip_bad=skip_bad)
        asked = None if bench is None else open_bench(bench)
        with hinting_skip_bad():
            brought = bring_answers(answers, target, asked, observer().note, model=model, overwrite=overwrite)
        return _imported(brought, target, notes)
    from eyetest.benchmarks import Import, import_benchmark
    from eyetest.commands.show import contents

    missing = choose_names(several(allow_missing), "allow_missing", _MAY_MISS, "field")
    required = {f"{name}_required": name not in missing for name in _MAY_MISS}
    read = read_options(format, map, images, gold_style, drop=drop, **required)
    tags = tag_maps(map_tags)
    how = Import(read=read, tags=tags, skip_bad=skip_bad, overwrite=overwrite, **_facts(fact))
    with observer().steps(f"importing {source.name}"), hinting_skip_bad():
        benchmark, skipped = import_benchmark(source, target, how, notes.append)
    notes += tags.notes() if tags else []
    if skipped:
        left_out = f"{len(skipped):,} invalid items left out, listed in {target / 'skipped.jsonl'}"
        notes.append(f"{left_out}: {tallied(f'{row.field}: {row.found}' for row in skipped)}")
    manifest, counts = benchmark.manifest, benchmark.manifest.counts
    facts = {"kind": "items", "name": manifest.name, "items": counts.items, "images": counts.images}
    facts |= {"media": dict(counts.media)} if counts.media else {}
    facts |= {"skipped": len(skipped), "to": str(target)}
    return Written(f"{manifest.name}: {contents(counts)} → {target}", facts, notes)


def _decide(
    source: Path, to: Path, pairs: list[str], about_items: Mapping[str, object], about_answers: Mapping[str, object]
) -> tuple[bool, list[str]]:
    """Whether a file holds answers, and why it was decided so."""
    from eyetest.benchmarks import is_benchmark
    from eyetest.benchmarks.rows import KNOWN_COLUMNS
    from eyetest.runs import is_run
    from eyetest.runs.answer_values import FIELDS
    from eyetest.runs.layouts import holds_answers

    mapped = {part.partition("=")[0].strip() for pair in pairs for part in pair.split(",")}
    items, answers = (
        [param(name, True) for name, value in options.items() if value not in (None, False, "", (), [])]
        + [param("map", f"{field}=…") for field in sorted(mapped & known - others)]
        for options, known, others in (
            (about_items, {*KNOWN_COLUMNS, "image"}, {*FIELDS}),
            (about_answers, {*FIELDS}, {*KNOWN_COLUMNS}),
        )
    )
    if items and answers:
        both = f"{items[0]} is about items and {answers[0]} about answers"
        raise InputError(f"{both}; import them one after the other")
    if items or answers or is_run(to) or is_benchmark(source):
        return bool(answers) or (not items and is_run(to)), []
    found, why = holds_answers(source) if source.exists() else (False, "")
    note = f"imported as answers, by {why}; {param('format', 'NAME')} imports the items"
    return found, [note] if why else []


def _facts(fact: Words) -> dict[str, str]:
    facts = pairs(fact, "fact", "KEY=VALUE, such as licence=CC-BY-4.0")
    refuse_joined_pairs(facts, "fact", _FACTS)
    for key, value in facts.items():
        refuse_unknown(key, "fact", _FACTS, "fact")
        if not value.strip():
            raise InputError(f"{heading('fact', key)}: it has no value, expected KEY=VALUE, such as {key}=TEXT")
    return facts


def _imported(brought: "Brought", to: Path, notes: list[str]) -> Written:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in brought.outcomes.most_common())
    given = f", {brought.given:,} with scores from elsewhere" if brought.given else ""
    verdicts = f", {brought.verdicts:,} of them without a reply" if brought.verdicts else ""
    whose = f"{counted(brought.answers, 'answer')} of {counted(len(brought.models), 'model')}"
    from eyetest.runs.importing import tally

    some = listed(short(text) for text, _ in brought.notices.most_common())
    absent = listed(map(short, brought.unknown))
    counts = {
        f"texts are only error messages, and count as failed calls: {some}": brought.notices.total(),
        "of them were there already": brought.there,
        "of them replaced other answers": brought.replaced,
        f"rows were left out by {param('where')} or {param('values')}": brought.left_out,
        f"answers to items that are not in the benchmark left out: {absent}": brought.unknown.total(),
    }
    counts |= {_labels(modality): count for modality, count in brought.labelled.items()}
    notes += [f"{count:,} {what}" for what, count in counts.items() if count]
    notes += brought.notes
    if brought.bad:
        notes.append(f"{counted(len(brought.bad), 'row')} left out: {tallied(brought.bad)}")
    facts = {"kind": "answers", "answers": brought.answers, "models": dict(brought.models), "to": str(to)}
    facts |= {"skipped": len(brought.bad), "matched": dict(brought.matched)}
    matched = f", matched by {tally(brought.matched)}" if brought.matched else ""
    return Written(f"{whose} ({kinds}{given}{verdicts}){matched} → {to}", facts, notes)


def _labels(modality: str) -> str:
    """A note on answers that are labelled by what their items have, and how to label them otherwise."""
    remedy = f"{param('fill', 'modality=no-image')} if it was not"
    if modality == "no-image":
        remedy = f"{param('fill', 'modality=image')} if an image was"
    return f"answers are labelled {modality}, after their items, since nothing says what was sent; {remedy}"


def export_file(
    what: Bench | AnyRun,
    /,
    *,
    to: Target | None = None,
    format: str | None = None,  # noqa: A002
    fact: Words = (),
    overwrite: Overwrite = False,
) -> Written:
    """Export items for another tool, the answers of a run as a table, or a dataset card.

    Items are read back the same from every format. A folder that is uploaded as it is (lmms-eval) gets a card, and so
    does a dataset that is pushed to the Hugging Face hub (as Parquet, private until you change that). A run
    is written as .parquet, .jsonl or .csv, or sent to a tracker: scores with intervals, unread shares, gain, and a
    table of answers without questions and keys. The card (README.md and croissant.json) states what is in the
    benchmark, what was removed and why, its weaknesses and its licence.

    Args:
        what: A benchmark, the result of a refinement, or a run.
        to: The file or folder to write; hf://datasets/OWNER/NAME; wandb:PROJECT, mlflow:URI or tensorboard:DIR.
        format: Items: vlmevalkit, lmms-eval, parquet, jsonl; or card.
        fact: Only with card, kept in card.yaml: licence=CC-BY-4.0, contact=…, sources.NAME=MIT; repeatable.
        overwrite: Replace files that eyetest wrote before, or a card that a person changed.

    Examples:
        $ eyetest export mybench --format vlmevalkit --to mybench.tsv
        $ eyetest export mybench --format card --fact licence=CC-BY-4.0
        $ eyetest export run --to answers.csv
        $ eyetest export run --to mlflow:http://127.0.0.1:5000

        >>> et.export_file("run", to="table.csv").facts["answers"]
        720

    """
    from eyetest.benchmarks.opening import FORMATS, writable
    from eyetest.commands.trackers import export_to_tracker, tracker_of
    from eyetest.runs import Run, is_run
    from eyetest.runs.folder import write_answers
    from eyetest.store.urls import is_of_hub

    path: Path = getattr(what, "path", None) or path_of(what, "what", "a benchmark, a run, or the path of one")
    facts: list[str] = several(fact)
    if format == _CARD:
        from eyetest.commands.card import write_card_of

        return write_card_of(path, new_path(to, "to") if to else None, facts, overwrite=overwrite)
    if facts:
        raise InputError(f"{heading('fact')}: facts go into a card: {param('format', _CARD)}")
    if to is None:
        raise InputError(f"{param('to')} is missing: which file or folder is written?")
    if tracker := tracker_of(to):
        if format is not None or not is_run(path):
            wrong = f"leave out {param('format')}" if is_run(path) else f"{path} is none"
            raise InputError(f"{heading('to')}: {tracker[0]} takes a run; {wrong}")
        return export_to_tracker(Run(path), *tracker)
    if is_of_hub(to):
        from eyetest.commands.card import push
        from eyetest.store.hub import hub_dataset

        if format is not None or is_run(path):
            wrong = f"{path} is a run" if is_run(path) else f"leave out {param('format')}"
            raise InputError(f"{heading('to')}: the hub takes a benchmark, as Parquet; {wrong}")
        return push(path, hub_dataset(to), overwrite=overwrite)
    target = new_path(to, "to")
    if isinstance(what, Run) or is_run(path):
        if format is not None:
            raise InputError(f"{heading('format')}: answers are written by the ending of {param('to')}")
        written, missing = write_answers(Run(path).path, target, overwrite=overwrite)
        notes = [f"{counted(missing, 'planned call')} without an answer are not in the table"] if missing else []
        answers = {"kind": "answers", "answers": written, "to": str(target)}
        return Written(f"{written:,} answers → {target}", answers, notes)
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if format is None:
        raise InputError(f"{param('format')} is missing; one of {', '.join((*writable(), _CARD))}")
    FORMATS[format]
    from eyetest.benchmarks import export_benchmark
    from eyetest.commands.card import UPLOADED, write_beside

    benchmark = open_bench(path)

    def beside(folder: Path) -> None:
        if format == UPLOADED:
            write_beside(path, benchmark, folder)

    notes = export_benchmark(benchmark, format, target, overwrite=overwrite, beside=beside)
    known = {"kind": "items", "items": len(benchmark), "format": format, "to": str(target)}
    return Written(f"{len(benchmark):,} items as {format} → {target}", known, notes)
