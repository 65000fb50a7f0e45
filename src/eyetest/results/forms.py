"""The forms of the replies of a run (`eyetest.scoring.forms`): how many replies each has, and how they were read."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import yaml

from eyetest.benchmarks import Benchmark
from eyetest.results.scores import answers_of
from eyetest.runs import Run
from eyetest.runs.stored import scan_table
from eyetest.scoring.forms import Ends, FormDecisions, FormEntry, count_forms, forms_of, name_forms, read_ends
from eyetest.scoring.rules import Reply
from eyetest.scoring.scorer import ACCURACY
from eyetest.store import replacing_file

_KEY = "request"
_ROWS_AT_ONCE = 2_000
_LONGEST_EXAMPLE = 200
_LISTED = 50  # forms in a file of decisions, and those that share replies with them
_SHOWN = 20
COLUMNS = (
    "form",
    "decision",
    "replies",
    "shared_by",
    "chosen",
    "unread",
    "rule",
    "probability",
    "example",
    "is_listed",
)
_HEAD = """\
# Forms of the replies, the largest first. For each you may write a decision:
#   decision: read      the readings of its replies stand, however sure the rules are
#   decision: unread    its replies are left unread
# A decision holds for the replies counted under its form (replies), not for all that have it (shared_by):
# each reply is counted under one form, so leave the other forms in this file, also without a decision.
# Then apply them: eyetest score RUN --forms THIS_FILE
"""


def list_forms(run: Run, benchmark: Benchmark, path: Path, decisions: FormDecisions) -> pl.DataFrame:
    """The forms of a run's replies to questions with options, the largest first, from its table of scores.

    ``replies`` counts those under the form, and ``shared_by`` all that have it. ``chosen`` and ``unread`` count
    replies by their reading, ``rule`` is the one that read most of them, ``probability`` the mean one, and
    ``is_listed`` says whether a file of decisions has the form. Replies whose form fewer than three replies share
    stand under an empty form.
    """
    scores = scan_table(path).filter(pl.col("metric") == ACCURACY, pl.col("reading").is_not_null())
    read = scores.select(_KEY, "item", "letters", "reading", "rule", "probability").collect()
    texts = answers_of(run, benchmark).select(_KEY, "text").filter(pl.col("text").is_not_null()).unique(_KEY)
    rows = read.join(texts.collect().cast({_KEY: pl.String}), on=_KEY, maintain_order="left")
    ends = [*_ends(benchmark, rows)]
    names, counts = name_forms(ends, decisions), count_forms(ends)
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
    is_rest = pl.col("form") == ""
    ordered = grouped.sort(is_rest, "replies", "form", descending=(False, True, False))
    forms = ordered.get_column("form").to_list()
    listed = _listed_names([form for form in forms if form], ends, names)
    return ordered.with_columns(
        pl.Series("decision", [decisions.decisions.get(form) for form in forms], pl.String),
        pl.Series("shared_by", [counts[form] for form in forms], pl.Int64),
        pl.Series("is_listed", [form in listed for form in forms], pl.Boolean),
    ).select(COLUMNS)


def _listed_names(forms: Sequence[str], ends: Sequence[Ends], names: Sequence[str]) -> set[str]:
    """The largest forms, and smaller ones whose replies have one of these too: without them in the file, a decision
    on the larger form would hold for replies that are not counted under it.
    """
    largest = set(forms[:_LISTED])
    unlike = {reply: name for reply, name in zip(ends, names, strict=True) if name}
    return largest | {name for reply, name in unlike.items() if not largest.isdisjoint(forms_of(reply))}


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
    """Write the listed forms to a YAML file, for a person to decide."""
    entries = [_entry(row) for row in forms.filter("is_listed").iter_rows(named=True)]
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
        shared_by=row["shared_by"],
        readings=readings,
        probability=probability,
        example=row["example"],
    )
