"""Charts with their tables, as ChartQA has them: other numbers, the question's own computation, drawn anew."""

import math
import re
from collections.abc import Iterator
from random import Random

import msgspec
from PIL import Image as Pillow

from eyetest.records import Item
from eyetest_world.canvas import INK, Canvas, png
from eyetest_world.editions import OF_THE_IMAGE, NotRenewable, Original, Redrawn
from eyetest_world.editions.chart_questions import DataTable, Program, agrees, places, read_table, redrawn, understood

SIZE = 640
_FILLS = ("#3b78b8", "#e08a2e", "#5a9e5f", "#c0504d", "#8064a2", "#4aacc5")
_MOST_ROWS, _MOST_SERIES, _MOST_CELLS = 22, 6, 44
_OTHER_CHART = re.compile(r"\b(?:pie|segments?|slices?|sectors?|lines?)\b", re.IGNORECASE)


def is_drawable(table: DataTable, question: str) -> bool:
    """Whether bars are legible, and what the question speaks of."""
    rows, series = len(table.labels), len(table.series)
    fits = rows <= _MOST_ROWS and series <= _MOST_SERIES and rows * series <= _MOST_CELLS
    return fits and not _OTHER_CHART.search(question)


def draw_chart(table: DataTable) -> Pillow.Image:
    """A title, and bars to the right: labels at the left, numbers at their ends."""
    canvas = Canvas(SIZE, "#ffffff")
    canvas.fitted((50, 4), table.series[0] if len(table.series) == 1 else table.corner, 3.4, 94)
    numbers = [value for row in table.values for value in row if value is not None]
    top, low, high = _legend(canvas, table), min(0.0, *numbers), max(0.0, *numbers)
    step = (97 - top) / len(table.labels)
    thick = 0.8 * step / len(table.series)
    left, right = (42.0 if low < 0 else 36.0), 88.0

    def x(value: float) -> float:
        return left + (right - left) * (value - low) / ((high - low) or 1)

    for row, label in enumerate(table.labels):
        y = top + row * step + 0.1 * step
        _left(canvas, (1.5, y + 0.4 * step), label, 32, min(2.6, 0.7 * step))
        for series in range(len(table.series)):
            value = table.values[row][series]
            if value is None:
                continue
            canvas.box((x(min(value, 0)), y), (x(max(value, 0)), y + thick), _FILLS[series])
            at = (x(max(value, 0)) + 0.8, y + thick / 2)
            _left(canvas, at, table.written(row, series), 11, min(2.5, thick * 0.95))
            y += thick
    canvas.line([(x(0), top), (x(0), 97)], INK, 0.3)
    return canvas.finished()


def _legend(canvas: Canvas, table: DataTable) -> float:
    """Series and their colours; gives where the chart begins."""
    if len(table.series) < 2:
        return 8.0
    for index, name in enumerate(table.series):
        x, y = 4 + 32 * (index % 3), 9 + 4 * (index // 3)
        canvas.box((x, y - 1.2), (x + 2.4, y + 1.2), _FILLS[index])
        _left(canvas, (x + 3.4, y), name, 26)
    return 9.0 + 4 * math.ceil(len(table.series) / 3)


def _left(canvas: Canvas, at: tuple[float, float], words: str, width: float, height: float = 2.5) -> None:
    """Words that begin at a point."""
    wide = min(0.56 * max(len(words), 1) * height, width)
    canvas.fitted((at[0] + wide / 2, at[1]), words, height, width)


_TABLE = "table_csv"
_TRIES = 200


class ChartGenerator:
    """Items answered in words or numbers that carry the table of their chart."""

    name = "charts"
    summary = "charts with their tables (description, or the tag table_csv), where the question's computation is sure"

    def knows(self, original: Original) -> bool:
        """Whether there is a table."""
        return bool(original.item.references) and _table(original.item) is not None

    def renew(self, original: Original, rng: Random) -> Redrawn:
        """The same labels with other numbers."""
        item, table, program = _understood(original.item)
        for _ in range(_TRIES):
            fresh = redrawn(table, rng)
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
            if result is not None and not any(agrees(result, gold) for gold in golds):
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
    if not is_drawable(table, item.question):
        raise NotRenewable("its table cannot be drawn legibly as its question speaks of it")
    return item, table, program


def _changes(table: DataTable, program: Program, rng: Random) -> Iterator[DataTable]:
    """Ever other small changes of a table, of the series that counts: two numbers exchanged, then one drawn anew."""
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
    if program.does in ("value", "max", "min"):
        decimals = max(decimals, table.decimals[program.series])
    return f"{result:.{decimals}f}"


def _drawn(item: Item, table: DataTable, program: Program, result: float | str) -> Redrawn:
    text = table.as_csv()
    tagged = _TABLE in item.tags
    return Redrawn(
        question=item.question,
        references=(_written(result, item, table, program),),
        image=png(draw_chart(table)),
        description="" if tagged and not item.description else text,
        tags=dict.fromkeys(OF_THE_IMAGE) | ({_TABLE: text} if tagged else {}),
        scene={"table": text, "chart": "bars", "program": msgspec.to_builtins(program)},
    )


GENERATOR = ChartGenerator()
