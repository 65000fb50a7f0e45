"""Which classes were taken for which: a confusion matrix as people keep it, or the wrong answers of a run."""

from collections import Counter
from pathlib import Path

import polars as pl

from eyetest.errors import InputError, heading, short
from eyetest.results.scores import benchmark_of, scores_of
from eyetest.runs import Run, is_run
from eyetest.scoring import Scorer
from eyetest.tabular.files import TableFile

Confusions = Counter[tuple[str, str]]
"""How often a gold (first) was answered by something else (second)."""
_LONG = ("gold", "chosen", "count")


def read_confusions(path: Path) -> Confusions:
    """From a run folder or from a table: ``gold, chosen, count``, or one row a gold and one column a class."""
    if is_run(path):
        return _of_run(path)
    if path.is_dir() or not path.exists():
        raise InputError(f"{heading('own', 'confusions')}: {path} is neither a run folder nor a table")
    table = TableFile(path)
    columns = [column.strip() for column in table.columns]
    confused: Confusions = Counter()
    for row in table:
        cells = [row.values.get(column) for column in table.columns]
        if set(_LONG) <= {column.lower() for column in columns}:
            values = dict(zip((column.lower() for column in columns), cells, strict=True))
            confused[str(values["gold"]).strip(), str(values["chosen"]).strip()] += _count(values["count"], path)
        else:
            gold = str(cells[0]).strip()
            for column, cell in zip(columns[1:], cells[1:], strict=True):
                confused[gold, column] += _count(cell, path)
    return Counter({pair: count for pair, count in confused.items() if count > 0 and pair[0] != pair[1]})


def _count(cell: object, path: Path) -> int:
    try:
        return round(float(str(cell))) if cell not in (None, "") else 0
    except (ValueError, OverflowError):
        raise InputError(f"{path}: found {short(cell)}, expected how often a class was taken for another") from None


def _of_run(path: Path) -> Confusions:
    """Wrong choices of all models of a run, by their texts."""
    run = Run(path)
    benchmark = benchmark_of(run)
    scores, _ = scores_of(run, benchmark, Scorer())
    wrong = scores.filter(pl.col("choice").is_not_null() & (pl.col("score") < 1)).group_by("item", "choice").len()
    items = {item.id: item for item in benchmark if item.choices}
    confused: Confusions = Counter()
    for name, choice, count in wrong.collect().iter_rows():
        if (item := items.get(name)) is not None and item.gold:
            chosen = item.choices[ord(choice) - ord("A")]
            confused[item.choices[item.gold[0]].text, chosen.text] += count
    return confused
