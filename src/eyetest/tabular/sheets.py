"""CSV for spreadsheets: an apostrophe before =, +, - or @ keeps a text from being computed, and is removed again."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

GUARD = "'"
GUARDED = "guarded"  # the column that names the guarded cells of each row in a table that is read again
_PASSED_OVER = "\\s\x00-\x20\"'`\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
_COMPUTED = re.compile(f"[{_PASSED_OVER}]*[=+\\-@＝＋－＠﹢﹣﹦﹫]|'*[\t\r\n\0]")


def inert(text: str) -> str:
    """A text as a cell that no spreadsheet computes."""
    return GUARD + text if _needs_guard(text) else text


def restored(cell: str) -> str:
    """The original text of an ``inert`` cell."""
    return cell[1:] if cell.startswith(GUARD) and _needs_guard(cell[1:]) else cell


def restored_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table that is read again, without the guards that it declares; any other row unchanged."""
    names = str(row.get(GUARDED) or "").split()
    if GUARDED not in row or not all(isinstance(row.get(name), str) for name in names):
        return row
    cells = {name: restored(row[name]) for name in names}
    return {name: cells.get(name, cell) for name, cell in row.items() if name != GUARDED}


class SheetWriter:
    """Writes rows as CSV with inert texts; ``mark`` adds a column that names the changed cells of each row."""

    def __init__(self, file: TextIO, columns: Sequence[str], *, mark: bool = False) -> None:
        self.guarded = False
        self._writer = csv.writer(file)
        self._columns, self._mark = columns, mark
        self._writer.writerow([inert(name) for name in columns] + [GUARDED] * mark)

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows, each with a cell for every column."""
        self._writer.writerows(map(self._cells, rows))

    def _cells(self, row: Sequence[Any]) -> list[Any]:
        cells = [inert(cell) if isinstance(cell, str) else cell for cell in row]
        changed = [name for name, old, new in zip(self._columns, row, cells, strict=True) if old is not new]
        self.guarded |= bool(changed)
        return [*cells, " ".join(changed)] if self._mark else cells


def sheet_text(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, mark: bool = False) -> str:
    """A whole table as the text of its file."""
    file = io.StringIO(newline="")
    SheetWriter(file, columns, mark=mark).write(rows)
    return file.getvalue()


def _needs_guard(text: str) -> bool:
    return bool(text) and not text[0].isalnum() and _COMPUTED.match(text) is not None
