import csv
import io
import tracemalloc
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eyetest.errors import InputError
from eyetest.tabular import separated
from eyetest.tabular.separated import MAX_COLUMNS, SeparatedFile, write_row

Table = list[list[str]]

CELL = st.text(st.one_of(st.sampled_from('"\t\n\r,a'), st.characters(codec="utf-8", exclude_characters="\ufeff")))
TABLE = st.lists(st.lists(CELL, min_size=1, max_size=5), max_size=6)
RAW = st.text('a"\t\n\r', max_size=40)
BOM = b"\xef\xbb\xbf"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tsv") / "table.tsv"


def read(path: Path, data: bytes) -> list[list[bytes]]:
    path.write_bytes(data)
    return [cells for _, cells in SeparatedFile(path).rows()]


def written_by_csv(table: Table, quoting: Literal[0, 1], end: str) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t", quoting=quoting, lineterminator=end).writerows(table)
    return text.getvalue()


def read_by_csv(text: str) -> list[list[bytes]]:
    return encoded(list(csv.reader(io.StringIO(text, newline=""), delimiter="\t")))


def encoded(table: Table) -> list[list[bytes]]:
    return [[cell.encode() for cell in row] for row in table if row not in ([], [""])]


def leaves_a_quote_open(text: str) -> bool:
    return read_by_csv(f"{text}\nend")[-1] != [b"end"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@given(table=TABLE)
def test_a_table_with_every_cell_quoted_gives_its_cells(path: Path, end: str, table: Table) -> None:
    assert read(path, written_by_csv(table, csv.QUOTE_ALL, end).encode()) == encoded(table)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@given(table=TABLE)
def test_a_table_quoted_where_need_be_gives_what_csv_reads(path: Path, end: str, table: Table) -> None:
    text = written_by_csv(table, csv.QUOTE_MINIMAL, end)
    assert read(path, text.encode()) == read_by_csv(text)


@pytest.mark.parametrize(
    "end",
    [
        "\n",
        pytest.param(
            "",
        ),
    ],
)
@given(text=RAW)
@example(text="a\ra")
@settings(max_examples=400)
def test_any_text_gives_what_csv_reads_or_names_an_open_quote(path: Path, end: str, text: str) -> None:
    raw = text + end
    if leaves_a_quote_open(raw):
        with pytest.raises(InputError, match="never closed"):
            read(path, raw.encode())
    else:
        assert read(path, raw.encode()) == read_by_csv(raw)


@given(table=st.lists(st.lists(st.binary(max_size=20), min_size=1), max_size=6))
def test_written_rows_are_read_back_byte_for_byte(path: Path, table: list[list[bytes]]) -> None:
    rows = [row for row in table if row != [b""]]
    assert read(path, b"".join(write_row(row) for row in table)) == rows


@given(cells=st.lists(CELL, min_size=2))
def test_csv_reads_what_write_row_writes(cells: list[str]) -> None:
    line = write_row(cell.encode() for cell in cells).decode()
    assert list(csv.reader(io.StringIO(line, newline=""), delimiter="\t")) == [cells]


@pytest.mark.parametrize(
    "end",
    [
        "\n",
        "\r\n",
        pytest.param(
            "\r",
        ),
    ],
)
@given(table=TABLE, has_bom=st.booleans())
@example(table=[["a", "b"], ["c", "d"]], has_bom=False)
def test_reading_resumes_at_the_offset_of_a_row(path: Path, end: str, table: Table, has_bom: bool) -> None:
    path.write_bytes(BOM * has_bom + written_by_csv(table, csv.QUOTE_ALL, end).encode())
    rows = list(SeparatedFile(path).rows())
    for number, (offset, _) in enumerate(rows):
        assert list(SeparatedFile(path).rows(start=offset)) == rows[number:]


@pytest.mark.parametrize("line", [b"index\tquestion\n", b'"index"\t"question"\n'])
def test_a_byte_order_mark_is_no_part_of_the_first_cell(path: Path, line: bytes) -> None:
    assert read(path, BOM + line + BOM + b"x\ty\n") == [[b"index", b"question"], [BOM + b"x", b"y"]]


@pytest.mark.parametrize("data", [b"", b"\n\r\n\n", b'""\n', BOM, BOM + b"\n"])
def test_blank_lines_are_no_rows(path: Path, data: bytes) -> None:
    assert read(path, data) == []


def test_an_open_quote_is_named_by_file_and_line(path: Path) -> None:
    with pytest.raises(InputError, match=r"table\.tsv line 2: a quote is opened and never closed"):
        read(path, b'a\tb\n"c\td\ne\n')


def test_a_line_too_long_is_refused_by_number(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separated, "MAX_LINE", 16)
    assert read(path, b"a\n" + b"b" * 14 + b"\n") == [[b"a"], [b"b" * 14]]
    with pytest.raises(InputError, match=r"table\.tsv line 2 is longer than"):
        read(path, b"a\n" + b"b" * 16 + b"\n")


def test_a_quoted_field_too_long_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separated, "MAX_LINE", 16)
    with pytest.raises(InputError, match=r"table\.tsv line 2 is longer than"):
        read(path, b'"a\n' + b"b" * 16 + b'"\n')


def test_position_follows_the_rows_that_were_given(path: Path) -> None:
    path.write_bytes(b'a\tb\n"c\nc"\td\ne\tf')
    file = SeparatedFile(path)
    assert [file.position for _ in file.rows()] == [4, 12, 15]


def test_quotes_without_end_take_no_more_memory_than_they_have(tmp_path: Path) -> None:
    data = b'q\n"' + b'""' * 300_000 + b'\n""x"\n'
    (tmp_path / "b.tsv").write_bytes(data)
    tracemalloc.start()
    rows = [cells for _, cells in SeparatedFile(tmp_path / "b.tsv").rows()]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows == [[b"q"], [b'"' * 300_000 + b'\n"x']]
    assert peak < 6 * len(data)


@pytest.mark.parametrize("cell", [b"", b'""'])
def test_too_many_columns(tmp_path: Path, cell: bytes) -> None:
    (tmp_path / "b.tsv").write_bytes(b"\t".join([cell] * (MAX_COLUMNS + 1)))
    with pytest.raises(InputError, match="line 1 has more than 100,000 columns"):
        list(SeparatedFile(tmp_path / "b.tsv").rows())
