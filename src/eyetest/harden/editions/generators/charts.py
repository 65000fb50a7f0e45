"""Charts with their tables, as ChartQA has them: other numbers, the question's own computation, drawn by us."""

from collections.abc import Iterator
from random import Random

import msgspec

from eyetest.harden.editions.charts.drawing import draw_chart, kind_of
from eyetest.harden.editions.charts.questions import Program, agrees, places, understood
from eyetest.harden.editions.charts.table import DataTable, read_table, redrawn
from eyetest.harden.editions.generating import OF_THE_PICTURE, NotRenewable, Original, Redrawn
from eyetest.records import Item
from eyetest.world.canvas import png

_TABLE = "table_csv"
_TRIES = 200
_READ_OFF = ("value", "max", "min")


class ChartGenerator:
    """Items answered in words or numbers that carry the table of their chart."""

    name = "charts"
    summary = "charts with their tables (description, or the tag table_csv), where the question's computation is sure"

    def knows(self, original: Original) -> bool:
        """Whether there is a table."""
        return bool(original.item.references) and _table(original.item) is not None

    def renew(self, original: Original, rng: Random) -> Redrawn:
        """The same labels with other numbers; of a question that counts them, some of the labels."""
        item, table, program = _understood(original.item)
        for _ in range(_TRIES):
            fresh = redrawn(table, rng)
            if program.does == "count":
                fresh = _fewer(fresh, rng)
            result = program.run(fresh)
            if result is not None:
                return _drawn(item, fresh, program, result)
        raise NotRenewable("no other numbers leave its answer without doubt")

    def twins(self, original: Original, rng: Random) -> Iterator[Redrawn]:
        """The same chart with two numbers exchanged, or one changed, so that the answer is another."""
        item, table, program = _understood(original.item)
        golds = [item.references]
        for changed in _changes(table, program, rng):
            result = program.run(changed)
            if result is None or kind_of(changed, item.question) is None:
                continue
            if not any(agrees(result, gold) for gold in golds):
                twin = _drawn(item, changed, program, result)
                golds.append(twin.references)
                yield twin


def _table(item: Item) -> DataTable | None:
    texts = (item.description, str(item.tags.get(_TABLE, "")))
    return next((table for text in texts if text and (table := read_table(text)) is not None), None)


def _understood(item: Item) -> tuple[Item, DataTable, Program]:
    table = _table(item)
    assert table is not None
    program = understood(item.question, table, item.references)
    if program is None:
        raise NotRenewable("what its question computes is not sure, or does not give its gold")
    if kind_of(table, item.question) is None:
        raise NotRenewable("its table cannot be drawn legibly as its question speaks of it")
    return item, table, program


def _fewer(table: DataTable, rng: Random) -> DataTable:
    count = rng.randint(min(2, len(table.labels)), len(table.labels))
    return table.only(sorted(rng.sample(range(len(table.labels)), count)))


def _changes(table: DataTable, program: Program, rng: Random) -> Iterator[DataTable]:
    """Ever other small changes of a table, of the series that counts: two numbers exchanged, then one drawn anew."""
    if program.does == "count":
        for row in range(len(table.labels)):
            yield table.only([other for other in range(len(table.labels)) if other != row])
        return
    series = program.series
    rows = [row for row, numbers in enumerate(table.values) if numbers[series] is not None]
    for attempt in range(_TRIES):
        if attempt < _TRIES // 2 and len(rows) > 1:
            one, other = rng.sample(rows, 2)
            first, second = table.values[one][series], table.values[other][series]
            yield table.with_cell(one, series, second).with_cell(other, series, first)
        elif not table.is_whole:
            row = rng.choice(rows)
            yield table.with_cell(row, series, redrawn(table, rng).values[row][series])


def _written(result: float | str, item: Item, table: DataTable, program: Program) -> str:
    """A result with as many decimals as the old gold; a number of the table with at least as many as it has there."""
    if isinstance(result, str):
        return result
    decimals = max(places(reference) for reference in item.references)
    if program.does in _READ_OFF:
        decimals = max(decimals, table.decimals[program.series])
    return f"{result:.{decimals}f}"


def _drawn(item: Item, table: DataTable, program: Program, result: float | str) -> Redrawn:
    kind = kind_of(table, item.question)
    if kind is None:
        raise NotRenewable("its new table cannot be drawn legibly")
    text = table.as_csv()
    tagged = _TABLE in item.tags
    return Redrawn(
        question=item.question,
        references=(_written(result, item, table, program),),
        picture=png(draw_chart(table, kind)),
        description="" if tagged and not item.description else text,
        tags=dict.fromkeys(OF_THE_PICTURE) | ({_TABLE: text} if tagged else {}),
        scene={"table": text, "chart": kind, "program": msgspec.to_builtins(program)},
    )


GENERATOR = ChartGenerator()
