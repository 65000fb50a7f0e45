"""The command ``reconcile``: attribute every point between two scores of one run to items and causes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from eyetest.commands.base import new_path, observer, open_bench, several
from eyetest.commands.gathering import refuse_no_condition
from eyetest.commands.lazy import pl, printed
from eyetest.commands.options import AnyPath, AnyRun, Bench, Overwrite, Where, Words
from eyetest.commands.results import Found, estimates, safe, table
from eyetest.errors import InputError, heading, short
from eyetest.grammar import words_of

if TYPE_CHECKING:
    from eyetest.results.reconcile import Reconciled
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
    answers, another tool's scores with ours, or find which way of counting gives a published score. A file is read
    as `import` reads it.

    Args:
        a: A run, or another tool's file of answers: .xlsx, .tsv, .jsonl, .parquet.
        b: The same, or a published score: 54.0, 54.0%, 0.540, 698/1730.
        rules_a: Rule set by which A counts; "given": scores that came along. By default eyetest for a run, given for
            a file.
        rules_b: The same for B; of a published score, the rule set that is tried.
        map: Which column of a file holds what: item=id,text=reply,given=hit.
        bench: The benchmark; by default that of the run, for a file of the run on the other side.
        model: Only answers of this model; repeatable. The name of the model of a file that names none.
        where: Only answers with these values of a column: ask=cot.
        to: Folder for causes and items as CSV.
        overwrite: Replace files that eyetest wrote before.

    Examples:
        $ eyetest reconcile run run --rules-b mmmu
        $ eyetest reconcile gpt4o_MMStar.xlsx run
        $ eyetest reconcile run 54.0 --model gpt-4o

        >>> found = et.reconcile("run", "run", rules_b="mmmu", model="squinter", where={"modality": "image"})
        >>> round(sum(found.frame["points"]), 9) == round(found.gap, 9)
        True

    """
    from eyetest.results.reconcile import read_published, ways_table
    from eyetest.results.reconcile_sides import Selection, Sides
    from eyetest.runs.answer_values import FIELDS
    from eyetest.scoring import RULE_SETS
    from eyetest.store import refuse_to_lose, write_file
    from eyetest.tabular.table import parse_fields

    refuse_no_condition(where)
    conditions = where if isinstance(where, Mapping) else list(words_of(where))
    first, second = _opened(a), _opened(b)
    number = read_published(str(b)) if second is None else None
    if first is None:
        raise InputError(f"{short(str(a))} is neither a run nor a file")
    if second is None and number is None:
        raise InputError(f"{short(str(b))} is neither a run, a file nor a score such as 54.0 or 698/1730")
    named = None if bench is None else open_bench(bench)
    fields = parse_fields(several(map), "map", FIELDS, "given=hit")
    if fields and not any(isinstance(side, Path) for side in (first, second)):
        raise InputError(f"{heading('map')}: no file is named, and a run has no columns to map; leave it out")
    for name in (rules_a, rules_b):
        if name not in (None, "given"):
            RULE_SETS[name]  # an unknown name ends here, before anything is scored
    places, only = [first] if second is None else [first, second], Selection(several(model), conditions)
    with TemporaryDirectory() as folder:
        sides = Sides(places, named, only, fields, Path(folder), observer().busy)
        if number is None:
            found, notes = sides.explain(rules_a, rules_b)
            ways = pl.DataFrame()
        else:
            found, tried, notes = sides.explain_number(number, rules_a, rules_b)
            ways = ways_table(tried, number)
    result = ReconcileResult(found, ways, notes)
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


class ReconcileResult(Found):
    """A gap between two scores (B less A, in points) and where every point of it comes from: a row a cause, in
    ``items`` one for each item and cause, with what either side read. Against a published number ``ways`` has every
    way of counting that was tried, the likeliest first.
    """

    def __init__(self, found: "Reconciled", ways: "pl.DataFrame", notes: Sequence[str]) -> None:
        from eyetest.results.reconcile import items_table

        items = items_table(found.shares)
        self.found, self.items, self.ways, self.gap = found, items, ways, float(100 * found.gap)
        super().__init__(f"reconciliation: a gap of {self.gap:+.2f} points", found.causes, notes)
        self.tables = {"causes": self.frame, "items": items} | ({"ways": ways} if len(ways) else {})

    def as_json(self) -> dict[str, Any]:
        """Both scores, the gap, and every row of all tables."""
        rows = {name: table.to_dicts() for name, table in self.tables.items()}
        scores = {"a": float(self.found.a.score), "b": float(self.found.b.score), "gap": self.gap}
        return {**scores, **rows, "notes": list(self.notes)}

    def __rich__(self) -> RenderableType:
        sides = (("A", self.found.a), ("B", self.found.b))
        rows = [
            (side, of.name, f"{float(100 * of.score):.2f}", f"{of.counted:,}" if of.counted else "")
            for side, of in sides
        ]
        gap = f"\nB is {abs(self.gap):.2f} points {'above' if self.gap >= 0 else 'below'} A:\n"
        lines = []
        for row in self.frame.to_dicts():
            counts = (f"{row[name]:,}" if row["rows"] else "" for name in ("rows", "up", "down"))
            lines.append((row["cause"], row["meaning"], *counts, _signed(row["points"])))
        total = ("all", "", "", "", "", f"{self.gap:+.2f}")
        causes = table(["cause", "what it is"], ["rows", "up", "down", "points"], [*lines, total])
        parts: list[RenderableType] = [table(["", ""], ["score", "counted"], rows), Text(gap), causes]
        if len(self.ways):
            giving = (self.ways["gives it"] != "").sum()
            parts.append(Text(f"\n{giving} of {len(self.ways)} ways of counting give this number:\n"))
            parts.append(estimates(self.ways.head(_WAYS).with_columns(pl.col("score") * 100)))
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
