"""Tables of text as programs of many countries write them: read as they were meant, or refused in a line."""

import codecs
import csv
import io
from pathlib import Path

import pandas as pd
import pytest

from eyetest.errors import InputError, ReadingWarning
from eyetest.tabular.files import TableFile, read_rows
from eyetest.tabular.sheets import dialect_of
from tests.mutations import mutations, peak_memory, refusals

ROWS = [["item", "question", "A"], ["1", "Größer – oder „Spaß“?", "ä;b"], ["2", "naïve, “quoted”", "1\n2"]]
PLAIN = [["item", "question"], ["1", "Who is it?"]]


def written(rows: list[list[str]], separator: str, end: str = "\r\n") -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator=end).writerows(rows)
    return text.getvalue()


def read(path: Path) -> list[list[str]]:
    table = TableFile(path)
    return [list(table.columns), *(list(row.values.values()) for row in table)]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_every_encoding_that_can_be_told_for_certain(tmp_path: Path, encoding: str, separator: str) -> None:
    path = tmp_path / "quiz.csv"
    path.write_bytes(written(ROWS, separator).encode(encoding))
    assert read(path) == ROWS


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_western_text_is_read_and_whoever_reads_is_told(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "quiz.csv"
    path.write_bytes(written(ROWS, separator).encode("cp1252"))
    with pytest.warns(ReadingWarning, match=r"quiz\.csv is not UTF-8, .* Windows-1252.*'Größer'"):
        assert read(path) == ROWS


def test_pandas_writes_what_we_read(tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS[1:], columns=ROWS[0])
    for encoding in ("utf-8", "utf-16"):
        frame.to_csv(tmp_path / "quiz.csv", index=False, encoding=encoding)
        assert read(tmp_path / "quiz.csv") == ROWS


@pytest.mark.parametrize(
    "data",
    [
        "题目,答案\n谁在睡觉？,我\n".encode("gbk"),
        "вопрос,ответ\nКто спит?,я\n".encode("cp1251"),
        "質問,答え\n誰ですか,私\n".encode("shift_jis"),
        "question,answer\nGrößer? Überall,ä\n".encode().replace("ä".encode(), b"\xc3"),
        b"question,answer\nWho \x81?,me\n",
    ],
)
def test_other_encodings_and_damaged_text_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "quiz.csv").write_bytes(data)
    with pytest.raises(InputError, match=r"quiz\.csv is not UTF-8, and no Western text either: save it"):
        read(tmp_path / "quiz.csv")


@pytest.mark.parametrize(
    ("header", "separator"),
    [
        ("a,b;c", ","),
        ('"a, b";c', ";"),
        ("a;b\tc", ";"),
        ("a\tb", "\t"),
        ("a", ","),
        ("", ","),
        ("sep=;\r\na,b;c", ";"),
        ("SEP=\t\na,b\tc", "\t"),
    ],
)
def test_what_separates_cells(tmp_path: Path, header: str, separator: str) -> None:
    (tmp_path / "quiz.csv").write_text(header, newline="")
    assert dialect_of(tmp_path / "quiz.csv").separator == separator


def test_a_line_for_excel_is_no_header(tmp_path: Path) -> None:
    (tmp_path / "quiz.csv").write_bytes(codecs.BOM_UTF8 + b"sep=;\r\n" + written(ROWS, ";").encode())
    assert read(tmp_path / "quiz.csv") == ROWS
    assert [values["item"] for _, values in read_rows(tmp_path / "quiz.csv")] == ["1", "2"]


@pytest.mark.filterwarnings("ignore::eyetest.errors.ReadingWarning")
@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_mutations(tmp_path: Path, encoding: str) -> None:
    sound, before = written(ROWS * 20, ",").encode(encoding), peak_memory()
    said = refusals(lambda file: list(read_rows(file)), tmp_path / "a.csv", mutations(sound, 300))
    assert said
    assert peak_memory() - before < 2**30
