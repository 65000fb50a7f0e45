"""Tables of estimates as words: LaTeX and Markdown that a hostile name does not break."""

import polars as pl

from eyetest.measures.printed import as_latex, as_markdown, plain

TABLE = pl.DataFrame(
    {
        "benchmark": ["only", "only"],
        "model": ["a|b_c", "50 % <b>"],
        "tag.core": ["x", None],
        "accuracy": [0.5, None],
        "accuracy_low": [0.25, None],
        "accuracy_high": [0.75, None],
        "empty": [None, None],
        "n": [1200, 3],
    }
)


def test_markdown_has_a_cell_for_each_column_whatever_stands_in_it() -> None:
    head, rule, first, second = as_markdown(TABLE).splitlines()
    assert head == "| model | core | accuracy | n |"
    assert rule == "|---|---|--:|--:|"
    assert first == r"| a\|b\_c | x | 0.500 \[0.250, 0.750\] | 1,200 |"
    assert second == r"| 50 % \<b\> | – | – | 3 |"


def test_latex_escapes_and_aligns() -> None:
    lines = as_latex(TABLE).splitlines()
    assert lines[0] == r"\begin{tabular}{llrr}"
    assert lines[4] == r"a|b\_c & x & 0.500 [0.250, 0.750] & 1,200 \\"
    assert lines[5] == r"50 \% <b> & -- & -- & 3 \\"


def test_programs_get_tags_by_name_and_no_nan() -> None:
    table = plain(pl.DataFrame({"tag.core": ["x"], "value": [float("nan")]}))
    assert table.to_dicts() == [{"core": "x", "value": None}]
