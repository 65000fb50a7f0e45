"""Quizzes that people keep in CSV or Excel, with the columns that people give them."""

import csv
import gzip
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from eyetest.benchmarks import Benchmark, Import, ReadOptions, import_benchmark
from eyetest.errors import InputError
from eyetest.tabular.files import known_table
from tests.conftest import png
from tests.runs.written import xlsx

Row = Sequence[Any]
HEADER = ("id", "question", "image", "A", "B", "C", "answer", "topic")
ROWS = (
    ("1", "What is it?", "images/1.png", "a cat", "a dog", "", "B", "animals"),
    ("2", "How many, in all?", "", "1", "2", "3", "C", ""),
)


def as_csv(path: Path, *rows: Row) -> Path:
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows(rows)
    return path


WRITERS = [("quiz.csv", as_csv), ("quiz.xlsx", xlsx)]


def imported(path: Path, **read: Any) -> Benchmark:
    return import_benchmark(path, path.parent / "b", Import(read=ReadOptions(**read)))[0]


@pytest.fixture
def images(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    (tmp_path / "images/1.png").write_bytes(png())
    return tmp_path


@pytest.mark.parametrize(("name", "write"), WRITERS)
def test_a_quiz_is_a_benchmark(images: Path, name: str, write: Callable[..., Path]) -> None:
    benchmark = imported(write(images / name, HEADER, *ROWS))

    first, second = benchmark
    assert benchmark.manifest.name == "quiz"
    assert [choice.text for choice in first.choices] == ["a cat", "a dog"]
    assert (first.gold, first.tags) == ((1,), {"topic": "animals"})
    assert benchmark.images.read(first.images[0]) == png()
    assert (second.gold, second.images, second.tags) == ((2,), (), {})


def test_numbers_of_excel_are_numbers_and_a_date_is_no_option(tmp_path: Path) -> None:
    header = ("question", "A", "B", "answer", "year", "seen")
    row = ("When?", 1999.0, 2.5, "A", 2003.0, datetime(2024, 5, 6))
    (item,) = imported(xlsx(tmp_path / "quiz.xlsx", header, row))
    assert [choice.text for choice in item.choices] == ["1999", "2.5"]
    assert item.tags == {"year": 2003, "seen": "2024-05-06"}
    dated = xlsx(tmp_path / "dated.xlsx", header, ("When?", "1-3", datetime(2024, 1, 2), "A", 1, ""))
    with pytest.raises(InputError, match=r"row 1: B: found .*2024, 1, 2.*, expected text \(Excel made it a date"):
        import_benchmark(dated, tmp_path / "dated")


def test_a_gold_that_excel_shortened_is_still_its_option(tmp_path: Path) -> None:
    """0.50 that was typed into a cell is 0.5 ever after, while the options are text."""
    path = xlsx(tmp_path / "quiz.xlsx", ("question", "options", "answer"), ("How much?", "0.25 | 0.50 | 5", 0.5))

    (item,) = imported(path)
    assert item.gold == (1,)


def test_rows_of_nothing_are_no_items(tmp_path: Path) -> None:
    path = as_csv(tmp_path / "quiz.csv", ("question", "answer"), ("Who?", "me"), ("", ""), (), ("Why?", "so"))

    assert [item.id for item in imported(path)] == ["0", "1"]


def test_a_packed_file_is_to_be_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "quiz.csv.gz"
    path.write_bytes(gzip.compress(b"question,answer\nWho?,me\n"))
    for read in (imported, lambda file: list(known_table(file))):
        with pytest.raises(InputError, match=r"quiz\.csv\.gz is packed with gzip: unpack it first"):
            read(path)


def test_a_formula_is_what_it_says(tmp_path: Path) -> None:
    path = xlsx(tmp_path / "quiz.xlsx", ("question", "A", "B", "answer"), ("Which?", "=x+1", "=x", "B"))

    (item,) = imported(path)
    assert [choice.text for choice in item.choices] == ["=x+1", "=x"]
