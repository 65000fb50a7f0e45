"""The command ``reconcile``: attribute every point between two scores of one run to items and causes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from eyetest.commands.base import new_path, observer, open_bench, several
from eyetest.commands.gathering import wanted
from eyetest.commands.lazy import pl, printed
from eyetest.commands.options import AnyPath, AnyRun, Bench, Overwrite, Where, Words
from eyetest.commands.results import Result, estimates, safe, table
from eyetest.errors import InputError, short

if TYPE_CHECKING:
    from fractions import Fraction

    from eyetest.results.reconcile import Reconciled
    from eyetest.results.reconcile_published import ExplainedNumber
    from eyetest.runs import Run

    Side = AnyRun | float
    """A run, another tool's file of answers, or a published score."""
else:
    Side = str

_WAYS = 8  # so many ways of counting are shown; JSON has all of them
_ITEMS = 20  # so many items are shown; JSON and CSV files have all of them
_LONGEST = 25  # so much of a reply's end is shown; a table has to fit 80 columns


def reconcile(
    a: AnyRun,
    b: Side,
    /,
    *,
    rules_a: str | None = None,
    rules_b: str | None = None,
    map: Words = (),  # noqa: A002 (the name of the option)
    bench: Bench | None = None,
    model: Words = (),
    where: Where = (),
    to: AnyPath | None = None,
    overwrite: Overwrite = False,
) -> "ReconcileResult":
    """Explain every point between two scores of one run by its cause and its items.

    Causes are reading, judge, guesses, errors, and lost or mixed-up rows. Compare two rule sets over the same
    answers, another tool's scores with ours, or find which way of counting gives a published score.

    Args:
        a: A run, or another tool's file of answers: .xlsx, .tsv, .jsonl, .parquet.
        b: The same, or a published score: 54.0, 54.0%, 0.540, 698/1730.
        rules_a: Rule set by which A counts, by default eyetest; "given": scores that came along.
        rules_b: The same for B; of a published score, the rule set that is tried.
        map: Which column of a file holds what: item=id,text=reply,given=hit.
        bench: The benchmark, for files; by default that of the run on the other side.
        model: Only answers of this model; repeatable.
        where: Only answers with these values of a column: ask=cot.
        to: Folder for causes, items and groups as CSV.
        overwrite: Replace files that eyetest wrote before.

    Examples:
        $ eyetest reconcile run run --rules-b mmmu
        $ eyetest reconcile gpt4o_MMStar.xlsx run
        $ eyetest reconcile run 54.0 --model gpt-4o

        >>> found = et.reconcile("run", "run", rules_b="mmmu", model="squinter", where={"modality": "image"})
        >>> round(sum(found.frame["points"]), 9) == round(found.gap, 9)
        True

    """
    from eyetest.results.reconcile import causes_table, groups_table, items_table, points
    from eyetest.results.reconcile_published import ExplainedNumber, read_published, ways_table
    from eyetest.results.reconcile_sides import Sides
    from eyetest.store import refuse_to_lose, write_file

    first, second = _opened(a), _opened(b)
    number = read_published(str(b)) if second is None else None
    if first is None:
        raise InputError(f"{short(str(a))} is neither a run nor a file")
    if second is None and number is None:
        raise InputError(f"{short(str(b))} is neither a run, a file nor a score such as 54.0 or 698/1730")
    named = None if bench is None else open_bench(bench)
    places = [first] if second is None else [first, second]
    both = Sides(places, (rules_a, rules_b), several(map), (several(model), wanted(where)), named, observer().busy)
    found, by_group, notes = both.explain() if number is None else both.explain_number(number)
    if isinstance(found, ExplainedNumber):
        ways, other = ways_table(found.ways, found.number.value), ("published", found.number.value, "")
    else:
        ways, other = pl.DataFrame(), (found.b.name, found.b.score, f"{found.b.counted:,}")
    sides = [(found.a.name, found.a.score, f"{found.a.counted:,}"), other]
    causes, items = causes_table(found.causes), items_table(found.shares)
    result = ReconcileResult(found, points(found.gap), sides, causes, items, groups_table(by_group), ways, notes)
    if to is not None:
        files = {new_path(to, "to") / f"{name}.csv": rows for name, rows in result.tables.items()}
        for file in files:
            refuse_to_lose(file, overwrite=overwrite, ours=None)
            file.parent.mkdir(parents=True, exist_ok=True)
        for file, rows in files.items():
            write_file(file, printed.csv_text(rows), overwrite=overwrite)
        observer().note(f"{', '.join(file.name for file in files)} → {to}")
    return result


def _opened(place: Side) -> "Run | Path | None":
    from eyetest.runs import Run, is_run
    from eyetest.store.urls import local_path

    if isinstance(place, Run):
        return place
    path = local_path(str(place))
    return Run(path) if is_run(path) else path if path.exists() else None


@dataclass(frozen=True, repr=False)
class ReconcileResult(Result):
    """A gap between two scores, and where every point of it comes from."""

    found: "Reconciled | ExplainedNumber"
    gap: float
    """B less A, in points."""
    sides: "Sequence[tuple[str, Fraction, str]]"
    """Name, score and counted rows of both."""
    causes: "pl.DataFrame"
    items: "pl.DataFrame"
    """One row for each item and cause, with what either side read."""
    groups: "pl.DataFrame"
    """One row a model and condition, where there are several."""
    ways: "pl.DataFrame"
    """Against a published number: every way of counting that was tried, the likeliest first."""
    notes: Sequence[str] = ()

    @property
    def title(self) -> str:  # type: ignore[override]
        """What it is, and the gap."""
        return f"reconciliation: a gap of {self.gap:+.2f} points"

    @property
    def frame(self) -> "pl.DataFrame":
        """One row a cause; the points sum to the gap."""
        return self.causes

    @property
    def tables(self) -> "dict[str, pl.DataFrame]":
        """Causes and items, and groups and ways where there are any."""
        more = {"groups": self.groups, "ways": self.ways}
        return {"causes": self.causes, "items": self.items} | {n: table for n, table in more.items() if len(table)}

    def as_json(self) -> dict[str, Any]:
        """Both scores, the gap, and every row of all tables."""
        (_, a, _), (_, b, _) = self.sides
        rows = {name: table.to_dicts() for name, table in self.tables.items()}
        return {"a": float(a), "b": float(b), "gap": self.gap, **rows, "notes": list(self.notes)}

    def __rich__(self) -> RenderableType:
        from eyetest.results.reconcile import points
        from eyetest.results.reconcile_published import ExplainedNumber

        found = self.found
        rows = [
            (side, name, f"{points(score):.2f}", n) for side, (name, score, n) in zip("AB", self.sides, strict=True)
        ]
        gap = f"\nB is {abs(self.gap):.2f} points {'above' if found.gap >= 0 else 'below'} A:\n"
        lines = []
        for row in self.frame.to_dicts():
            counts = (f"{row[name]:,}" if row["rows"] else "" for name in ("rows", "up", "down"))
            lines.append((row["cause"], row["meaning"], *counts, _signed(row["points"])))
        total = ("all", "", "", "", "", f"{self.gap:+.2f}")
        causes = table(["cause", "what it is"], ["rows", "up", "down", "points"], [*lines, total])
        parts: list[RenderableType] = [table(["", ""], ["score", "counted"], rows), Text(gap), causes]
        if isinstance(found, ExplainedNumber):
            giving = sum(bool(way.reached) for way in found.ways)
            parts.append(Text(f"\n{giving} of {len(found.ways)} ways of counting give {found.number.text}:\n"))
            parts.append(estimates(self.ways.head(_WAYS).with_columns(pl.col("score") * 100)))
        if len(self.groups):
            parts += [Text(), estimates(self.groups.with_columns(pl.col("a", "b") * 100))]
        return Group(*parts, *_items(self.items))


def _signed(number: float) -> str:
    """Points with their sign, and with more digits where two would show only zeros."""
    return f"{number:+.2f}" if not number or abs(number) >= 0.01 else f"{number:+.4f}"


def _items(items: "pl.DataFrame") -> list[RenderableType]:
    """The items that move the score, and what either side read there."""
    moved = items.filter(pl.col("points") != 0)
    if moved.is_empty():
        return []
    rows = []
    for row in moved.head(_ITEMS).to_dicts():
        reply = " ".join(safe(row["a_reply"] or row["b_reply"] or "").split())
        end = reply if len(reply) <= _LONGEST else f"…{reply[-_LONGEST:]}"
        gold = " / ".join(dict.fromkeys(filter(None, (row["a_gold"], row["b_gold"]))))
        words = (row["item"], row["cause"], *(word or "–" for word in (row["a_read"], row["b_read"], gold)))
        rows.append([*words, end, _signed(row["points"])])
    head = f"\n{min(_ITEMS, len(moved)):,} of {len(moved):,} items that move the score:\n"
    names = ("item", "cause", "A read", "B read", "gold", "the end of the reply")
    return [Text(head), table(names, ["points"], rows)]
