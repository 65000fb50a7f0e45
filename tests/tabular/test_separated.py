"""Tables between tabs: what csv writes comes back, and what cannot be read is named."""

import csv
import io
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.errors import InputError
from eyetest.tabular import sheets
from eyetest.tabular.sheets import MAX_COLUMNS, UTF8, Dialect, SeparatedTable

Table = list[list[str]]

CELL = st.text(st.one_of(st.sampled_from('"\t\n\r,a'), st.characters(codec="utf-8", exclude_characters="\ufeff")))
TABLE = st.lists(st.lists(CELL, min_size=1, max_size=5), max_size=6)
BOM = b"\xef\xbb\xbf"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tsv") / "table.tsv"


def read(path: Path, data: bytes) -> Table:
    path.write_bytes(b"a\n")
    table = SeparatedTable(path, Dialect(UTF8, "\t"))
    path.write_bytes(data)
    return list(table.rows())


def written_by_csv(table: Table, quoting: Literal[0, 1], end: str) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t", quoting=quoting, lineterminator=end).writerows(table)
    return text.getvalue()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@given(table=TABLE)
def test_a_table_with_every_cell_quoted_gives_its_cells(path: Path, end: str, table: Table) -> None:
    expected = [row for row in table if row != [""]]
    assert read(path, written_by_csv(table, csv.QUOTE_ALL, end).encode()) == expected


@pytest.mark.parametrize("line", [b"index\tquestion\n", b'"index"\t"question"\n'])
def test_a_byte_order_mark_is_no_part_of_the_first_cell(path: Path, line: bytes) -> None:
    assert read(path, BOM + line + BOM + b"x\ty\n") == [["index", "question"], ["\ufeffx", "y"]]


@pytest.mark.parametrize("data", [b"", b"\n\r\n\n", b'""\n', BOM, BOM + b"\n"])
def test_blank_lines_are_no_rows(path: Path, data: bytes) -> None:
    assert read(path, data) == []


def test_an_open_quote_is_named_by_file_and_row(path: Path) -> None:
    with pytest.raises(InputError, match=r"table\.tsv row 1: the quotes are wrong"):
        read(path, b'a\tb\n"c\td\ne\n')


def test_lines_and_cells_that_are_too_long_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MAX_CELL", 12)
    with pytest.raises(InputError, match=r"table\.tsv row 1: found more than .* MB in a cell"):
        read(path, b"a\n" + b"b" * 13 + b"\n")
    monkeypatch.setattr(sheets, "MAX_LINE", 16)
    assert read(path, b"a\n" + b"b" * 12 + b"\n") == [["a"], ["b" * 12]]
    with pytest.raises(InputError, match=r"table\.tsv has a line that is longer than"):
        read(path, b'"a\n' + b"b" * 16 + b'"\n')


@pytest.mark.parametrize("cell", [b"", b'""'])
def test_too_many_columns(path: Path, cell: bytes) -> None:
    with pytest.raises(InputError, match="more than 100,000 columns"):
        read(path, b"\t".join([cell] * (MAX_COLUMNS + 2)))
