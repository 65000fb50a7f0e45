"""Readers, and the files that they are given."""

import codecs
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks.images import IMAGE_ENDINGS, decode_base64, spoken
from eyetest.errors import InputError, RowError, heading, short
from eyetest.reform.annotation import Annotations, ClassLabel, FileSettings, refuse_row
from eyetest.store.files import refuse_special
from eyetest.tabular.files import KINDS_LISTED, decode, known_table, read_document
from eyetest.tabular.table import Values, table_kind

_NO_LINES = (*IMAGE_ENDINGS, ".bin")
_PACKED = (".zip", ".tar", ".tgz", ".gz", ".7z", ".rar")
_SHORTEST_BASE64 = 1_000  # of an image; no name is as long
Keys = tuple[frozenset[str], ...]  # keys that an object must have, each with its alternative names


@dataclass(frozen=True)
class Reader:
    """Reads one file format; ``settings`` is the type of a YAML file's ``read:``."""

    name: str
    summary: str
    read: Callable[["AnnotationFiles", Any], Annotations]
    """Reads the annotations of files; an InputError says what was expected of files of another kind."""
    settings: type[msgspec.Struct] = FileSettings


def reads(
    name: str, summary: str, settings: type[msgspec.Struct] = FileSettings
) -> Callable[[Callable[["AnnotationFiles", Any], Annotations]], Reader]:
    """Make a reader of a function."""
    return lambda read: Reader(name, summary, read, settings)


class AnnotationFiles:
    """Files and folders that a user named."""

    def __init__(self, named: Sequence[Path], refuse: Callable[[RowError], None] = refuse_row) -> None:
        self.refuse = refuse  # is called with what is wrong with a record, which is left out unless it raises
        if not named:
            raise InputError(f"{heading('annotations')}: which file or folder holds them?")
        self.named = tuple(named)
        for path in named:
            if not path.exists():
                raise InputError(f"{path} does not exist")
            refuse_special(path)
            if path.suffix.lower() in _PACKED:
                raise InputError(f"{path} is an archive: unpack it, and name what was in it")
        self._documents: dict[Path, Any] = {}
        self._unreadable = ""

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The named files, and all inside named folders, by name."""
        inside = (sorted(path.rglob("*")) if path.is_dir() else [path] for path in self.named)
        return tuple(dict.fromkeys(path for paths in inside for path in paths if path.is_file()))

    def document(self, path: Path) -> Any:
        """Read a JSON file once."""
        if path not in self._documents:
            self._documents[path] = decode(read_document(path), str(path))
        return self._documents[path]

    def entries(self, keys: Collection[str], expected: str) -> "Entries":
        """All objects that have these keys, or an error that says what was expected."""
        found = self.find_entries(keys)
        if found is None:
            raise self.unlike(expected)
        return found

    def find_entries(self, keys: Collection[str]) -> "Entries | None":
        """Objects that have these keys (``a|b``: one of both)."""
        wanted = tuple(frozenset(key.split("|")) for key in keys)
        if holding := [path for path in self.files if _has(self._first_object(path, wanted), wanted)]:
            return Entries(holding, lambda path: self.objects(path, wanted))
        return None

    def _first_object(self, path: Path, wanted: Keys) -> Values:
        try:
            return next(iter(self.objects(path, wanted)), {})
        except InputError as error:
            if path in self.named:
                raise
            self._unreadable = str(error)
            return {}

    def rows(self) -> "Entries":
        """The rows of all named files that are tables."""
        if tables := [path for path in self.files if path.suffix.lower() not in _NO_LINES and table_kind(path)]:
            return Entries(tables, lambda path: self.objects(path, ()))
        raise self.unlike(f"a table ({KINDS_LISTED})")

    def objects(self, path: Path, wanted: Keys) -> Iterator[Values]:
        """Objects of a JSON file or a table; without ``wanted`` of a table."""
        kind = "" if path.suffix.lower() in _NO_LINES else table_kind(path)
        if wanted and kind == ".json":
            yield from _listed(self.document(path), wanted)
        elif kind:
            table = known_table(path, skips_bad=self.refuse is not refuse_row)
            yield from (row.values for row in table)
            for problem in table.bad_rows.values():
                self.refuse(RowError(problem))

    def top(self, path: Path) -> Values:
        """What a JSON document says beside its records, such as the name of its split."""
        document = self.document(path) if table_kind(path) == ".json" else None
        return document if isinstance(document, dict) else {}

    def lines(self, path: Path) -> Iterator[str]:
        """The lines of a text file that are not blank."""
        with path.open("rb") as file:
            decoded = (line.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace").strip() for line in file)
            yield from filter(None, decoded)

    def matches(self, path: Path, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Lines of a text file that must match a pattern; ``#`` begins a comment."""
        first = ""
        for number, line in enumerate(self.lines(path), 1):
            if line.startswith("#"):
                continue
            if (match := pattern.fullmatch(line)) is None:
                expected = f"expected a line such as {short(first)}"
                self.refuse(RowError(f"{path} line {number}: found {short(line)}, {expected}"))
                continue
            first = first or line
            yield match

    def texts(self, pattern: re.Pattern[str]) -> list[Path]:
        """Text files whose first line matches."""
        return [path for path in self.files if pattern.fullmatch(self._first_line(path))]

    def _first_line(self, path: Path) -> str:
        if path.suffix.lower() in _NO_LINES or table_kind(path) in (".json", ".jsonl", ".parquet", ".xlsx"):
            return ""
        return next((line for line in self.lines(path) if not line.startswith("#")), "")

    def unlike(self, expected: str) -> InputError:
        """The error where none of the files is what was expected."""
        names = ", ".join(str(path) for path in self.named[:3])
        why = f" ({self._unreadable})" if self._unreadable else ""
        return InputError(f"{names}: expected {expected}{why}")


class Entries:
    """Objects of some files, which can be iterated repeatedly."""

    def __init__(self, paths: Sequence[Path], read: Callable[[Path], Iterable[Values]]) -> None:
        self.paths, self._read = tuple(paths), read

    def __iter__(self) -> Iterator[Values]:
        return (entry for _, _, entry in self.by_file())

    def by_file(self) -> Iterator[tuple[Path, int, Values]]:
        """Objects with their file and their number in it, from 1."""
        for path in self.paths:
            for number, entry in enumerate(self._read(path), 1):
                yield path, number, entry

    def within(self, others: "Entries") -> "Entries":
        """These objects, of the files that hold others as well where there are such files."""
        return Entries([path for path in self.paths if path in others.paths] or self.paths, self._read)


def file_names(paths: Sequence[Path]) -> dict[Path, str]:
    """Name of each file, with its folder where two names are equal."""
    times = Counter(path.stem for path in paths)
    return {path: path.stem if times[path.stem] == 1 else f"{path.parent.name}/{path.stem}" for path in paths}


def texts(values: Any) -> tuple[str, ...]:
    """One text or several, without what is missing or blank; numbers are written out."""
    several = values if isinstance(values, list | tuple) else (values,)
    return tuple(text for value in several if value is not None and (text := str(value).strip()))


def listed(names: Iterable[str]) -> tuple[ClassLabel, ...]:
    """Classes with nothing but a name, each once."""
    return tuple(ClassLabel(name=name) for name in dict.fromkeys(map(spoken, names)) if name)


def most_common(answers: Sequence[str]) -> str:
    """The most frequent answer, the first of several that are as frequent."""
    return max(answers, key=answers.count, default="")


def image_of(value: Any) -> str | bytes:
    """An image as a file names or holds it: a name, a number, bytes, base64, or a table's ``{bytes, path}``."""
    if isinstance(value, dict):
        value = value.get("bytes") or value.get("path") or ""
    if isinstance(value, str) and len(value) >= _SHORTEST_BASE64:
        return decode_base64(value.encode())
    return value if isinstance(value, bytes) else str(value)


def _has(entry: Any, keys: Keys) -> bool:
    return isinstance(entry, dict) and bool(entry) and all(not names.isdisjoint(entry) for names in keys)


def _listed(document: Any, wanted: Keys) -> list[Values]:
    """The objects of a JSON document: a list, a list under some key, or values under keys (which become ``key``)."""
    if isinstance(document, list):
        return document if document and all(isinstance(entry, dict) for entry in document) else []
    if not isinstance(document, dict):
        return []
    if _has(document, wanted):
        return [document]
    values = list(document.values())
    is_keyed = bool(values) and all(isinstance(value, dict) for value in values)
    is_alone = sum(_has(value, wanted) for value in values) == 1
    for value in () if is_keyed and _has(values[0], wanted) else values:
        inner = next(iter(value.values()), None) if isinstance(value, dict) else None
        if isinstance(value, dict) and not ((is_alone and _has(value, wanted)) or _has(inner, wanted)):
            continue
        if isinstance(value, list | dict) and (entries := _listed(value, wanted)) and _has(entries[0], wanted):
            return entries
    return [{"key": key, **value} for key, value in document.items()] if is_keyed else []
