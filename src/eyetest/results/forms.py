"""The forms of the replies of a run (`eyetest.scoring.forms`): how many replies each has, and how they were read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import yaml

from eyetest.benchmarks import Benchmark
from eyetest.results.scores import answers_of
from eyetest.runs import Run
from eyetest.runs.stored import scan_table
from eyetest.scoring.forms import Ends, FormDecisions, FormEntry, name_forms, read_ends
from eyetest.scoring.rules import Reply
from eyetest.scoring.scorer import ACCURACY
from eyetest.store import replacing_file

_KEY = "request"
_ROWS_AT_ONCE = 2_000
_LONGEST_EXAMPLE = 200
_LISTED = 50  # forms in a file of decisions
_SHOWN = 20
COLUMNS = ("form", "decision", "replies", "chosen", "unread", "rule", "probability", "example")
_HEAD = """\
# Forms of the replies, the largest first. For each you may write a decision:
#   decision: read      the readings of its replies stand, however sure the rules are
#   decision: unread    its replies are left unread
# Then apply them: eyetest score RUN --forms THIS_FILE
"""


def list_forms(run: Run, benchmark: Benchmark, path: Path, decisions: FormDecisions) -> pl.DataFrame:
    """The forms of a run's replies to questions with options, the largest first, from its table of scores.

    ``chosen`` and ``unread`` count replies by their reading, ``rule`` is the one that read most of them, and
    ``probability`` the mean one. Replies whose form fewer than three replies share stand under an empty form.
    """
    scores = scan_table(path).filter(pl.col("metric") == ACCURACY, pl.col("reading").is_not_null())
    read = scores.select(_KEY, "item", "letters", "reading", "rule", "probability").collect()
    texts = answers_of(run, benchmark).select(_KEY, "text").filter(pl.col("text").is_not_null()).unique(_KEY)
    rows = read.join(texts.collect().cast({_KEY: pl.String}), on=_KEY, maintain_order="left")
    names = name_forms([*_ends(benchmark, rows)], decisions)
    frame = rows.with_columns(pl.Series("form", names, pl.String))
    is_chosen = pl.col("reading") == "chosen"
    grouped = frame.group_by("form", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("replies"),
        is_chosen.sum().cast(pl.Int64).alias("chosen"),
        (~is_chosen).sum().cast(pl.Int64).alias("unread"),
        pl.col("rule").drop_nulls().mode().sort().first().alias("rule"),
        pl.col("probability").mean(),
        pl.col("text").first().str.replace_all(r"\s+", " ").str.slice(0, _LONGEST_EXAMPLE).alias("example"),
    )
    decided = [decisions.decisions.get(form) for form in grouped.get_column("form")]
    listed = grouped.with_columns(pl.Series("decision", decided, pl.String))
    is_rest = pl.col("form") == ""
    return listed.sort(is_rest, "replies", "form", descending=(False, True, False)).select(COLUMNS)


def _ends(benchmark: Benchmark, rows: pl.DataFrame) -> Iterator[Ends]:
    """The first and last words of each reply, few items in memory at a time."""
    positions = benchmark.positions(rows["item"])
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        items = benchmark.take(positions[start : start + _ROWS_AT_ONCE])
        replies = rows.slice(start, _ROWS_AT_ONCE).select("text", "letters").iter_rows()
        for item, (text, letters) in zip(items, replies, strict=True):
            yield read_ends(Reply(text, tuple(choice.text for choice in item.choices), letters))


def form_lines(forms: pl.DataFrame) -> list[str]:
    """The largest forms in words: ``612 replies begin with "option [mark] is correct": 612 chosen …``."""
    lines = []
    for row in forms.filter(pl.col("form") != "").head(_SHOWN).iter_rows(named=True):
        sureness = "" if row["probability"] is None else f", right with probability {row['probability']:.2f}"
        by = f" by {row['rule'].partition(' ')[2]}" if row["rule"] else ""
        decision = f"; decided: {row['decision']}" if row["decision"] else ""
        read = f"{row['chosen']:,} chosen, {row['unread']:,} unread{by}{sureness}{decision}"
        lines.append(f"{row['replies']:,} replies {_in_words(row['form'])}: {read}")
    return lines


def _in_words(form: str) -> str:
    """Where the words of a form stand in its replies."""
    if form.endswith("…"):
        return f'begin with "{form.removesuffix(" …")}"'
    if form.startswith("…"):
        return f'end with "{form.removeprefix("… ")}"'
    return f'are "{form}"'


def write_forms(forms: pl.DataFrame, to: Path) -> None:
    """Write the largest forms to a YAML file, for a person to decide."""
    entries = [_entry(row) for row in forms.filter(pl.col("form") != "").head(_LISTED).iter_rows(named=True)]
    text = yaml.safe_dump(msgspec.to_builtins(entries), sort_keys=False, allow_unicode=True, width=1_000)
    with replacing_file(to) as file:
        file.write_text(_HEAD + (text if entries else "[]\n"), encoding="utf-8")


def _entry(row: dict[str, Any]) -> FormEntry:
    readings = {"chosen": row["chosen"], "unread": row["unread"]}
    probability = None if row["probability"] is None else round(row["probability"], 3)
    return FormEntry(
        form=row["form"],
        decision=row["decision"],
        replies=row["replies"],
        readings=readings,
        probability=probability,
        example=row["example"],
    )
