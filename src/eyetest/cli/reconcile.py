"""``eyetest reconcile``: every point between two scores of one run, on the item and the cause that it comes from."""

from pathlib import Path
from typing import Annotated

import polars as pl

from eyetest.cli import options
from eyetest.cli.options import Words, argument, option
from eyetest.cli.tables import Column, print_columns, show_table
from eyetest.cli.terminal import note, out, print_json, safe
from eyetest.jobs import reconcile as job
from eyetest.measures.printed import csv_text
from eyetest.results.reconcile import points
from eyetest.results.reconcile_published import ExplainedNumber
from eyetest.store import refuse_to_lose, replacing_file

_WAYS = 8  # so many ways of counting are shown; --json and --to have all of them
_LONGEST = 25  # so much of a reply's end is shown; a table has to fit 80 columns


def reconcile(
    a: Annotated[Path, argument("A", "A run, or another tool's file of answers: .xlsx, .tsv, .jsonl, .parquet …")],
    b: Annotated[str, argument("B", "The same, or a published score: 54.0, 54.0%, 0.540, 698/1730.")],
    rules_a: Annotated[
        str | None,
        option("--rules-a", "By whose rules A counts; given: the scores that came along.", "NAME"),
    ] = None,
    rules_b: Annotated[
        str | None, option("--rules-b", "The same for B; of a published score, the rules that are tried.", "NAME")
    ] = None,
    map_a: Annotated[
        Words,
        options.reading("--map-a", "Which column of A holds what: item=id,text=reply,given=hit.", "FIELD=COLUMN,…"),
    ] = None,
    map_b: Annotated[Words, options.reading("--map-b", "The same for B.", "FIELD=COLUMN,…")] = None,
    bench: Annotated[
        Path | None, option("--bench", "The benchmark, for files (default: that of the run beside it).", "BENCH")
    ] = None,
    model: Annotated[Words, option("--model", "Only this one's answers; again for another.", "NAME")] = None,
    where: Annotated[Words, option("--where", "Only such answers: ask=cot.", "COLUMN=A,B")] = None,
    to: Annotated[Path | None, option("--to", "Write causes, items and groups there as CSV.", "DIR")] = None,
    overwrite: options.OverwriteOption = False,
    limit: Annotated[int, option("--limit -n", "How many items to list.", min=0)] = 20,
    as_json: options.AllJsonOption = False,
) -> None:
    """Explain every point between two scores of one run: by reading, judge, guesses, errors, lost or mixed-up rows.

    Two rule sets over the same answers, another tool's hits against ours, or what must have been done for a published
    score to come out.
    """
    told = job.reconcile(
        a,
        b,
        rules_a=rules_a,
        rules_b=rules_b,
        map_a=map_a or (),
        map_b=map_b or (),
        bench=bench,
        model=model or (),
        where=where or (),
    )
    tables = _tables(told)
    if to is not None:
        _write(to, tables, overwrite=overwrite)
    if as_json:
        print_json(_json(told, tables))
        return
    _show(told, b)
    if limit:
        _show_items(tables["items"].filter(pl.col("points") != 0), limit)
    for line in told.notes:
        note(line)
    if to is not None:
        out.print(safe(f"{', '.join(f'{name}.csv' for name in tables)} → {to}"), soft_wrap=True)


def _tables(told: job.GapTable) -> dict[str, pl.DataFrame]:
    more = {"groups": told.groups, "ways": told.ways}
    return {"causes": told.frame, "items": told.items} | {n: table for n, table in more.items() if len(table)}


def _write(to: Path, tables: dict[str, pl.DataFrame], *, overwrite: bool) -> None:
    for name in tables:
        refuse_to_lose(to / f"{name}.csv", overwrite=overwrite, ours=None)
    to.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        with replacing_file(to / f"{name}.csv", overwrite=overwrite) as path:
            path.write_bytes(csv_text(table).encode("utf-8", "replace"))


def _json(told: job.GapTable, tables: dict[str, pl.DataFrame]) -> dict[str, object]:
    gap = told.told
    score_b = gap.number.value if isinstance(gap, ExplainedNumber) else gap.b.score
    return {
        "a": float(gap.a.score),
        "b": float(score_b),
        "gap": told.gap,
        **{name: table.to_dicts() for name, table in tables.items()},
        "notes": list(told.notes),
    }


def _show(told: job.GapTable, b: str) -> None:
    gap = told.told
    sides = [(gap.a.name, gap.a.score, f"{gap.a.counted:,}")]
    if isinstance(gap, ExplainedNumber):
        sides.append(("published", gap.number.value, ""))
    else:
        sides.append((gap.b.name, gap.b.score, f"{gap.b.counted:,}"))
    rows = [
        (letter, name, f"{points(score):.2f}", counted)
        for letter, (name, score, counted) in zip("AB", sides, strict=True)
    ]
    show_table(["", ""], ["score", "counted"], rows)
    out.print(f"\nB is {abs(told.gap):.2f} points {'above' if gap.gap >= 0 else 'below'} A:\n")
    lines = []
    for row in told.frame.to_dicts():
        counts = (f"{row[name]:,}" if row["rows"] else "" for name in ("rows", "up", "down"))
        lines.append((row["cause"], row["meaning"], *counts, _signed(row["points"])))
    total = ("all", "", "", "", "", f"{told.gap:+.2f}")
    show_table(["cause", "what it is"], ["rows", "up", "down", "points"], [*lines, total])
    if isinstance(gap, ExplainedNumber):
        _show_ways(gap)
    if told.by_group:
        _show_groups(told.groups)


def _signed(number: float) -> str:
    """Points with their sign, and with more digits where two would say nothing."""
    return f"{number:+.2f}" if not number or abs(number) >= 0.01 else f"{number:+.4f}"


def _show_ways(gap: ExplainedNumber) -> None:
    """The ways of counting, those that give the number first."""
    rows = [
        (
            way.words,
            f"{points(way.score):.2f}",
            way.reached if way.luck is None else f"by luck, {way.luck:.0%}",
            f"{points(way.score - gap.number.value):+.2f}",
        )
        for way in gap.ways[:_WAYS]
    ]
    giving = sum(bool(way.reached) for way in gap.ways)
    out.print(f"\n{giving} of {len(gap.ways)} ways of counting give {gap.number.text}:\n")
    show_table(["way"], ["score", "gives it", "off"], rows)


def _show_groups(table: pl.DataFrame) -> None:
    causes = table.columns[4:]
    rows = [
        (
            row["group"],
            *(f"{100 * row[side]:.2f}" for side in "ab"),
            *(f"{row[name]:+.2f}" for name in ("gap", *causes)),
        )
        for row in table.to_dicts()
    ]
    out.print()
    show_table([""], ["A", "B", "gap", *causes], rows)


def _show_items(items: pl.DataFrame, limit: int) -> None:
    """The items that move the score, and what either side read there."""
    if items.is_empty():
        return
    rows = []
    for row in items.head(limit).to_dicts():
        reply = " ".join(safe(row["a_reply"] or row["b_reply"] or "").split())
        end = reply if len(reply) <= _LONGEST else f"…{reply[-_LONGEST:]}"
        gold = " / ".join(dict.fromkeys(filter(None, (row["a_gold"], row["b_gold"]))))
        words = (row["item"], row["cause"], *(word or "–" for word in (row["a_read"], row["b_read"], gold)))
        rows.append([*(safe(word) for word in words), _signed(row["points"]), end])
    out.print(f"\n{min(limit, len(items)):,} of {len(items):,} items that move the score:\n")
    names = ("item", "cause", "A read", "B read", "gold", "points", "the end of the reply")
    columns = zip(names, zip(*rows, strict=True), strict=True)
    print_columns([Column(name, cells, has_words=name != "points") for name, cells in columns])
