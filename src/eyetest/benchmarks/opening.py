"""Import and export of other tools' files, each kind a `Format`, and opening any of them as a benchmark.

Without a target a file is imported into the cache.
"""

import hashlib
import logging
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks.folder import INPUTS, README, SKIPPED, Benchmark, BenchmarkWriter, is_benchmark, write_items
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions
from eyetest.benchmarks.tags import TagMaps
from eyetest.errors import (
    EyetestError,
    InputError,
    ItemError,
    RowError,
    as_stored,
    name_folder,
    names_of,
    param,
    typed,
)
from eyetest.records import FOLDER_VERSION, Lineage, Manifest
from eyetest.registry import Registry
from eyetest.store import refuse_to_lose, replacing_file, replacing_folder
from eyetest.store.files import is_as_written, read_regular, refuse_special
from eyetest.store.urls import cache_root, known_path, local_path, mirror_of
from eyetest.tabular.files import open_table
from eyetest.tabular.table import ENDINGS, table_kind
from eyetest.version import __version__

Beside = Callable[[Path], None]
_MARKER = ".eyetest"
_INSIDE = "benchmark"
_log = logging.getLogger(__name__)
_ABSENT = -1  # size and time of an image that was not there: when it comes, the file is read anew


class Format:
    """One kind of file."""

    name: str
    summary: str
    is_folder: bool = False
    endings: tuple[str, ...] = ()

    def recognises(self, folder: Path) -> bool:
        """Whether a folder seems to have this format, by its files."""
        return False

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading. Items are made row by row, so that a bad row is distinguished from a bad file."""
        return ItemReader(open_table(path), options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write a benchmark to ``to``, which will be moved to ``final``; returns what the user should know."""
        raise InputError(f"{self.name} is only read; write {', '.join(writable())}")


FORMATS: Registry[Format] = Registry("format", "eyetest.benchmarks.formats", "FORMAT", "format")


def writable() -> list[str]:
    """The formats that can be written."""
    return [name for name, format_ in FORMATS.items() if getattr(type(format_), "write", None) is not Format.write]


def is_readable(path: Path) -> bool:
    """Whether a file or folder seems to have one of the formats."""
    return _format_of(path) is not None


def _format_of(path: Path) -> Format | None:
    """The first format that fits: a file by its ending, where that is of no table, else by its content."""
    formats = FORMATS.values()
    if path.is_dir():
        return next((format_ for format_ in formats if format_.recognises(path)), None)
    if not path.is_file():
        return None
    others = {ending for format_ in formats for ending in format_.endings}.difference(ENDINGS)
    kind = ending if (ending := path.suffix.lower()) in others else table_kind(path)
    return next((format_ for format_ in formats if kind in format_.endings), None)


def recognise(path: Path) -> Format:
    """The format of a file or folder, or an error of one line that states what to do."""
    if path.is_file() and path.stat().st_size == 0:
        raise InputError(f"{path} is empty")
    if format_ := _format_of(path):
        return format_
    known = f"name its format with {param('format')} ({', '.join(FORMATS)})"
    raise InputError(f"{path} is no benchmark that eyetest recognises; {known}")


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """How to import a file: how to read it, its name, what to do with invalid items."""

    read: ReadOptions = ReadOptions()
    name: str = ""
    version: str = "1"
    licence: str = ""
    source: str = ""
    canary: str = ""
    tags: TagMaps | None = None  # tags made of others
    skip_bad: bool = False
    overwrite: bool = False


def import_benchmark(
    source: Path, to: Path, how: Import | None = None, tell: Callable[[str], None] = lambda line: None
) -> tuple[Benchmark, list[ItemError]]:
    """Read a file of any known format into a benchmark folder, which appears only when it is complete. Also gives
    what is wrong with the rows that were left out. ``tell`` gets notes on how the file was read.

    >>> bench, skipped = et.import_benchmark(Path("mine.tsv"), Path("imported"))
    >>> len(bench), skipped
    (60, [])
    """
    _, skipped = _import(source, to, how or Import(), tell)
    return Benchmark(to), skipped


def export_benchmark(
    benchmark: Benchmark, format_name: str, to: Path, *, overwrite: bool = False, beside: Beside = lambda folder: None
) -> list[str]:
    """Write a benchmark in another tool's format; returns notes for the user. ``beside`` adds to a folder export.

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


def open_benchmark(path: str | Path, read: ReadOptions | None = None) -> Benchmark:
    """A benchmark folder, or any readable file as one."""
    path, read = local_path(path), read or ReadOptions()
    if is_benchmark(path):
        return first_items(Benchmark(path), read.limit) if read.limit else Benchmark(path)
    refuse_one_above(path)
    cached = _cache_folder(path, read)
    _name_cached(cached, path)
    if is_benchmark(cached) and _unchanged(cached):
        _log.info("%r was read before: kept in %r", str(path), str(cached))
    else:
        try:
            files, _ = _import(path, cached, Import(read=read, overwrite=True))
        except RowError as error:
            without_bad = typed("eyetest", "import", path, "--skip-bad", "--to", "BENCHMARK")
            raise RowError(f"{error}; import the file without such rows: {without_bad}") from None
        (cached / INPUTS).write_bytes(msgspec.json.encode([_stamp(file) for file in files]))
        forget_older(cached)
    return Benchmark(cached)


def known_benchmark(place: str, fingerprint: str) -> Benchmark | None:
    """The benchmark that a stored path names, also a file of items; None where another one is there now, or none."""
    path = known_path(place)
    if is_benchmark(path):
        found = Benchmark(path)
    elif path.is_file():
        try:
            found = open_benchmark(path, ReadOptions(gold_required=False))
        except (EyetestError, OSError):
            return None
    else:
        return None
    return found if fingerprint in ("", found.manifest.fingerprint) else None


def _name_cached(cached: Path, path: Path) -> None:
    """Show a folder of the cache as the file that it holds; a folder of the hub or of a bucket has a name already."""
    source = as_stored(os.path.abspath(path))  # noqa: PTH100 (a link keeps its own name)
    for folder in (cached, cached.absolute(), cached.resolve()):
        name_folder(str(folder), *names_of(str(path)), source=source)


def first_items(benchmark: Benchmark, limit: int) -> Benchmark:
    """The first items as a benchmark of its own, in the cache; the benchmark itself if it has no more."""
    if limit >= len(benchmark):
        return benchmark
    cached = _cache_folder(benchmark.path, ReadOptions(limit=limit))
    _name_cached(cached, benchmark.path)
    if not is_benchmark(cached):
        manifest = benchmark.manifest.derived("subset", f"the first {limit:,} items")
        write_items(cached, islice(benchmark, limit), benchmark, manifest, overwrite=True)
        forget_older(cached)
    return Benchmark(cached)


def _refuse_missing(path: Path) -> None:
    if not path.exists():
        raise InputError(f"{path} does not exist")
    refuse_special(path)


def refuse_one_above(path: Path) -> None:
    """Refuse a path that does not exist, and a folder that is no benchmark but contains one."""
    _refuse_missing(path)
    if is_benchmark(path / _INSIDE) and not is_benchmark(path):
        raise InputError(f"{path} is no benchmark, but holds one: name {path / _INSIDE}")


def _written_by_us(folder: Path) -> tuple[str, ...]:
    """The files of an earlier export in a folder; empty if the folder is not an export of eyetest."""
    with suppress(OSError, InputError, msgspec.DecodeError, UnicodeError):
        names = msgspec.json.decode(read_regular(folder / _MARKER, folder), type=tuple[str, ...])
        kept = [name for name in names if name != README or is_as_written(folder / README)]
        return (*kept, _MARKER, "__pycache__")
    return ()


def _import(
    source: Path, to: Path, how: Import, tell: Callable[[str], None] = lambda line: None
) -> tuple[tuple[Path, ...], list[ItemError]]:
    if is_benchmark(source):
        if mirror_of(source) is None and mirror_of(to) is None:
            raise InputError(f"{source} is a benchmark folder already: every command takes it as it is")
        whole = Benchmark(source)
        write_items(to, whole, whole, whole.manifest, overwrite=how.overwrite)
        return (), []
    _refuse_missing(source)
    format_ = FORMATS[how.read.format] if how.read.format else recognise(source)
    file_name = _readable(Path(os.path.abspath(source)).name)  # noqa: PTH100 (a link keeps its own name)
    manifest = Manifest(
        name=how.name or Path(file_name).stem,
        version=how.version,
        licence=how.licence,
        source=how.source,
        canary=how.canary,
        lineage=(Lineage(step="import", source=file_name, note=format_.name),),
    )
    skipped: list[ItemError] = []
    added = 0
    with BenchmarkWriter(to, manifest, overwrite=how.overwrite, gold_required=how.read.gold_required) as writer:
        read = msgspec.structs.replace(how.read, skip_bad=how.skip_bad)
        rows = format_.read(source, read, writer.images)
        for note in rows.media.columns.notes:
            tell(note)
        for number, row in enumerate(rows):
            if added == how.read.limit:
                break
            try:
                item = rows.item(row, number)
                writer.add(how.tags.tagged(item) if how.tags else item, row.where)
                added += 1
            except ItemError as error:
                if not how.skip_bad:
                    raise
                skipped.append(error)
        if how.tags:
            how.tags.notes()  # refuses a tag that no item has
        for where, problem in rows.rows.bad_rows.items():
            skipped.append(ItemError(where, "row", problem, "a row that can be read"))
        if skipped:
            lines = msgspec.json.Encoder().encode_lines([vars(error) for error in skipped])
            (writer.folder / SKIPPED).write_bytes(lines)
    about = (str(source), format_.name, rows.layout.fields, len(skipped))
    _log.info("%r was read as %s, columns as %s; left out: %d", *about)
    return tuple(rows.loader.files), skipped


def _cache_folder(path: Path, read: ReadOptions) -> Path:
    """A folder named by the file's path, its content, and how it is read."""
    whole = path.resolve()
    inside = [whole]
    if whole.is_dir():
        inside = sorted(p for p in whole.rglob("*") if p.suffix.lower() in ENDINGS and p.is_file())
    return cache_folder(os.fsencode(whole), [_stamp(file) for file in inside], read, _readable(whole.stem))


def cache_folder(whose: bytes, what: Any, how: Any, name: str) -> Path:
    """A folder for what was made of something: of which contents, and how."""
    made = (msgspec.json.encode(part, enc_hook=str) for part in (what, [__version__, FOLDER_VERSION, how]))
    parts = "-".join(hashlib.sha256(part).hexdigest()[:12] for part in (whose, *made))
    return cache_root() / parts / (name or "benchmark")


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
    with suppress(OSError, msgspec.DecodeError, UnicodeError):
        stamps = msgspec.json.decode((cached / INPUTS).read_bytes(), type=list[tuple[str, int, int]])
        return all(_stamp(Path(name)) == (name, size, time) for name, size, time in stamps)
    return False


def forget_older(cached: Path) -> None:
    """Remove what was made of earlier contents."""
    whose, what, _ = cached.parent.name.split("-")
    for older in cached.parent.parent.glob(f"{whose}-*"):
        if not older.name.startswith(f"{whose}-{what}-"):
            shutil.rmtree(older, ignore_errors=True)
