"""Excel files that are small on disk and endless inside are refused; long honest ones are read."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from eyetest.tabular import files as excel
from eyetest.tabular.files import known_table
from tests.mutations import mutations, peak_memory, refusals
from tests.runs.written import xlsx
from tests.support.refusals import refusal

HEADER = ["item", "model", "text"]


def changed(path: Path, part: str, change: Callable[[bytes], bytes]) -> Path:
    """A sound file in which one part is another."""
    sound = io.BytesIO(xlsx(path, HEADER, ["1", "m", "A"], ["2", "m", "B"]).read_bytes())
    with zipfile.ZipFile(sound) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name.endswith(part) else old.read(name))
    return path


def with_rows(rows: bytes) -> Callable[[bytes], bytes]:
    return lambda sheet: sheet.replace(b"</sheetData>", rows + b"</sheetData>")


def with_entities(sheet: bytes) -> bytes:
    entities = [b'<!ENTITY a "aaaaaaaaaa">']
    entities += [b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9)]
    cell = b'<row r="4"><c r="A4" t="inlineStr"><is><t>&j;</t></is></c></row></sheetData>'
    return b"<!DOCTYPE x [" + b"".join(entities) + b"]>" + sheet.replace(b"</sheetData>", cell)


FAR = b'<row r="1000000000"><c r="A1000000000"><v>1</v></c></row>'
WIDE = b"".join(b'<row r="%d"><c r="XFD%d"><v></v></c></row>' % (n, n) for n in range(4, 40))
BOMBS: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "rows far below": ("sheet1.xml", with_rows(FAR), "goes on after"),
    "columns far to the right": ("sheet1.xml", with_rows(WIDE), "goes on after"),
    "packed rows": ("sheet1.xml", with_rows(b'<row r="4"></row>' * 4_000_000), "sheet1.xml' unpacks from"),
    "packed styles": ("styles.xml", lambda styles: styles + b" " * 70_000_000, "styles.xml' unpacks from"),
    "entities": ("sheet1.xml", with_entities, "is no Excel file"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(excel, "MAX_ROWS", 5_000)
    monkeypatch.setattr(excel, "MAX_CELLS", 500_000)
    part, change, message = BOMBS[name]
    path = changed(tmp_path / "a.xlsx", part, change)
    assert path.stat().st_size < 500_000
    assert message in refusal(lambda: list(known_table(path)))


def test_a_size_that_is_a_lie(tmp_path: Path) -> None:
    """The archive's own list says that a part is small; no more than that is unpacked."""
    path = changed(tmp_path / "a.xlsx", "sheet1.xml", with_rows(b'<row r="4"></row>' * 4_000_000))
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        size = next(part.file_size for part in archive.infolist() if part.filename.endswith("sheet1.xml"))
    path.write_bytes(data.replace(size.to_bytes(4, "little"), (1_000).to_bytes(4, "little")))
    assert "is no Excel file" in refusal(lambda: list(known_table(path)))


@pytest.mark.slow
@pytest.mark.parametrize("part", [None, "sheet1.xml", "workbook.xml", "styles.xml"])
def test_mutations(tmp_path: Path, part: str | None) -> None:
    """Of the file itself, and of the parts inside it, which its checksums would otherwise protect."""
    path, number = tmp_path / "a.xlsx", 2_000 if part in (None, "sheet1.xml") else 500
    sound = xlsx(path, HEADER, *([str(n), "m", f"The answer is {n}"] for n in range(20))).read_bytes()
    copies = mutations(sound, number)
    if part:
        with zipfile.ZipFile(io.BytesIO(sound)) as archive:
            inner = next(archive.read(name) for name in archive.namelist() if name.endswith(part))
        copies = (
            changed(tmp_path / "b.xlsx", part, lambda _, data=data: data).read_bytes()  # type: ignore[misc]
            for data in mutations(inner, number)
        )
    lines = refusals(lambda file: list(known_table(file)), path, copies)
    assert len(lines) > number // 10
    assert all(str(path) in line for line in lines)
    assert peak_memory() < 2 * 2**30
