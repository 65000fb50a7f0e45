"""Objects are read from whatever kind of file people keep them in."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest.errors import InputError
from eyetest.reform.readers.base import AnnotationFiles

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
