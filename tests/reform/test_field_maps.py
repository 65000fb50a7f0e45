"""Field maps: columns, alternatives, templates, parts of a column, what is refused; objects of every kind of file."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest.errors import InputError
from eyetest.reform.annotation import Annotation
from eyetest.reform.readers import read_annotations
from eyetest.reform.readers.base import AnnotationFiles
from eyetest.reform.readers.table import TableSettings


def read(tmp_path: Path, entries: Any, **settings: Any) -> list[Annotation]:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(entries))
    return list(read_annotations("table", [path], msgspec.convert(settings, TableSettings)))


def test_alternatives_templates_and_values(tmp_path: Path) -> None:
    rows = [
        {"qid": 7, "img": 3, "q": " Which? ", "votes": {"a": 2, "b": 1}, "split": "1"},
        {
            "img": "x/9.png",
            "image": "y.png",
            "q": "Who?",
            "votes": ["b", "c", "c"],
            "split": "2",
            "more": [{"t": "n"}],
        },
    ]
    fields = {
        "id": "qid|{img:stem}",
        "images": "image|{img}.jpg",
        "question": "q",
        "answers": "votes",
        "label": "votes",
    }
    first, second = read(
        tmp_path,
        {"data": rows},
        keys=["q", "img|image"],
        fields=fields,
        tags={"split": "split", "more": "more.t"},
        values={"split": {"1": "train", "(2)": r"part-\1"}},
    )
    assert (first.id, first.images, first.question, first.answers) == ("7", ("3.jpg",), "Which?", ("a", "a", "b"))
    assert (first.label, first.tags) == ("a", {"split": "train"})
    assert (second.id, second.images, second.label) == ("9", ("y.png",), "c")
    assert second.tags == {"split": "part-2", "more": ["n"]}


def test_parts_of_a_column_are_records(tmp_path: Path) -> None:
    rows = [{"n": "a", "facts": {"size": "3", "sex": "f"}, "qs": ["x", "y"], "as": [1, 2]}]
    fields = {"id": "{n}:{each.0}", "question": "each.0", "answers": "each.1"}
    (fact,) = read(tmp_path, rows, keys=["n"], each="facts", only={"each.0": ["size"]}, fields=fields)
    assert (fact.id, fact.question, fact.answers) == ("a:size", "size", ("3",))
    pairs = read(tmp_path, rows, keys=["n"], each=["qs", "as"], fields=fields | {"id": "{n}-{each.number}"})
    assert [(pair.id, pair.question, pair.answers) for pair in pairs] == [("a-1", "x", ("1",)), ("a-2", "y", ("2",))]


@pytest.mark.parametrize(("gold", "position"), [(1, 1), ("1", 0), ("B", 1), ("2", 1), (1.0, 1)])
def test_a_number_is_a_position_and_a_text_an_option(gold: Any, position: int, tmp_path: Path) -> None:
    (record,) = read(tmp_path, [{"o": ["1", "2"], "g": gold}], fields={"options": "o", "gold": "g"})
    assert record.gold == position


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fields": {"question": "qestion"}}, 'row 1: no column "qestion"; did you mean "question"'),
        ({"fields": {"question": "{question:stam}"}}, 'no filter "stam"; did you mean "stem"'),
        ({"fields": {"options": "o", "gold": "g"}}, r"gold: found 2 \(int\), expected one of 2 options"),
        ({"fields": {"options": "n", "gold": "g"}}, r"2 options; if numbers are options .* map gold to '\{COLUMN\}'"),
        ({"fields": {"question": "question"}, "keys": ["nothing|none"]}, "expected records with nothing or none"),
    ],
)
def test_mistakes_are_one_line(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, [{"question": "q", "o": ["x", "y"], "n": [1, 2], "g": 2}], **settings)


ROWS = [{"id": 1, "text": "Ω"}, {"id": 2, "text": "b"}]


def write(folder: Path, name: str) -> Path:
    path = folder / name
    lines = "\r\n".join(map(json.dumps, ROWS))
    by_name = {
        "list.json": json.dumps(ROWS),
        "inside.json": json.dumps({"info": [], "data": ROWS}) + "\n\n",
        "keyed.json": "\ufeff" + json.dumps({"x": ROWS[0], "y": ROWS[1]}),
        "lines.json": lines,
        "lines.txt": lines,
        "lines.jsonl": "\ufeff" + lines,
    }
    if name in by_name:
        path.write_text(by_name[name], encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    return path


@pytest.mark.parametrize(
    "name", ["list.json", "inside.json", "keyed.json", "lines.json", "lines.txt", "lines.jsonl", "rows.parquet"]
)
def test_the_same_objects_come_out_of_every_kind_of_file(name: str, tmp_path: Path) -> None:
    entries = AnnotationFiles([write(tmp_path, name)]).entries({"id", "text"}, "rows")
    once, again = list(entries), list(entries)
    assert [{key: row[key] for key in ("id", "text")} for row in once] == ROWS
    assert once == again
    assert [row.get("key") for row in once] == (["x", "y"] if name == "keyed.json" else [None, None])


def test_a_folder_may_hold_other_things(tmp_path: Path) -> None:
    write(tmp_path, "list.json")
    (tmp_path / "readme.txt").write_text("{no json}")
    (tmp_path / "torn.json").write_text("[{")
    (tmp_path / "other.json").write_text('{"form": []}')
    assert len(list(AnnotationFiles([tmp_path]).entries({"id", "text"}, "rows"))) == 2
    with pytest.raises(InputError, match="expected a file of rows"):
        AnnotationFiles([tmp_path]).entries({"id", "nothing"}, "a file of rows")
    with pytest.raises(InputError, match="torn"):
        AnnotationFiles([tmp_path / "torn.json"]).entries({"id", "text"}, "rows")
