"""The traps of VLMEvalKit's TSV, and that the items of a file come back."""

import base64
import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from eyetest.benchmarks import (
    Benchmark,
    Import,
    ReadOptions,
    export_benchmark,
    import_benchmark,
    open_benchmark,
)
from eyetest.errors import ExportError, ItemError
from eyetest.records import Choice, Item
from tests.conftest import png
from tests.scoring.test_table import make_bench
from tests.support.drawn import draw_benchmark
from tests.support.tables import read_csv

csv.field_size_limit(10**8)
Table = list[dict[str, str]]
RED, BLUE = (base64.b64encode(png(colour)).decode() for colour in ("red", "blue"))


def write_tsv(path: Path, rows: Table, **dialect: Any) -> Path:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="", delimiter="\t", **dialect)
        writer.writeheader()
        writer.writerows(rows)
    return path


def read_tsv(path: Path) -> Table:
    return read_csv(path, "\t")


def imported(tmp_path: Path, rows: Table, **dialect: Any) -> Benchmark:
    return import_benchmark(write_tsv(tmp_path / "b.tsv", rows, **dialect), tmp_path / "b")[0]


def comes_back(benchmark: Benchmark, folder: Path) -> Table:
    """The cells of an export, which give equal items again."""
    export_benchmark(benchmark, "vlmevalkit", folder / "back.tsv")
    again, _ = import_benchmark(folder / "back.tsv", folder / "back")
    assert list(again) == list(benchmark)
    return read_tsv(folder / "back.tsv")


def row(index: str, image: str = RED, **cells: str) -> dict[str, str]:
    usual = {"question": "What?", "A": "cat", "B": "dog", "answer": "B", "category": "animals"}
    return {"index": index, "image": image, **usual, **cells}


def test_references_by_index_share_one_image_and_come_back(tmp_path: Path) -> None:
    rows = [row("3", BLUE), row("4", RED), row("5", "4"), row("7", "3"), row("9", "5")]
    benchmark = imported(tmp_path, rows)
    images = [item.images for item in benchmark]
    assert images[1] == images[2] == images[4]
    assert images[0] == images[3] != images[1]
    assert all(len(r["image"]) > 64 for r in comes_back(benchmark, tmp_path))


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([row("1", "2"), row("2", BLUE)], "'2', which is the index of no earlier row"),
        ([row("1", "99")], "'99'"),
        ([{"image": "7", "question": "What?", "answer": "it"}], "'7'"),
    ],
)
def test_a_reference_that_leads_to_no_image_is_refused(tmp_path: Path, rows: Table, found: str) -> None:
    with pytest.raises(ItemError, match=f"row 1: image: found {found}"):
        imported(tmp_path, rows)


def test_none_and_nan_are_options(tmp_path: Path) -> None:
    benchmark = imported(tmp_path, [row("1", A="None", B="nan", C="NA", answer="A")])
    assert [choice.text for choice in benchmark["1"].choices] == ["None", "nan", "NA"]
    assert benchmark["1"].gold == (0,)
    notes = export_benchmark(benchmark, "vlmevalkit", tmp_path / "back.tsv")
    assert "takes for no option: 1" in notes[0]


def test_circular_sets_are_grouped_with_and_without_g_index(tmp_path: Path) -> None:
    rows = [row("5"), row("6", question="Other?"), row("1000005", "5", A="dog", B="cat", answer="A")]
    benchmark = imported(tmp_path, [*rows, row("2000006", question="Unlike")])
    assert [item.group for item in benchmark] == ["", "", "5", ""]
    assert [r["g_index"] for r in comes_back(benchmark, tmp_path)] == ["5", "6", "5", "2000006"]
    marked = [{**r, "g_index": r["index"][-1]} for r in rows]
    (tmp_path / "marked").mkdir()
    benchmark = imported(tmp_path / "marked", marked)
    assert [item.group for item in benchmark] == ["", "", "5"]
    assert [r["g_index"] for r in comes_back(benchmark, tmp_path / "marked")] == ["5", "6", "5"]


def test_image_paths_are_read_beside_the_file_and_kept(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images/1.png").write_bytes(png())
    rows = [row("1") | {"image_path": "images/1.png"}]
    del rows[0]["image"]
    benchmark = imported(tmp_path, rows)
    assert benchmark.images.read(benchmark["1"].images[0]) == png()
    assert comes_back(benchmark, tmp_path)[0]["image"] == RED


def test_vlmevalkit_reads_what_we_export(tmp_path: Path) -> None:
    benchmark = draw_benchmark(tmp_path / "drawn", items=24)
    export_benchmark(benchmark, "vlmevalkit", tmp_path / "drawn.tsv")
    table = pd.read_csv(tmp_path / "drawn.tsv", sep="\t", dtype={"index": str})
    assert list(table["index"]) == [item.id for item in benchmark]
    for (_, cells), item in zip(table.iterrows(), benchmark, strict=True):
        assert cells["question"] == item.question
        options = [str(cells[name]) for name in "ABCDEFGHIJ" if not pd.isna(cells[name])]
        assert [o.removesuffix(".0") for o in options] == [choice.text for choice in item.choices]
        images = [base64.b64encode(benchmark.images.read(image)).decode() for image in item.images]
        assert cells["image"] == (images[0] if len(images) == 1 else str(images))


def test_what_a_tsv_cannot_hold_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    item = Item(id="1", question="What?", choices=(Choice(""), Choice("x", True)))
    with pytest.raises(ExportError, match="item '1': option A is empty"):
        export_benchmark(make_bench(tmp_path / "b", [item]), "vlmevalkit", tmp_path / "b.tsv")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b"]


def test_images_that_are_not_there_are_kept_by_name_where_that_is_allowed(tmp_path: Path) -> None:
    rows = [row("1", image="COCO_val2014_1"), row("2", image=""), row("3", image="elsewhere.jpg")]
    path = write_tsv(tmp_path / "b.tsv", rows)
    with pytest.raises(ItemError, match="COCO_val2014_1"):
        import_benchmark(path, tmp_path / "strict")
    lenient = Import(read=ReadOptions(images_required=False))
    bench, _ = import_benchmark(path, tmp_path / "b", lenient)
    assert [item.tags.get("image") for item in bench] == ["COCO_val2014_1", None, "elsewhere.jpg"]
    export_benchmark(bench, "vlmevalkit", tmp_path / "out.tsv")
    again, _ = import_benchmark(tmp_path / "out.tsv", tmp_path / "again", lenient)
    assert list(again) == list(bench)


def test_a_image_that_comes_later_is_read_then(tmp_path: Path) -> None:
    rows = [{name: cell for name, cell in row("1").items() if name != "image"} | {"image_path": "late.png"}]
    path = write_tsv(tmp_path / "b.tsv", rows)
    lenient = ReadOptions(images_required=False)
    assert not open_benchmark(path, lenient)["1"].images
    (tmp_path / "late.png").write_bytes(png())
    assert len(open_benchmark(path, lenient)["1"].images) == 1
