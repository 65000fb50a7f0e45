"""Tables of estimates as words: LaTeX and Markdown that a hostile name does not break."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.measures.printed import as_latex, as_markdown, caveats, plain
from eyetest.measures.stats.intervals import mean
from eyetest.measures.tables import mean_columns
from tests.measures.tables import results

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


def test_captions_do_not_mix_with_other_scores_but_open_answers_do() -> None:
    def of(*metrics: str) -> tuple[str, ...]:
        return caveats(results({"item": str(i), "score": 1.0, "metric": name} for i, name in enumerate(metrics)))

    assert of("accuracy", "open", "vqa") == of("cider") == ()
    assert "accuracy, cider" in of("accuracy", "cider")[0]
    assert "bleu-1, rouge-l" in of("rouge-l", "bleu-1")[0]


def test_scores_of_others_are_counted() -> None:
    theirs = {"metric": "given", "model": "theirs"}
    rows: list[dict[str, Any]] = [
        {"item": "1", "score": 1.0, "reading": "unparsed", **theirs},
        {"item": "2", "score": 0.0, "reading": "refused", **theirs},
        {"item": "3", "score": 1.0, **theirs},
        {"item": "4", "score": None, "reading": None, "outcome": "failed", **theirs},
    ]
    rule = "refused, ambiguous, cut off, unparsed: wrong; failed: not scored"
    lost = f"more than 5 % of answers were not read ({rule}): theirs 25.0 % (1 of 4, mostly failed)"
    assert caveats(results(rows)) == (
        lost,
        "all 3 answers were scored by others, whose scores stand as given; none by our rules",
    )
    mixed = caveats(results([*rows, {"item": "1", "score": 0.0, "model": "ours"}]))
    assert mixed == (
        lost,
        "3 of 4 answers were scored by others (theirs), whose scores stand as given; the other 1 by our rules, "
        "which may count differently (--where metric=… keeps to one)",
    )
    assert caveats(results([{"item": "1", "score": 0.0}])) == ()


def test_each_column_as_if_it_were_alone() -> None:
    draw = np.random.default_rng(3)
    rows = pl.DataFrame(
        {
            "model": np.repeat(["a", "b"], 60),
            "cluster": draw.integers(0, 20, 120).astype(str),
            "right": draw.integers(0, 2, 120).astype(float),
            "length": draw.normal(3, 1, 120),
            "calls": draw.integers(1, 4, 120),
        }
    ).with_columns(pl.when(pl.col("length") > 2).then(pl.col("length")))
    found = mean_columns(rows.lazy(), ["model"], ["right", "length"], ["calls"], level=0.9)
    for row in found.rows(named=True):
        part = rows.filter(pl.col("model") == row["model"])
        assert row["calls"] == part.get_column("calls").sum()
        for name in ("right", "length"):
            known = part.drop_nulls(name)
            alone = mean(known.get_column(name), known.get_column("cluster"), 0.9)
            assert [row[name], row[f"{name}_low"], row[f"{name}_high"], row[f"{name}_n"]] == pytest.approx(
                list(alone)
            )


def test_the_order_of_rows_does_not_matter_to_the_last_digit() -> None:
    draw = np.random.default_rng(0)
    models, clusters, right = (draw.integers(0, count, 3_000) for count in (12, 400, 2))
    rows = pl.DataFrame({"model": models.astype(str), "cluster": clusters.astype(str), "x": right.astype(float)})
    shuffled = (rows.sample(fraction=1, shuffle=True, seed=seed).lazy() for seed in range(8))
    first, *others = (mean_columns(table, ["model"], ["x"]) for table in shuffled)
    assert all(table.equals(first) for table in others)
