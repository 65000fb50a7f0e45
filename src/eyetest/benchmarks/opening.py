"""Open whatever a user points at: a benchmark folder as it is, any other readable file by importing it first.

An import that nobody asked to keep goes to the cache (``EYETEST_CACHE``, by default ``~/.cache/eyetest``), named
by what was read and how, so that the second look at a file is immediate and a changed file is read anew.
"""

import hashlib
import logging
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path

import msgspec

from eyetest.benchmarks.folder import INPUTS, README, SKIPPED, Benchmark, BenchmarkWriter, is_benchmark
from eyetest.benchmarks.formats import FORMATS, recognise
from eyetest.benchmarks.picture_folders import pictures_below
from eyetest.benchmarks.rows import ReadOptions
from eyetest.errors import InputError, ItemError
from eyetest.records import FOLDER_VERSION, Lineage, Manifest, Origin
from eyetest.store import refuse_to_lose, replacing_file, replacing_folder
from eyetest.store.files import is_as_written, read_regular, refuse_special
from eyetest.store.urls import cache_root, local_path, mirror_of
from eyetest.tabular.table import PACKED, named_sheet, unpacked_name
from eyetest.version import __version__

Progress = Callable[[float], None]
Beside = Callable[[Path], None]
_MARKER = ".eyetest"
_INSIDE = "benchmark"
_log = logging.getLogger(__name__)
_REPORT_EVERY = 50
_METADATA = "metadata"
"""What files that only speak of pictures are called: which pictures there are counts then."""
_ABSENT = -1
"""Size and time of a picture that was looked for and not there: when it comes, the file is read anew."""
_DATA_SUFFIXES = (".tsv", ".csv", ".xlsx", ".json", ".jsonl", ".parquet", ".arrow", *PACKED)


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """How to bring a file in: how to read it, what to call it, what to do with items that are no items."""

    read: ReadOptions = ReadOptions()
    name: str = ""
    version: str = "1"
    licence: str = ""
    source: str = ""
    canary: str = ""
    skip_bad: bool = False
    overwrite: bool = False


class Skipped(msgspec.Struct, frozen=True):
    """A row that was left out, and why."""

    where: str
    field: str
    found: str
    expected: str


def import_benchmark(
    source: Path, to: Path, how: Import | None = None, progress: Progress = lambda share: None
) -> tuple[Benchmark, list[Skipped]]:
    """Read a file of any known format into a benchmark folder, which appears only when it is complete.

    >>> bench, skipped = et.import_benchmark(Path("mine.tsv"), Path("imported"))
    >>> len(bench), skipped
    (60, [])
    """
    how = how or Import()
    source, sheet = named_sheet(source)
    how = msgspec.structs.replace(how, read=msgspec.structs.replace(how.read, sheet=sheet))
    _, skipped = _import(source, to, how, progress)
    return Benchmark(to), skipped


def export_benchmark(
    benchmark: Benchmark, format_name: str, to: Path, *, overwrite: bool = False, beside: Beside = lambda folder: None
) -> list[str]:
    """Write a benchmark in another tool's format; returns what the user should know about it.

    ``beside`` adds to an export that is a folder, before it is put in its place.

    >>> et.export_benchmark(et.open("world/benchmark"), "vlmevalkit", Path("exported.tsv"))
    []
    """
    format_ = FORMATS[format_name]
    refuse_to_lose(to, overwrite=overwrite, ours=_written_by_us(to) if format_.is_folder else None)
    if not format_.is_folder:
        with replacing_file(to, overwrite=overwrite) as temporary:
            return format_.write(benchmark, temporary, to)
    with replacing_folder(to, overwrite=overwrite) as temporary:
        notes = format_.write(benchmark, temporary, to)
        beside(temporary)
        (temporary / _MARKER).write_bytes(msgspec.json.encode(sorted(path.name for path in temporary.iterdir())))
        return notes


def open_benchmark(
    path: str | Path, read: ReadOptions | None = None, progress: Progress = lambda share: None
) -> Benchmark:
    """A benchmark folder, or any readable file as one."""
    path, sheet = named_sheet(local_path(path))
    if is_benchmark(path):
        return first_items(Benchmark(path), read.limit) if read and read.limit else Benchmark(path)
    refuse_one_above(path)
    read = msgspec.structs.replace(read or ReadOptions(), sheet=sheet)
    cached = _cache_folder(path, read)
    if is_benchmark(cached) and _unchanged(cached):
        _log.info("%r was read before: kept in %r", str(path), str(cached))
    else:
        how = Import(read=read, overwrite=True)
        files, _ = _import(path, cached, how, progress)
        (cached / INPUTS).write_bytes(msgspec.json.encode([_stamp(file) for file in files]))
        _forget_older(cached)
    return Benchmark(cached)


def first_items(benchmark: Benchmark, limit: int) -> Benchmark:
    """The first items of a benchmark as one of its own, in the cache; the benchmark itself if it has no more."""
    if limit >= len(benchmark):
        return benchmark
    cached = _cache_folder(benchmark.path, ReadOptions(limit=limit))
    if not is_benchmark(cached):
        old = benchmark.manifest
        step = Lineage(step="subset", source=f"{old.name} {old.version}", note=f"the first {limit:,} items")
        manifest = msgspec.structs.replace(old, lineage=(*old.lineage, step))
        with BenchmarkWriter(cached, manifest, overwrite=True, gold_required=False) as writer:
            for item in islice(benchmark, limit):
                writer.adopt(item, benchmark)
        _forget_older(cached)
    return Benchmark(cached)


def refuse_one_above(path: Path) -> None:
    """What a refinement or a drawn world left is a folder with a benchmark inside, which is what was meant."""
    if not path.exists():
        raise InputError(f"{path} does not exist")
    refuse_special(path)
    if is_benchmark(path / _INSIDE) and not is_benchmark(path):
        raise InputError(f"{path} is no benchmark, but holds one: name {path / _INSIDE}")


def _written_by_us(folder: Path) -> tuple[str, ...]:
    """What an earlier export of ours left in a folder; nothing if the folder is somebody else's."""
    with suppress(OSError, InputError, msgspec.DecodeError, UnicodeError):
        names = msgspec.json.decode(read_regular(folder / _MARKER, folder), type=tuple[str, ...])
        kept = [name for name in names if name != README or is_as_written(folder / README)]
        return (*kept, _MARKER, "__pycache__")
    return ()


def _copy(benchmark: Benchmark, to: Path, *, overwrite: bool) -> None:
    """Bring a benchmark folder from a disk into a bucket, or back: the same items under the same fingerprint."""
    if mirror_of(benchmark.path) is None and mirror_of(to) is None:
        raise InputError(f"{benchmark.path} is a benchmark folder already: every command takes it as it is")
    with BenchmarkWriter(to, benchmark.manifest, overwrite=overwrite, gold_required=False) as writer:
        for item in benchmark:
            writer.adopt(item, benchmark)
        writer.adopt_tables(benchmark)


def _import(source: Path, to: Path, how: Import, progress: Progress) -> tuple[tuple[Path, ...], list[Skipped]]:
    if is_benchmark(source):
        _copy(Benchmark(source), to, overwrite=how.overwrite)
        return (), []
    refuse_special(source)
    format_ = FORMATS[how.read.format] if how.read.format else recognise(source)
    if not source.exists():
        raise InputError(f"{source} does not exist")
    file_name = _readable(Path(os.path.abspath(source)).name)  # noqa: PTH100 (a link keeps its own name)
    stem = Path(unpacked_name(file_name)).stem
    if sheet := how.read.sheet:
        file_name, stem = f"{file_name}#{sheet}", f"{stem}-{sheet}"
    manifest = Manifest(
        name=how.name or stem,
        version=how.version,
        licence=how.licence,
        source=how.source,
        canary=how.canary,
        lineage=(Lineage(step="import", source=file_name, note=format_.name),),
    )
    skipped: list[Skipped] = []
    added = 0
    with BenchmarkWriter(to, manifest, overwrite=how.overwrite, gold_required=how.read.gold_required) as writer:
        rows = format_.read(source, how.read, writer.images)
        origin = Origin(file=file_name, format=format_.name, columns=rows.columns, fields=rows.fields)
        writer.manifest = msgspec.structs.replace(manifest, origin=origin)
        for row in rows:
            if added == how.read.limit:
                break
            try:
                writer.add(rows.item(row), row.where)
                added += 1
            except ItemError as error:
                if not how.skip_bad:
                    raise
                skipped.append(Skipped(error.where, error.field, error.found, error.expected))
            if row.number % _REPORT_EVERY == 0:
                progress(rows.done)
        if skipped:
            lines = msgspec.json.Encoder().encode_lines(skipped)
            (writer.folder / SKIPPED).write_bytes(lines)
    _log.info("%r was read as %s, columns as %s; left out: %d", str(source), format_.name, rows.fields, len(skipped))
    return rows.files, skipped


def _cache_folder(path: Path, read: ReadOptions) -> Path:
    """Named by whose file it is, what was in it, and how it is read: three parts, so that each can change alone."""
    if not path.exists():
        raise InputError(f"{path} does not exist")
    whole = path.resolve()
    inside = [whole]
    if whole.is_dir():
        inside = sorted(p for p in whole.rglob("*") if p.suffix.lower() in _DATA_SUFFIXES and p.is_file())
        if all(file.stem == _METADATA for file in inside):
            inside += pictures_below(whole)
    parts = (os.fsencode(whole), msgspec.json.encode([_stamp(file) for file in inside]))
    how = msgspec.json.encode([__version__, FOLDER_VERSION, read], enc_hook=str)
    name = "-".join(hashlib.sha256(part).hexdigest()[:12] for part in (*parts, how))
    return cache_root() / name / (_readable(whole.stem) or "benchmark")


def _stamp(file: Path) -> tuple[str, int, int]:
    try:
        status = file.stat()
    except FileNotFoundError:
        return _readable(str(file)), _ABSENT, _ABSENT
    return _readable(str(file)), status.st_size, status.st_mtime_ns


def _readable(name: str) -> str:
    """A file's name as text that can be stored; bytes that are not UTF-8 become question marks."""
    return name.encode("utf-8", "replace").decode()


def _unchanged(cached: Path) -> bool:
    """Whether the picture files that a cached import read are still the same."""
    with suppress(OSError, msgspec.DecodeError, UnicodeError):
        stamps = msgspec.json.decode((cached / INPUTS).read_bytes(), type=list[tuple[str, int, int]])
        return all(_stamp(Path(name)) == (name, size, time) for name, size, time in stamps)
    return False


def _forget_older(cached: Path) -> None:
    """Remove what was cached of the same path before it changed."""
    whose, what, _ = cached.parent.name.split("-")
    for older in cached.parent.parent.glob(f"{whose}-*"):
        if not older.name.startswith(f"{whose}-{what}-"):
            shutil.rmtree(older, ignore_errors=True)
