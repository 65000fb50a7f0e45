"""Quizzes that people keep in CSV or Excel, with the columns that people give them."""

import csv
import gzip
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from eyetest.benchmarks import Benchmark, Import, ReadOptions, import_benchmark, open_benchmark
from eyetest.errors import InputError, ItemError
from tests.conftest import png
from tests.runs.conftest import Eyetest
from tests.runs.conftest import eyetest as eyetest

Row = Sequence[Any]
HEADER = ("id", "question", "image", "A", "B", "C", "answer", "topic")
ROWS = (
    ("1", "What is it?", "pictures/1.png", "a cat", "a dog", "", "B", "animals"),
    ("2", "How many, in all?", "", "1", "2", "3", "C", ""),
)


def as_csv(path: Path, *rows: Row) -> Path:
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows(rows)
    return path


def as_excel(path: Path, *rows: Row) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(list(row))
    book.save(path)
    return path


def as_packed_csv(path: Path, *rows: Row) -> Path:
    plain = as_csv(path.with_suffix(".plain"), *rows)
    path.write_bytes(gzip.compress(plain.read_bytes()))
    return path


WRITERS = [("quiz.csv", as_csv), ("quiz.xlsx", as_excel), ("quiz.csv.gz", as_packed_csv)]


def imported(path: Path, **read: Any) -> Benchmark:
    return import_benchmark(path, path.parent / "b", Import(read=ReadOptions(**read)))[0]


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures/1.png").write_bytes(png())
    return tmp_path


@pytest.mark.parametrize(("name", "write"), WRITERS)
def test_a_quiz_is_a_benchmark(pictures: Path, name: str, write: Callable[..., Path]) -> None:
    benchmark = imported(write(pictures / name, HEADER, *ROWS))

    first, second = benchmark
    assert benchmark.manifest.name == "quiz"
    assert [choice.text for choice in first.choices] == ["a cat", "a dog"]
    assert (first.gold, first.tags) == ((1,), {"topic": "animals"})
    assert benchmark.images.read(first.images[0]) == png()
    assert (second.gold, second.images, second.tags) == ((2,), (), {})


@pytest.mark.parametrize(("name", "write"), WRITERS)
def test_commands_take_it_as_it_is(
    pictures: Path, eyetest: Eyetest, monkeypatch: pytest.MonkeyPatch, name: str, write: Callable[..., Path]
) -> None:
    monkeypatch.setenv("EYETEST_CACHE", str(pictures / "cache"))
    path = write(pictures / name, HEADER, *ROWS)

    assert "2 items" in eyetest("audit", path).out
    assert len(open_benchmark(path)) == 2


@pytest.mark.parametrize(
    "options",
    [
        "['a cat', 'a dog']",
        '["a cat", "a dog"]',
        "a cat\na dog",
        "a cat | a dog",
        "a cat;a dog",
        "A. a cat\nB. a dog",
    ],
)
@pytest.mark.parametrize(("name", "write"), WRITERS)
def test_options_in_one_cell(tmp_path: Path, name: str, write: Callable[..., Path], options: str) -> None:
    path = write(tmp_path / name, ("question", "options", "answer"), ("What is it?", options, "a dog"))

    (item,) = imported(path)
    assert [(choice.text, choice.correct) for choice in item.choices] == [("a cat", False), ("a dog", True)]


@pytest.mark.parametrize(
    "header",
    ["Question,Option A,Option B,Answer", "QUESTION,a,b,Correct answer", "Question,choice_a,choice_b,ANSWER"],
)
def test_columns_as_people_call_them(tmp_path: Path, header: str) -> None:
    (item,) = imported(as_csv(tmp_path / "quiz.csv", header.split(","), ("What?", "cat", "dog", "A")))

    assert (item.question, item.gold, [choice.text for choice in item.choices]) == ("What?", (0,), ["cat", "dog"])
    assert item.tags == {}


def test_semicolons_between_cells(tmp_path: Path) -> None:
    (tmp_path / "quiz.csv").write_text('question;A;B;answer\n"1,5 or 2?";1,5;2;B\n')

    (item,) = imported(tmp_path / "quiz.csv")
    assert (item.question, [choice.text for choice in item.choices]) == ("1,5 or 2?", ["1,5", "2"])


def test_numbers_and_dates_of_excel_say_what_they_look_like(tmp_path: Path) -> None:
    header = ("question", "A", "B", "answer", "year", "seen")
    path = as_excel(tmp_path / "quiz.xlsx", header, ("When?", 1999.0, 2.5, "A", 2003.0, datetime(2024, 5, 6)))

    (item,) = imported(path)
    assert [choice.text for choice in item.choices] == ["1999", "2.5"]
    assert item.tags == {"year": 2003, "seen": "2024-05-06 00:00:00"}


def test_rows_of_nothing_are_no_items(tmp_path: Path) -> None:
    path = as_csv(tmp_path / "quiz.csv", ("question", "answer"), ("Who?", "me"), ("", ""), (), ("Why?", "so"))

    assert [item.id for item in imported(path)] == ["0", "1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question,answer\nWho?\n", "quiz.csv row 1: 1 cells under 2 columns"),
        ('question,answer\n"Who "is" it?",me\n', "quiz.csv row 1: the quotes are wrong"),
        ("question,question\nWho?,me\n", "several columns are called 'question'"),
        ("frage,antwort\nWer?,ich\n", "no column for the question among frage, antwort"),
        ("question,answer\n", "quiz.csv holds no items"),
        ("question,A,B,answer\nWho?,a,b,C\n", "quiz.csv row 1: answer: found 'C'"),
        ("question,answer,image\nWho?,me,../1.png\n", "quiz.csv row 1: image: found path '../1.png', which leaves"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "quiz.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        imported(tmp_path / "quiz.csv")
    assert message in str(caught.value)
    assert not (tmp_path / "b").exists()


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    (tmp_path / "quiz.csv").write_bytes(b"question,answer\nWer schl\xe4ft?,ich\n")
    with pytest.raises(InputError, match=r"quiz\.csv cannot be read: .*utf-8"):
        imported(tmp_path / "quiz.csv")


@pytest.mark.parametrize(
    "data", [gzip.compress(b"question,answer\nWho?,me\n" * 99, mtime=0)[:-9], b"\x1f\x8b\x08 nothing", b"plain"]
)
def test_a_damaged_gzip_file_is_told(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "quiz.csv.gz").write_bytes(data)
    with pytest.raises(InputError, match=r"quiz\.csv\.gz cannot be read"):
        imported(tmp_path / "quiz.csv.gz")


def test_a_gzip_file_unpacks_into_no_more_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyetest.tabular.table.MAX_UNPACKED", 2**20)
    monkeypatch.setattr("eyetest.tabular.table.MAX_GROWTH", 2)
    (tmp_path / "quiz.jsonl.gz").write_bytes(gzip.compress(b'{"question": "Who?", "answer": "me"}\n' * 10**5, 1))
    with pytest.raises(InputError, match=r"quiz\.jsonl\.gz unpacks into more than"):
        imported(tmp_path / "quiz.jsonl.gz")


def test_a_formula_is_what_it_says(tmp_path: Path) -> None:
    path = as_excel(tmp_path / "quiz.xlsx", ("question", "A", "B", "answer"), ("Which?", "=x+1", "=x", "B"))

    (item,) = imported(path)
    assert [choice.text for choice in item.choices] == ["=x+1", "=x"]


def test_an_item_that_is_none_is_named_by_its_row(tmp_path: Path) -> None:
    path = as_excel(tmp_path / "quiz.xlsx", ("id", "question", "answer"), ("1", "Who?", "me"), ("1", "Why?", "so"))
    with pytest.raises(ItemError, match=r"quiz\.xlsx row 2: id: found '1' again"):
        imported(path)
