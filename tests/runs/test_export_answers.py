"""A run's answers as one table, and back."""

import csv
import json
import os
import tempfile
from pathlib import Path
from typing import get_args

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.errors import InputError
from eyetest.records import Answer, Asked, Response, RunStep, columns
from eyetest.records.tables import Ask, Letters, Method, Modality, OutcomeKind, Shots
from eyetest.runs import RunWriter, open_answers, read_answers
from eyetest.runs.folder import write_answers
from eyetest.runs.importing import AnswerFile, import_answers
from eyetest.tabular.record_files import SUFFIXES
from tests.runs.written import API_FAILURE, REQUEST_FAILED, jsonl
from tests.support.command import call
from tests.support.tables import read_csv

_odd = st.sampled_from(
    [
        *("", "None", "NA", "nan", "=1+1", "\ufeffx", "a\r\nb", "\r", '"', "\t", ",", "\x00", "\x1f", "\u2028"),
        *("𝜋", "é", "e\u0301", "\U0010ffff", "\ufffe", "\u202eB", API_FAILURE, REQUEST_FAILED),
        *("0", "1.0", "true", " B ", "[1]", "{}", "x" * 32_767),
    ]
)
_name = (_odd | st.text(max_size=12)).filter(lambda name: bool(name.strip()))
_whole = st.integers(0, 2**63 - 1) | st.integers(0, 2)


def one_of(kind: object) -> st.SearchStrategy[str]:
    return st.sampled_from(get_args(kind))


_answer = st.builds(
    Answer,
    item=_name,
    model=_name,
    modality=one_of(Modality),
    ask=one_of(Ask),
    shots=one_of(Shots),
    template=_whole,
    order=_whole,
    letters=one_of(Letters),
    method=one_of(Method),
    sample=_whole,
    text=st.none() | _odd | st.text(max_size=40),
    outcome=one_of(OutcomeKind),
    given=st.none() | st.sampled_from([0.0, 1.0, 1 / 3, 5e-324]) | st.floats(0, 1),
)


def key(answer: Asked) -> tuple[object, ...]:
    return tuple(getattr(answer, name) for name in columns(Asked))


def through_csv(answer: Answer) -> Answer:
    """CSV has one kind of emptiness: beside a verdict or a failure it is that nothing is known."""
    if answer.text:
        return answer
    unknown = answer.given is not None or answer.outcome == "failed"
    return msgspec.structs.replace(answer, text=None if unknown else "")


@settings(max_examples=25)
@given(found=st.lists(_answer, min_size=1, max_size=6, unique_by=key))
def test_out_and_in_again(found: list[Answer]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(found))
        import_answers(AnswerFile(path=folder / "a.jsonl"), folder / "run")
        assert list(read_answers(folder / "run")) == found
        for suffix in SUFFIXES:
            table = folder / f"out{suffix}"
            assert write_answers(folder / "run", table) == (len(found), 0)
            expected = [through_csv(answer) for answer in found] if suffix == ".csv" else found
            assert list(open_answers(table)) == expected
            import_answers(AnswerFile(path=table), folder / f"run{suffix}")
            assert list(read_answers(folder / f"run{suffix}")) == expected


LISTED = [
    *("item", "model", "modality", "ask", "shots", "template", "order", "letters", "method", "history"),
    *("prompts", "sample"),
    *("text", "outcome", "given"),
]
ROWS: list[dict[str, object]] = [
    {"item": "1", "model": "m", "text": "a\nb", "modality": "no-image", "sample": 2},
    {"item": "2", "model": "m", "text": None, "given": 0.5},
    {"item": "3", "model": "m", "text": API_FAILURE},
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three answers, of which one failed and one is a verdict."""
    import_answers(AnswerFile(path=jsonl(tmp_path / "a.jsonl", *ROWS)), tmp_path / "run")
    return tmp_path / "run"


def test_the_columns_in_order(tmp_path: Path, run: Path) -> None:
    for suffix in SUFFIXES:
        told = call("export", run, "--to", tmp_path / f"out{suffix}").fine()
        assert told == f"3 answers → {tmp_path}/out{suffix}\n"
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == LISTED
    assert ";".join(rows[0]) == "1;m;no-image;direct;none;0;0;upper;generate;gold;eyetest;2;a\nb;answered;"
    assert [row[-3:] for row in rows[1:]] == [["", "answered", "0.5"], ["", "failed", ""]]
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [list(line) for line in lines] == [LISTED] * 3
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column_names == LISTED
    assert table.to_pylist() == lines
    assert table.schema.metadata[b"version"] == b"3"


def test_what_is_not_answered_yet_is_not_there(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run") as writer:
        with writer.planning() as plan:
            for item, request in (("1", "aa"), ("2", "bb"), ("3", "aa")):
                plan.add(Asked(item=item, model="m"), request)
        writer.record(RunStep(what="run"), {})
        told = call("export", tmp_path / "run", "--to", tmp_path / "none.csv").fine()
        assert "0 answers" in told
        assert "3 planned calls without an answer" in told
        assert (tmp_path / "none.csv").read_text().split(",")[0] == "item"
        writer.journal.append(Response(request="aa", outcome="failed", error="timeout"))
        writer.journal.append(Response(request="aa", outcome="answered", text="B"))
        writer.journal.append(Response(request="zz", outcome="answered", text="of no plan"))
        told = call("export", tmp_path / "run", "--to", tmp_path / "some.jsonl").fine()
    assert "1 planned call without an answer" in told
    found = list(open_answers(tmp_path / "some.jsonl"))
    assert [(answer.item, answer.text, answer.outcome) for answer in found] == [
        ("1", "B", "answered"),
        ("3", "B", "answered"),
    ], "the last response counts, and items that share a request share it"


def test_refusals(tmp_path: Path, run: Path) -> None:
    (tmp_path / "there.csv").write_text("mine")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "there.csv")
    for to, message in {
        "out.xlsx": "a table is written as .parquet, .csv, .jsonl",
        "out": "a table is written as .parquet, .csv, .jsonl",
        "there.csv": "there.csv is already there; choose another place or add --overwrite",
        "folder.csv": "is already there, and it is a folder",
        "link.csv": "is a symbolic link",
    }.items():
        assert message in call("export", run, "--to", tmp_path / to).refused()
    assert "gone does not exist" in call("export", tmp_path / "gone", "--to", tmp_path / "x.csv").refused()
    assert (tmp_path / "there.csv").read_text() == "mine"
    call("export", run, "--to", tmp_path / "there.csv", "--overwrite").fine()
    os.mkfifo(tmp_path / "pipe.csv")
    assert "is a pipe" in call("export", run, "--to", tmp_path / "pipe.csv", "--overwrite").refused()
    assert len(list(open_answers(tmp_path / "there.csv"))) == 3


def test_a_table_with_other_columns_is_not_replayed(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"item": "1", "model": "m", "txet": "A"})
    with pytest.raises(InputError, match='"txet" is no column of an answers table; did you mean "text"'):
        list(open_answers(path))
    path = jsonl(tmp_path / "b.jsonl", {"item": "1", "model": "m", "text": "A"}, {"item": "1", "modality": "x"})
    with pytest.raises(InputError, match=r"b\.jsonl line 2: modality: found 'x'"):
        list(open_answers(path))


def test_formulas_are_texts_in_a_sheet_and_come_back(tmp_path: Path) -> None:
    said = ["=1+1", "'=1+1", "-5", "'-5' it is", "@x", "\t=x", "＝1", " plain ", "'quoted'", "+1 or -1"]
    asked = [{"item": f"={place}", "model": "-m", "text": text} for place, text in enumerate(said)]
    (tmp_path / "in.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(asked))
    call("import", tmp_path / "in.jsonl", "--to", tmp_path / "run").fine()
    call("export", tmp_path / "run", "--to", tmp_path / "out.csv").fine()
    rows = read_csv(tmp_path / "out.csv")
    assert rows[0]["item"] == "'=0"
    assert not [cell for row in rows for cell in row.values() if cell.strip(" \t").startswith(tuple("=+-@＝"))]
    call("import", tmp_path / "out.csv", "--to", tmp_path / "again").fine()
    answers = sorted(read_answers(tmp_path / "again"), key=lambda answer: answer.item)
    assert [(answer.item, answer.model, answer.text) for answer in answers] == [
        (row["item"], row["model"], row["text"]) for row in asked
    ]
    assert list(open_answers(tmp_path / "out.csv")) == list(read_answers(tmp_path / "run"))
