"""Options in a column of lists, whatever its name and however the list is written."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eyetest as et
from eyetest.benchmarks import Benchmark, open_benchmark
from eyetest.benchmarks.options import listed_options
from eyetest.errors import InputError
from tests.runs.written import jsonl

TEXTS = ["a cat", "a dog's tail", "a cow", "none of these"]
LETTERED = [f"{mark}. {text}" for mark, text in zip("ABCD", TEXTS, strict=True)]
SPELLINGS: dict[str, Any] = {
    "a list": LETTERED,
    "bare texts": TEXTS,
    "JSON": json.dumps(LETTERED),
    "Python": str(LETTERED),
    "NumPy": str(np.array(LETTERED)),
    "an object": dict(zip("ABCD", TEXTS, strict=True)),
    "JSON object": json.dumps(dict(zip("ABCD", TEXTS, strict=True))),
    "Python object": str(dict(zip("ABCD", TEXTS, strict=True))),
    "small letters": dict(zip("abcd", TEXTS, strict=True)),
    "labels and texts": {"label": ["A", "B", "C", "D"], "text": TEXTS},
    "objects": [{"label": mark, "text": text} for mark, text in zip("ABCD", TEXTS, strict=True)],
}


def rows(column: str, cell: Any, *answers: Any) -> list[dict[str, Any]]:
    return [{"Question": f"What is it in {n}?", column: cell, "Answer": answer} for n, answer in enumerate(answers)]


def read(folder: Path, table: Sequence[dict[str, Any]], **options: Any) -> Benchmark:
    et.import_file(jsonl(folder / "b.jsonl", *table), to=folder / "b", **options)
    return Benchmark(folder / "b")


@pytest.mark.parametrize("column", ["Choice", "choices", "options", "candidates", "answer_choices", "Options list"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_column_of_lists_named_after_options_holds_them(tmp_path: Path, column: str, spelling: str) -> None:
    for item, gold in zip(read(tmp_path, rows(column, SPELLINGS[spelling], "B", "D")), (1, 3), strict=True):
        assert [choice.text for choice in item.choices] == TEXTS
        assert item.gold == (gold,)


def test_lists_in_parquet(tmp_path: Path) -> None:
    pl.DataFrame(rows("Choice", LETTERED, "B", "D")).write_parquet(tmp_path / "b.parquet")
    et.import_file(tmp_path / "b.parquet", to=tmp_path / "b")
    assert [item.gold for item in Benchmark(tmp_path / "b")] == [(1,), (3,)]


@pytest.mark.parametrize("answers", ["BD", "bd", ("(B)", "(D)"), (1, 3), ("1", "3")])
def test_lists_under_an_unknown_name_are_not_guessed(tmp_path: Path, answers: Sequence[Any]) -> None:
    table = rows("things", LETTERED, *answers)
    with pytest.raises(InputError, match=r"the column 'things' holds lists of so many texts"):
        read(tmp_path, table)
    style = "letter" if isinstance(answers[0], str) and not answers[0].isdigit() else "index"
    mapped = read(tmp_path, table, map="options=things", gold_style=style)
    assert [item.gold for item in mapped] == [(1,), (3,)]
    et.import_file(tmp_path / "b.jsonl", to=tmp_path / "open", drop="things")
    assert [len(item.choices) for item in Benchmark(tmp_path / "open")] == [0, 0]


@pytest.mark.parametrize(
    "table",
    [
        rows("box", [1, 2, 30, 40], 2, 3),  # numbers are no options
        rows("tags", ["indoor", "night"], "B", "D"),  # too few
        rows("tags", TEXTS, "B", "a horse"),  # not every answer is a letter
        rows("correct_options", ["A", "B"], "B", "A car"),
        rows("Choice", "B", "yes", "no"),  # what a person chose
    ],
)
def test_other_lists_stay_tags(tmp_path: Path, table: list[dict[str, Any]]) -> None:
    assert [len(item.choices) for item in read(tmp_path, table)] == [0, 0]


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=9), st.lists, max_leaves=6) | st.text()
)
def test_anything_is_options_or_none(value: Any) -> None:
    found = listed_options(value)
    assert found is None or all(isinstance(text, str) for text in found.values())


@pytest.mark.parametrize("write", [json.dumps, str])
@given(
    texts=st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1), min_size=2, max_size=6
    )
)
def test_written_lists_are_read_back(texts: list[str], write: Callable[[Any], str]) -> None:
    assert listed_options(write(texts)) == listed_options(texts)


# Keys that are lists.


def test_an_empty_list_in_quotes_is_a_key(tmp_path: Path) -> None:
    table = [{"question": "What does this code print?", "answer": answer} for answer in ("[]", "[1, 2]", "x")]
    assert [item.references for item in read(tmp_path, table)] == [("[]",), ("[1, 2]",), ("x",)]


def test_beside_lists_of_references_an_empty_one_is_missing(tmp_path: Path) -> None:
    table = [{"question": "What is it?", "answer": answer} for answer in ("['a cat', 'cat']", "[]")]
    with pytest.raises(InputError, match=r"line 2: item '1': answer: found no gold answer"):
        read(tmp_path, table)
    kept = read(tmp_path, table, allow_missing="gold")
    assert [item.references for item in kept] == [("a cat", "cat"), ()]


# Bad rows.


def test_every_refused_row_says_how_to_go_on(tmp_path: Path) -> None:
    good = '{"question": "What is it?", "answer": "a cat"}'
    for number, bad in enumerate(("{", "[1]", '{"question": "", "answer": "x"}', '{"question": "Why?"}')):
        (path := tmp_path / f"{number}.jsonl").write_text(f"{good}\n{bad}\n{good}\n")
        with pytest.raises(InputError, match=r"line 2.* leaves such rows out"):
            et.import_file(path, to=tmp_path / f"b{number}")
        with pytest.raises(InputError, match=r"line 2.*eyetest import .*--skip-bad --to BENCHMARK"):
            open_benchmark(path)
        done = et.import_file(path, to=tmp_path / f"b{number}", skip_bad=True)
        assert (done.facts["items"], done.facts["skipped"]) == (2, 1)


def test_a_short_line_of_a_sheet_may_be_left_out(tmp_path: Path) -> None:
    (path := tmp_path / "b.csv").write_text("question,answer\nWhat?,cat\nWhy?\nWho?,dog\n")
    with pytest.raises(InputError, match=r"row 2: 1 cells under 2 columns; .* leaves such rows out"):
        et.import_file(path, to=tmp_path / "b")
    assert et.import_file(path, to=tmp_path / "b", skip_bad=True).facts["items"] == 2


@pytest.mark.parametrize(
    "names", [("a0", "a1", "a2"), ("option 0", "option 1", "option 2"), ("Choice_1", "Choice_2", "Choice_3")]
)
def test_numbered_columns_are_options(tmp_path: Path, names: tuple[str, ...]) -> None:
    first = int(names[0][-1])
    rows = [
        {"question": f"Which thing is number {number}?", "answer": number % 3 + first}
        | {name: f"thing {number} {name[-1]}" for name in names}
        for number in range(9)
    ]
    (tmp_path / "mine.json").write_text(json.dumps(rows))
    for number, item in enumerate(et.open(tmp_path / "mine.json")):
        assert [choice.correct for choice in item.choices] == [place == number % 3 for place in range(3)]


def test_lists_of_numbers_beside_letters_are_not_taken_for_boxes(tmp_path: Path) -> None:
    rows = [
        {"question": f"What is {n}+{n}?", "opts": ["2", "4", "6", "8"], "answer": "ABCD"[n % 4]} for n in range(8)
    ]
    (tmp_path / "mine.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match="which may be the options"):
        et.open(tmp_path / "mine.json")
