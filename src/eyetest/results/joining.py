"""Answers in files of other tools become a run, checked against the benchmark."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from eyetest.benchmarks import Benchmark, copy_without_images, is_benchmark
from eyetest.errors import InputError, counted, heading, nearest, param
from eyetest.records import RunBenchmark
from eyetest.records.tables import Modality
from eyetest.results.matching import ItemIndex, Matched, Matcher
from eyetest.results.row_content import ContentReader
from eyetest.runs import BENCHMARK, Run, is_run
from eyetest.runs.importing import (
    AnswerFile,
    Brought,
    KnownItems,
    answer_files,
    claims_of,
    import_answers,
    refuse_unused,
)
from eyetest.runs.inspect_logs import is_inspect_log
from eyetest.runs.layouts import first_rows, matrix_rows

_ROWS = ("item", "model")
_FIRST_ROWS = 200


def bring_answers(
    source: AnswerFile,
    to: Path,
    benchmark: Benchmark | None = None,
    tell: Callable[[str], None] = lambda line: None,
    *,
    model: str | None = None,
    overwrite: bool = False,
) -> Brought:
    """Import the answers of a file, or of each file of a folder; ``model`` gave all of them.

    Items are checked against the benchmark and kept beside the answers. Where the file's settings skip bad rows,
    those that cannot be read, or are about other items than the rest of the file, are left out and counted.
    """
    if model is not None:
        if not model.strip():
            raise InputError(f"{heading('model')}: the name is empty")
        if "model" in source.fields.columns or "model" in source.fields.constants:
            both = f"{param('columns')} or {param('constants')}"
            raise InputError(f"{heading('model')}: {both} names the model as well; use one of them")
        constants = source.fields.constants | {"model": model.encode("utf-8", "replace").decode()}
        source = replace(source, fields=replace(source.fields, constants=constants))
    source = replace(source, matrix=_matrix(source, benchmark, tell))
    brought, indexes = Brought(), dict[Path, ItemIndex]()
    files = answer_files(source)
    is_part = len(files) > 1 and bool(source.fields.where or source.fields.values)
    if is_part:
        refuse_unused(files)
    for number, file in enumerate(files):
        about = benchmark or _own_benchmark(file.path, to)
        new = about if about and about.path != to / BENCHMARK else None
        made = RunBenchmark.of(new.manifest, new.path) if new else None
        part = replace(file, is_part=is_part, modalities=_modalities(about), media=_media(about))
        try:
            if made is not None and is_run(to):
                Run(to).check_benchmark(made)  # before all rows are compared with the wrong one
            items, matched = None, Matched()
            if about is not None:
                index = indexes.setdefault(about.path, ItemIndex(about))
                matched = match_file(part, index)
                items = _known_items(index, matched)
            done = import_answers(part, to, benchmark=made, known=items, overwrite=overwrite, tell=tell)
        except InputError as error:
            if not number:
                raise
            before = f"{number:,} of {len(files):,} files were imported before it, and may be again"
            raise type(error)(f"{error}; {before}") from None
        done.notes += [*matched.notes(), *_unlabelled(about, done)]
        done.bad += matched.differing
        brought.add(done)
        if new:
            copy_without_images(new, to / BENCHMARK)
    return brought


def _modalities(benchmark: Benchmark | None) -> dict[str, Modality]:
    """By item the label of answers that do not say what was sent, where it is not ``image``.

    Items without any medium beside others with one are text. Where no item has a medium the images may only be
    missing from the file, so that nothing is decided.
    """
    items = list(benchmark or ())
    if not any(item.images or item.media for item in items):
        return {}
    labels: dict[str, Modality] = {}
    for item in items:
        if item.media:
            labels[item.id] = item.media[0].kind
        elif not item.images:
            labels[item.id] = "no-image"
    return labels


def _media(benchmark: Benchmark | None) -> dict[str, tuple[str, ...]]:
    """By item the kinds of its media, for items that have any."""
    kinds_of_items: dict[str, tuple[str, ...]] = {}
    for item in benchmark or ():
        kinds = ["image"] if item.images else []
        kinds += [medium.kind for medium in item.media]
        if kinds:
            kinds_of_items[item.id] = tuple(dict.fromkeys(kinds))
    return kinds_of_items


def _unlabelled(benchmark: Benchmark | None, brought: Brought) -> list[str]:
    """A note on answers that are called ``image`` by default although no item of the benchmark has a medium."""
    items = list(benchmark or ())
    if not brought.undeclared or not items or any(item.images or item.media for item in items):
        return []
    remedy = f"{param('constants', 'modality=no-image')} if no image was sent"
    return [f"{counted(brought.undeclared, 'answer')} are labelled image by default, but no item has one; {remedy}"]


def match_file(file: AnswerFile, index: ItemIndex) -> Matched:
    """Where the rows of a file belong in a benchmark; a file about another benchmark is refused."""
    if file.matrix:
        return Matched(is_by_id=True)
    first = [claimed for claimed in islice(claims_of(file), _FIRST_ROWS) if claimed is not None]
    reader = ContentReader([row for _, row in first])
    is_numbered = any(claim.position is not None for claim, _ in first)
    if not is_numbered and all(reader.read(row).is_empty for _, row in first):
        return Matched(is_by_id=True)
    matcher = Matcher(index, skips=file.skip_bad)
    for claimed in claims_of(file):
        if claimed is None:
            matcher.pass_over()
        else:
            claim, row = claimed
            matcher.add(claim, reader.read(row))
    return matcher.finish()


def _known_items(index: ItemIndex, matched: Matched) -> KnownItems:
    options = {texts.item.id: tuple(choice.text for choice in texts.item.choices) for texts in index.texts}
    return KnownItems(options, None if matched.is_by_id else matched.places, matched.ways)


def _matrix(source: AnswerFile, benchmark: Benchmark | None, tell: Callable[[str], None]) -> str:
    """What the rows of a matrix are: as stated, else as found where nothing is mapped; empty for a table."""
    if source.matrix and source.matrix not in _ROWS:
        hint = nearest(source.matrix, _ROWS)
        raise InputError(f'{heading("matrix")}: rows are items or models, not "{source.matrix}"; {hint}')
    if source.matrix or source.path.is_dir() or source.fields.columns:
        return source.matrix
    rows = matrix_rows(first_rows(source.path), {item.id for item in benchmark} if benchmark else ())
    if source.header and not rows:
        raise InputError(f"{param('header')} is about a matrix: add {param('matrix', 'item')}")
    if rows:
        other = "item" if rows == "model" else "model"
        tell(f"a 0/1 matrix, rows are {rows}s and columns {other}s ({param('matrix', other)} turns it)")
    return rows


def _own_benchmark(path: Path, to: Path) -> Benchmark | None:
    """The benchmark of the run that answers are added to; a log of inspect-ai needs one to recognise options."""
    if is_benchmark(to / BENCHMARK):
        return Benchmark(to / BENCHMARK)
    if is_inspect_log(path):
        raise InputError(f"{path} is a log of inspect-ai; name the benchmark that it asks with {param('bench')}")
    return None
