"""What a reader is, and the files that it is given."""

import codecs
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from eyetest.errors import InputError, heading, short
from eyetest.records import IMAGE_FORMATS
from eyetest.reform.annotation import Annotations
from eyetest.store.files import refuse_special
from eyetest.tabular.files import read_rows
from eyetest.tabular.json_table import MAX_DOCUMENT, JsonTable, decode
from eyetest.tabular.table import Values, kind_of, open_plain, unpacked_name

TABLES = (".csv", ".tsv", ".xlsx", ".json", ".jsonl", ".parquet")
"""Endings of files that hold one record a row."""
_BINARY = (*(f".{name}" for name in IMAGE_FORMATS), ".jpg", ".tif", ".parquet", ".xlsx", ".mat", ".bin")
_PAIRED = ("questions", "annotations")
"""Folders that VQA and TDIUC keep side by side, one half of the records in each."""
_PACKED = (".zip", ".tar", ".tgz", ".7z", ".rar")


class NoSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of a part that has nothing to set."""


class Reader(ABC):
    """Reads one file format. ``settings`` is the type of what a YAML file may say under ``read:``."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """What the files look like, in a line."""
    settings: ClassVar[type[msgspec.Struct]] = NoSettings

    @abstractmethod
    def read(self, files: "AnnotationFiles", settings: Any) -> Annotations:
        """The annotations in some files; an InputError that says what was expected where they are of another kind."""


class AnnotationFiles:
    """The files and folders that a user named, and what lies beside them.

    Many datasets keep questions in one file and answers in another; whoever names one of them means both.
    """

    def __init__(self, named: Sequence[Path]) -> None:
        if not named:
            raise InputError(f"{heading('annotations')}: which file or folder holds them?")
        self.named = tuple(named)
        for path in named:
            if not path.exists():
                raise InputError(f"{path} does not exist")
            refuse_special(path)
            if path.suffix.lower() in _PACKED or path.name.lower().endswith(".tar.gz"):
                raise InputError(f"{path} is an archive: unpack it, and name what was in it")
        self._documents: dict[Path, Any] = {}
        self._unreadable = ""

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The named files, and all inside named folders, in the order of their names."""
        inside = (sorted(path.rglob("*")) if path.is_dir() else [path] for path in self.named)
        return tuple(dict.fromkeys(path for paths in inside for path in paths if path.is_file()))

    @cached_property
    def beside(self) -> tuple[Path, ...]:
        """Files in the same folder as a named file, or in that of the other half, which were not named themselves."""
        folders = dict.fromkeys(folder for path in self.named if path.is_file() for folder in _folders(path.parent))
        others = (path for folder in folders for path in sorted(folder.iterdir()) if path.is_file())
        return tuple(path for path in others if path not in self.files)

    def ending(self, *endings: str, beside: bool = False) -> list[Path]:
        """Files whose names end so, whatever their case; packed or not."""
        paths = (*self.files, *self.beside) if beside else self.files
        return [path for path in paths if unpacked_name(path.name.lower()).endswith(endings)]

    def document(self, path: Path) -> Any:
        """What a JSON file holds, read once."""
        if path not in self._documents:
            with open_plain(path) as file:
                data = file.read(MAX_DOCUMENT + 1)
            if len(data) > MAX_DOCUMENT:
                raise InputError(f"{path} is one JSON value of more than 2 GB")
            self._documents[path] = _parsed(data.removeprefix(codecs.BOM_UTF8).strip(), path)
        return self._documents[path]

    def documents(self, is_meant: Callable[[Any], bool], *, beside: bool = True) -> Iterator[tuple[Path, Any]]:
        """JSON files that hold what is meant: of the named ones, or else of those beside them.

        A file beside the named ones that is no JSON is nobody's mistake, and passed over.
        """
        some = False
        for path in self.ending(".json"):
            if is_meant(document := self.document(path)):
                some = True
                yield path, document
        if some or not beside:
            return
        for path in self.beside:
            if kind_of(path) == ".json":
                try:
                    document = self.document(path)
                except InputError:
                    continue
                if is_meant(document):
                    yield path, document

    def one_document(self, is_meant: Callable[[Any], bool], expected: str) -> Any:
        """The one JSON file that holds what is meant, or a line that says what was expected."""
        for _, document in self.documents(is_meant):
            return document
        raise self.unlike(expected)

    def tables(self, is_meant: Callable[[Values], bool]) -> list[Path]:
        """Files of rows whose first row is what is meant: of the named ones, or else of those beside them."""
        for paths in (self.files, self.beside):
            meant = [path for path in paths if (row := self._first_row(path)) is not None and is_meant(row)]
            if meant:
                return meant
        return []

    def _first_row(self, path: Path) -> Values | None:
        if kind_of(path) not in TABLES:
            return None
        try:
            return next((values for _, values in read_rows(path)), None)
        except InputError as error:
            if path in self.files:
                self._unreadable = str(error)
            return None

    def entries(
        self,
        keys: Collection[str],
        expected: str,
        *,
        beside: bool = True,
        otherwise: Sequence[Collection[str]] = (),
    ) -> "Entries":
        """All objects that have these keys, in whatever kind of file: in the named ones, or else in those beside.

        Where no object has them, those that have the first of the ``otherwise`` sets will do.
        """
        for paths in (self.files, self.beside) if beside else (self.files,):
            for wanted in map(frozenset, (keys, *otherwise)):
                if holding := [path for path in paths if wanted <= self._first_keys(path, wanted)]:
                    return Entries(self, tuple(holding), wanted)
        raise self.unlike(expected)

    def _first_keys(self, path: Path, wanted: frozenset[str]) -> frozenset[str]:
        """The keys of the first object in a file; none where it holds no objects."""
        try:
            return frozenset(next(iter(self.objects(path, wanted)), ()))
        except InputError as error:
            if path in self.named:
                raise
            if path in self.files:
                self._unreadable = str(error)
            return frozenset()

    def objects(self, path: Path, wanted: frozenset[str]) -> Iterator[Values]:
        """The objects in a JSON file, a table, or a text file of JSON lines; nothing of a file of another kind."""
        kind = kind_of(path)
        if kind == ".json":
            yield from _listed(self.document(path), wanted)
        elif kind in TABLES:
            yield from (values for _, values in read_rows(path))
        elif kind == ".txt" and next(self.lines(path), "").startswith("{"):
            yield from (row.values for row in JsonTable(path))

    def lines(self, path: Path) -> Iterator[str]:
        """The lines of a text file that are not blank; one that is no UTF-8 is Western European."""
        with open_plain(path) as file:
            for line in file:
                plain = line.removeprefix(codecs.BOM_UTF8)
                try:
                    text = plain.decode()
                except UnicodeDecodeError:
                    text = plain.decode("cp1252", "replace")
                if text := text.strip():
                    yield text

    def matches(self, path: Path, pattern: re.Pattern[str], expected: str) -> Iterator[re.Match[str]]:
        """The lines of a text file, each of which has to look as it should; ``#`` begins a comment."""
        for line in self.lines(path):
            if line.startswith("#"):
                continue
            if (match := pattern.fullmatch(line)) is None:
                raise InputError(f"{path.name}: found {short(line)}, expected {expected}")
            yield match

    def texts(self, pattern: re.Pattern[str], *, beside: bool = False) -> list[Path]:
        """Text files whose first line looks as it should, of the named ones, or else of those beside them."""
        for paths in (self.files, self.beside if beside else ()):
            if meant := [path for path in paths if pattern.fullmatch(self._first_line(path))]:
                return meant
        return []

    def _first_line(self, path: Path) -> str:
        if kind_of(path) in _BINARY:
            return ""
        try:
            return next((line for line in self.lines(path) if not line.startswith("#")), "")
        except InputError:
            return ""

    def unlike(self, expected: str) -> InputError:
        """The error where none of the files is what was expected."""
        names = ", ".join(str(path) for path in self.named[:3])
        why = f" ({self._unreadable})" if self._unreadable else ""
        return InputError(f"{names}: expected {expected}{why}")


def _parsed(data: bytes, path: Path) -> Any:
    """A JSON value, or the list of those that stand on a line each: people give both the same ending."""
    try:
        return decode(data, str(path))
    except InputError:
        first, *others = data.split(b"\n")
        if not others or not first.rstrip().endswith((b"}", b"]")):
            raise
        try:
            return [decode(line, str(path)) for line in (first, *others) if line.strip()]
        except InputError:
            pass
        raise


class Entries:
    """Objects of some files, which can be gone through again and again."""

    def __init__(self, files: AnnotationFiles, paths: tuple[Path, ...], keys: frozenset[str]) -> None:
        self._files, self.paths, self._keys = files, paths, keys

    def __iter__(self) -> Iterator[Values]:
        for path in self.paths:
            yield from self._files.objects(path, self._keys)

    def numbered(self) -> Iterator[tuple[str, Values]]:
        """Objects that have no name of their own with their number, after the file's name where there are several."""
        for path in self.paths:
            before = f"{path.stem}:" if len(self.paths) > 1 else ""
            for number, entry in enumerate(self._files.objects(path, self._keys), 1):
                yield f"{before}{number}", entry

    def by_file(self) -> Iterator[tuple[Path, Values]]:
        """Objects with the file that each is in."""
        for path in self.paths:
            for entry in self._files.objects(path, self._keys):
                yield path, entry


def _folders(folder: Path) -> Iterator[Path]:
    """A folder, and those beside it that hold the other half of its records."""
    yield folder
    if folder.name.lower() in _PAIRED:
        yield from (
            other
            for other in sorted(folder.parent.iterdir())
            if other != folder and other.is_dir() and other.name.lower() in _PAIRED
        )


def name_of(entry: Values, keys: Sequence[str], otherwise: str) -> str:
    """What a record is called: under the first of these keys that it has, or else its number."""
    return next((str(entry[key]) for key in keys if entry.get(key) not in (None, "")), otherwise)


def file_names(paths: Sequence[Path]) -> dict[Path, str]:
    """What each file is called, with its folder where two are called alike."""
    times = Counter(path.stem for path in paths)
    return {path: path.stem if times[path.stem] == 1 else f"{path.parent.name}/{path.stem}" for path in paths}


def texts(values: Any) -> tuple[str, ...]:
    """One text or several, without what is missing or blank; numbers are written out."""
    several = values if isinstance(values, list | tuple) else (values,)
    return tuple(text for value in several if value is not None and (text := str(value).strip()))


def picture(value: Any) -> str | bytes:
    """A picture as a file names or holds it: a name, a number, bytes, or a table's ``{bytes, path}``."""
    if isinstance(value, dict):
        value = value.get("bytes") or value.get("path") or ""
    return value if isinstance(value, bytes) else str(value)


def _listed(document: Any, wanted: frozenset[str]) -> list[Values]:
    """The objects of a JSON document: it is a list of them, has one under some key, or has each under its own.

    An object that was under a key of its own has that key as ``key``.
    """
    if isinstance(document, list):
        return document if document and all(isinstance(entry, dict) for entry in document) else []
    if not isinstance(document, dict):
        return []
    if wanted <= set(document):
        return [document]
    for value in document.values():
        if (entries := _listed(value, wanted) if isinstance(value, list) else []) and wanted <= set(entries[0]):
            return entries
    if document and all(isinstance(value, dict) for value in document.values()):
        return [{"key": key, **value} for key, value in document.items()]
    return []
