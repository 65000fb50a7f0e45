"""Rows between tabs, commas or semicolons; those between tabs at the speed of a memory scan.

A VLMEvalKit benchmark is gigabytes of base64 in one file. Python's csv module decodes and walks every character,
pandas holds the file several times over and turns the option "None" into nothing. Here a line without quotes is
one `bytes.split`, a quoted field one `bytes.find`, and a cell stays bytes until somebody needs text. The dialect
is that of both: fields quoted where need be, quotes doubled inside them.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from eyetest.errors import InputError
from eyetest.tabular.dialect import TABS, Dialect
from eyetest.tabular.table import Row, open_plain, plain_size, refuse_twins

MAX_CELL = 64 * 2**20
MAX_LINE = 256 * 2**20
MAX_COLUMNS = 100_000
_BOM = b"\xef\xbb\xbf"
_TAB = b"\t"


class SeparatedFile:
    """The rows of one file between tabs, each with the byte at which it starts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self.line = 0

    def rows(self, start: int = 0) -> Iterator[tuple[int, list[bytes]]]:
        """Rows from a byte offset on, as (offset, cells); blank lines are no rows."""
        with open_plain(self.path) as file:
            if start:
                file.seek(start)
            self.position, self.line = start, 0
            while line := self._readline(file):
                offset = self.position - len(line)
                if offset == 0:
                    line = line.removeprefix(_BOM)
                body = line.rstrip(b"\r\n")
                if b'"' in body or b"\r" in body:
                    yield from self._split_quoted(line, file)
                elif body:
                    cells = body.split(_TAB, MAX_COLUMNS)
                    self._check_columns(len(cells))
                    yield offset, cells

    def _readline(self, file: BinaryIO) -> bytes:
        line = file.readline(MAX_LINE)
        if len(line) >= MAX_LINE:
            raise InputError(f"{self.path.name} line {self.line + 1} is longer than {MAX_LINE // 2**20} MB")
        self.position += len(line)
        self.line += 1
        return line

    def _check_columns(self, number: int) -> None:
        if number > MAX_COLUMNS:
            raise InputError(f"{self.path.name} line {self.line} has more than {MAX_COLUMNS:,} columns")

    def _split_quoted(self, line: bytes, file: BinaryIO) -> Iterator[tuple[int, list[bytes]]]:
        """Rows of a line in which quotes or bare carriage returns occur; reads on where a field goes on."""
        row: list[bytes] = []
        at = 0
        start = self.position - len(line)
        while True:
            pieces: list[bytes] = []
            if line[at : at + 1] == b'"':
                at, line = self._quoted(line, at + 1, pieces, file)
            end = _cell_end(line, at)
            if end > at:
                pieces.append(line[at:end])
            row.append(pieces[0] if len(pieces) == 1 else b"".join(pieces))
            self._check_columns(len(row))
            at = end + 1
            if line[end : end + 1] == _TAB:
                continue
            if row != [b""]:
                yield start, row
            if line[end : end + 2] == b"\r\n":
                at += 1
            if at >= len(line):
                return
            row, start = [], self.position - len(line) + at

    def _quoted(self, line: bytes, at: int, pieces: list[bytes], file: BinaryIO) -> tuple[int, bytes]:
        """Collect a quoted field; returns the line on which it ends and where."""
        first, held = self.line, 0
        start = at
        while True:
            end = line.find(b'"', at)
            if end >= 0 and line[end + 1 : end + 2] == b'"':
                at = end + 2
                continue
            piece = line[start : end if end >= 0 else None]
            pieces.append(piece.replace(b'""', b'"') if at > start else piece)
            if end >= 0:
                return end + 1, line
            held += len(line) - start
            line, at, start = self._readline(file), 0, 0
            if not line or held > MAX_CELL:
                raise InputError(f"{self.path.name} line {first}: a quote is opened and never closed")


def _cell_end(line: bytes, at: int) -> int:
    """Where an unquoted stretch ends: at a tab, a line end, or the end of the data."""
    end = len(line)
    for stop in (_TAB, b"\n", b"\r"):
        index = line.find(stop, at, end)
        end = index if index >= 0 else end
    return end


class SeparatedTable:
    """CSV and the like as rows of text, each with a cell for every column of the first line."""

    def __init__(self, path: Path, dialect: Dialect = TABS) -> None:
        self.path, self.done, self._dialect = path, 0.0, dialect
        self.columns = tuple(next(self.rows(), ()))
        refuse_twins(path, self.columns)

    def __iter__(self) -> Iterator[Row]:
        for line, cells in enumerate(self.rows()):
            if line:
                where = f"{self.path.name} row {line}"
                yield Row(line - 1, where, self.values(where, cells), line)

    def rows(self) -> Iterator[list[Any]]:
        """The cells of all rows, header first; strictly, since an open quote would swallow the rest in silence."""
        csv.field_size_limit(MAX_CELL)
        number = 0
        with io.TextIOWrapper(open_plain(self.path), self._dialect.encoding, newline="") as file:
            if self._dialect.preface:
                file.readline(MAX_LINE)
            lines = csv.reader(self._lines(file), delimiter=self._dialect.separator, strict=True)
            try:
                for number, cells in enumerate(filter(None, lines)):  # noqa: B007 (told below)
                    yield cells
            except csv.Error as error:
                raise InputError(f"{self.path.name} row {number + 1}: the quotes are wrong: {error}") from None

    def _lines(self, file: TextIO) -> Iterator[str]:
        size, position = plain_size(self.path), 0
        while line := file.readline(MAX_LINE):
            if len(line) >= MAX_LINE:
                raise InputError(f"{self.path.name} has a line that is longer than {MAX_LINE // 2**20} MB")
            position += len(line)
            self.done = position / size
            yield line

    def values(self, where: str, cells: list[Any]) -> dict[str, Any]:
        """A row's values by column."""
        if len(cells) != len(self.columns):
            raise InputError(f"{where}: {len(cells)} cells under {len(self.columns)} columns")
        return dict(zip(self.columns, cells, strict=True))


def write_row(cells: Iterable[bytes]) -> bytes:
    """One row as a file holds it: every cell quoted, quotes doubled."""
    return b'"' + b'"\t"'.join(cell.replace(b'"', b'""') for cell in cells) + b'"\n'
