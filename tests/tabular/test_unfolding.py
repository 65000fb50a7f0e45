"""Small files that stand for hours of reading are refused before they are read; large honest ones are imported."""

import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest.benchmarks import import_benchmark
from eyetest.benchmarks.opening import Import
from eyetest.benchmarks.rows import ReadOptions
from eyetest.tabular import record_files
from eyetest.tabular.files import known_table
from eyetest.tabular.record_files import open_bounded
from eyetest.tabular.table import MAX_GROWTH, MAX_REPEATED, UNFOLD
from tests.support.refusals import refusal

SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def repeated_text(path: Path, rows: int, length: int) -> Path:
    """Rows that all refer to one text."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * length]))
    table = pa.table({"question": text, "answer": pa.array(["a"] * rows)})
    pq.write_table(table, path, compression="zstd", store_schema=False, row_group_size=rows)
    return path


def rows_of_nothing(path: Path) -> Path:
    pq.write_table(pa.table({"question": pa.nulls(50_000_000, pa.string())}), path, compression="zstd")
    return path


def shared_text(path: Path, rows: int, length: int) -> Path:
    """A workbook whose cells all refer to one text."""
    cells = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>{min(n - 1, 1)}</v></c></row>' for n in range(1, rows + 1))
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        f'<Override PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{KIND}.worksheet+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{KIND}.sharedStrings+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{SPREADSHEET}" xmlns:r="{RELATIONS}">'
        '<sheets><sheet name="a" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{SPREADSHEET}"><si><t>question</t></si>'
        f"<si><t>{'q' * length}</t></si></sst>",
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SPREADSHEET}"><sheetData>{cells}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


ANY = Import(read=ReadOptions(gold_required=False))
BOMBS: dict[str, Callable[[Path], Path]] = {
    "a text in 200,000 rows": lambda folder: repeated_text(folder / "a.parquet", 200_000, 100_000),
    "a text in 5,000 rows": lambda folder: repeated_text(folder / "a.parquet", 5_000, 100_000),
    "rows of nothing": lambda folder: rows_of_nothing(folder / "a.parquet"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_unfolds_into_hours_of_reading_is_refused_at_once(tmp_path: Path, name: str) -> None:
    path = BOMBS[name](tmp_path)
    assert path.stat().st_size < 500_000
    begin = time.process_time()
    message = refusal(lambda: import_benchmark(path, tmp_path / "bench", ANY))
    assert "unfolds into more than" in message
    assert f"allow more with {UNFOLD}=N" in message
    assert time.process_time() - begin < 10
    assert not (tmp_path / "bench").exists()


def test_a_workbook_whose_cells_share_a_text_is_refused(tmp_path: Path) -> None:
    path = shared_text(tmp_path / "a.xlsx", 20_000, 30_000)
    assert path.stat().st_size < 500_000
    assert "unfolds into more than 64 MB" in refusal(lambda: list(known_table(path)))


def test_a_user_can_allow_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = repeated_text(tmp_path / "a.parquet", 3_000, 100_000)
    assert "unfolds into" in refusal(lambda: known_table(path))
    monkeypatch.setenv(UNFOLD, "1000")
    assert len(list(known_table(path))) == 3_000
    monkeypatch.setenv(UNFOLD, "much")
    assert refusal(lambda: known_table(path)) == f"{UNFOLD}: found 'much', expected a number of megabytes"


def test_honest_files_are_no_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Images that hardly shrink, and long instructions in every row, as benchmarks have them."""
    drawn = Random(3)
    images = [{"bytes": drawn.randbytes(50_000), "path": f"{number}.png"} for number in range(400)]
    instruction = ["Look at the image, think step by step, and answer with a letter. " * 30] * 400
    table = pa.table({"image": images, "question": instruction, "answer": ["A"] * 400})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=100)
    monkeypatch.setattr(record_files, "_read_in_child", lambda *_: pytest.fail("read twice"))
    with open_bounded(path) as file:
        assert file.metadata.num_rows == 400


def test_the_limit_grows_with_the_file() -> None:
    assert MAX_GROWTH * 5 * 2**30 > 2**39 > MAX_REPEATED  # 5 GB of images may be half a terabyte of values
