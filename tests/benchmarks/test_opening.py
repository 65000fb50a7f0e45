"""Opening whatever a user points at, and never losing what is not ours."""

import json
import os
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eyetest as et
from eyetest.benchmarks import Benchmark, Import, ReadOptions, export_benchmark, import_benchmark, open_benchmark
from eyetest.benchmarks.opening import Format
from eyetest.benchmarks.rows import ItemReader
from eyetest.commands.audit import audit
from eyetest.errors import ImageError, InputError
from eyetest.store.urls import cache_root
from tests.conftest import png
from tests.support.drawn import draw_benchmark


def jsonl(path: Path, *ids: str, **fields: object) -> Path:
    rows = ({"id": name, "question": "What?", "answer": "it"} | fields for name in ids)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_folder_is_opened_where_it_is(tmp_path: Path) -> None:
    draw_benchmark(tmp_path / "b", items=8)
    assert et.open(tmp_path / "b").path == tmp_path / "b"
    with pytest.raises(InputError, match="is a benchmark folder already"):
        import_benchmark(tmp_path / "b", tmp_path / "c")


def test_a_changed_image_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "1.png").write_bytes(png("red"))
    source = jsonl(tmp_path / "b.jsonl", "1", image="1.png")
    first = et.open(source)["1"].images
    assert et.open(source)["1"].images == first
    (tmp_path / "1.png").write_bytes(png("blue", (9, 9)))
    assert et.open(source)["1"].images != first


def test_reading_differently_does_not_disturb_another_reader(tmp_path: Path) -> None:
    (tmp_path / "1.png").write_bytes(png())
    source = jsonl(tmp_path / "b.jsonl", "1", image="1.png")
    first = open_benchmark(source)
    second = open_benchmark(source, ReadOptions(gold_required=False))
    assert first.path != second.path
    assert first.images.read(first["1"].images[0]) == png()
    assert len(list(cache_root().iterdir())) == 2


def test_an_export_is_overwritten_only_if_nothing_else_is_in_it(tmp_path: Path) -> None:
    benchmark = draw_benchmark(tmp_path / "b", items=8)
    for name in ("jsonl", "lmms-eval"):
        place = tmp_path / name
        export_benchmark(benchmark, name, place)
        export_benchmark(benchmark, name, place, overwrite=True)
        (place / "thesis.tex").write_text("years of work")
        with pytest.raises(InputError, match=r"holds 'thesis\.tex', which eyetest did not write"):
            export_benchmark(benchmark, name, place, overwrite=True)
        assert (place / "thesis.tex").exists()
    (tmp_path / "mine").mkdir()
    jsonl(tmp_path / "mine/items.jsonl", "1")
    with pytest.raises(InputError, match="eyetest did not write"):
        export_benchmark(benchmark, "jsonl", tmp_path / "mine", overwrite=True)
    (tmp_path / "link").symlink_to(tmp_path / "b")
    with pytest.raises(InputError, match="is a symbolic link"):
        export_benchmark(benchmark, "jsonl", tmp_path / "link", overwrite=True)
    with pytest.raises(InputError, match="and it is a folder"):
        export_benchmark(benchmark, "parquet", tmp_path / "mine", overwrite=True)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    source = jsonl(tmp_path / "b.jsonl", "1")
    et.open(source)
    for path in ("loop", "loop/x", "b.jsonl/x", "b.jsonl/../b.jsonl", "a\0b"):
        with pytest.raises(InputError, match="does not exist"):
            et.open(tmp_path / path)


def test_an_import_into_its_source_is_repeated(tmp_path: Path) -> None:
    jsonl(tmp_path / "items.jsonl", "1")
    for overwrite in (False, True):
        how = Import(overwrite=overwrite)
        assert len(import_benchmark(tmp_path, tmp_path / "benchmark", how)[0]) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    source = jsonl(Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xff.jsonl")), "1")
    benchmark, _ = import_benchmark(source, tmp_path / "b")
    assert benchmark.manifest.name == "b?"
    assert et.open(source)["1"].id == "1"


def test_a_failed_import_removes_the_folders_it_made(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "b.jsonl", "1", "1")
    with pytest.raises(InputError):
        import_benchmark(source, tmp_path / "new/deep/b")
    assert [p.name for p in tmp_path.iterdir()] == ["b.jsonl"]


@pytest.mark.parametrize(
    ("column", "value"), [("sha256", "../../../secret"), ("format", "exe"), ("sha256", "A" * 64), ("width", None)]
)
def test_a_foreign_folder_cannot_name_files_outside(tmp_path: Path, column: str, value: object) -> None:
    (tmp_path / "secret.png").write_text("12345")
    draw_benchmark(tmp_path / "b", items=8)
    table = pq.read_table(tmp_path / "b/items.parquet")
    rows = table.to_pylist()
    rows[0]["images"][0][column] = value
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), tmp_path / "b/items.parquet")
    with pytest.raises(InputError, match=r"items\.parquet is damaged"):
        export_benchmark(Benchmark(tmp_path / "b"), "jsonl", tmp_path / "exported")
    assert (tmp_path / "secret.png").read_text() == "12345"


def test_images_are_only_named_by_hashes(tmp_path: Path) -> None:
    benchmark = draw_benchmark(tmp_path / "b", items=8)
    outside = et.ImageRef(sha256="../../secret", format="png", width=1, height=1, size=5)
    with pytest.raises(ImageError, match="is not the name of a stored image"):
        benchmark.images.read(outside)


def test_the_first_items_of_a_file_or_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder's are a benchmark of their own, with their images; what is bad behind them is not looked at."""
    monkeypatch.setenv("EYETEST_CACHE", str(tmp_path / "cache"))
    rows = [{"id": n, "question": "Who?", "answer": "me", "image": "1.png"} for n in range(4)] + [{"id": 4}]
    (tmp_path / "1.png").write_bytes(png())
    (tmp_path / "quiz.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for limit in (1, 3):
        few = open_benchmark(tmp_path / "quiz.jsonl", ReadOptions(limit=limit))
        assert [item.id for item in few] == list("012")[:limit]
    whole, _ = import_benchmark(tmp_path / "quiz.jsonl", tmp_path / "b", Import(read=ReadOptions(limit=4)))
    assert len(whole) == 4
    part = open_benchmark(tmp_path / "b", ReadOptions(limit=2))
    assert [item.id for item in part] == ["0", "1"]
    assert part.images.read(part["0"].images[0]) == png()
    assert open_benchmark(tmp_path / "b", ReadOptions(limit=9)).path == tmp_path / "b"
    result = audit(tmp_path / "b", limit=3).audit
    assert result.items == len(audit(whole, limit=3).benchmark) == 3


def test_a_file_is_what_it_holds_whatever_its_name(tmp_path: Path) -> None:
    rows = [{"question": f"Which is {n}?", "A": "x", "B": "y; z", "answer": "B"} for n in range(3)]
    texts = {
        "lines.json": "\n".join(map(json.dumps, rows)),
        "array.jsonl": json.dumps(rows, indent=1),
        "object.tags": json.dumps({"data": rows}),
        "lines.tags": "\n".join(map(json.dumps, rows)),
    }
    for name, mark in {
        "a.tsv": ",",
        "b.csv": ";",
        "c.csv": "|",
        "d.csv": "\t",
    }.items():
        cells = [list(rows[0]), *(list(row.values()) for row in rows)]
        texts[name] = "\n".join(mark.join(f'"{cell}"' for cell in line) for line in cells)
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        items = list(et.open(tmp_path / name))
        assert [[choice.text for choice in item.choices] for item in items] == [["x", "y; z"]] * 3, name
        assert [item.gold for item in items] == [(1,)] * 3
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "table.csv")
    assert len(et.open(tmp_path / "table.csv")) == 3
    (tmp_path / "prose.txt").write_text("A readme, no more.\nSecond line, too.\n")
    with pytest.raises(InputError, match=r"prose.txt is no benchmark that"):
        et.open(tmp_path / "prose.txt")


def test_ten_votes_are_references_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    votes = [{"answer": "cat", "answer_confidence": "yes"}] * 7 + [{"answer": "dog"}] * 3
    rows = [{"question": "What?", "answers": votes, "image": name} for name in ("a.png", "../b.png", "../c.png")]
    (tmp_path / "a.png").write_bytes(png())
    (tmp_path / "v.json").write_text(json.dumps(rows))
    done = et.import_file(tmp_path / "v.json", to=tmp_path / "v", skip_bad=True)
    (item,) = Benchmark(tmp_path / "v")
    assert Counter(item.references) == {"cat": 7, "dog": 3}
    assert "2 invalid items left out" in done.notes[-1]
    assert "image: path '../b.png', which leaves" in done.notes[-1]
    assert "(2 such)" in done.notes[-1]


def test_the_current_folder_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = jsonl(tmp_path / "b.jsonl", "1")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(InputError, match="is the folder you are in"):
        import_benchmark(source, Path())


def test_of_two_imports_to_one_path_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, results = jsonl(tmp_path / "b.jsonl", "1", "2"), list[str]()
    barrier, read = threading.Barrier(2, timeout=20), Format.read

    def both_reading(*arguments: Any) -> ItemReader:
        barrier.wait()
        return read(*arguments)

    def bring_in() -> None:
        try:
            import_benchmark(source, tmp_path / "b")
            results.append("done")
        except InputError as error:
            results.append(str(error))

    monkeypatch.setattr(Format, "read", both_reading)
    threads = [threading.Thread(target=bring_in) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [
        f"{tmp_path / 'b'} was written by another process meanwhile; choose another place",
        "done",
    ]
    assert len(Benchmark(tmp_path / "b")) == 2
