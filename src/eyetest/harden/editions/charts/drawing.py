"""A table as bars, lines or a pie, every number written beside what shows it."""

import math
import re

from PIL import Image as Pillow

from eyetest.harden.editions.charts.table import DataTable
from eyetest.world.canvas import INK, Canvas

SIZE = 640
_FILLS = ("#3b78b8", "#e08a2e", "#5a9e5f", "#c0504d", "#8064a2", "#4aacc5")
_GRID, _PAPER = "#d4d4d4", "#ffffff"
_MOST_ROWS, _MOST_SERIES, _MOST_CELLS = 22, 6, 44
_MOST_POINTS, _MOST_LINES, _MOST_SLICES = 12, 2, 7
_YEAR = re.compile(r"(?:FY )?(?:19|20)\d\d(?:\s*[/-]\s*\d{2,4})?\*?")
_SLICE = re.compile(r"\b(?:pie|segments?|slices?|sectors?)\b", re.IGNORECASE)
_LINE, _BAR = re.compile(r"\blines?\b", re.IGNORECASE), re.compile(r"\bbars?\b", re.IGNORECASE)


def kind_of(table: DataTable, question: str) -> str | None:
    """How the table is drawn so that the question's words fit; None where it cannot be drawn legibly."""
    numbers = [value for row in table.values for value in row if value is not None]
    fits_line = len(table.labels) <= _MOST_POINTS and len(table.series) <= _MOST_LINES and len(table.labels) > 1
    if _SLICE.search(question):
        return "pie" if table.is_whole and len(table.labels) <= _MOST_SLICES and min(numbers) > 0 else None
    if _LINE.search(question):
        return "lines" if fits_line else None
    years = all(_YEAR.fullmatch(label) for label in table.labels)
    if years and fits_line and not _BAR.search(question):
        return "lines"
    rows, series = len(table.labels), len(table.series)
    return "bars" if rows <= _MOST_ROWS and series <= _MOST_SERIES and rows * series <= _MOST_CELLS else None


def draw_chart(table: DataTable, kind: str) -> Pillow.Image:
    """The picture."""
    canvas = Canvas(SIZE, _PAPER)
    title = table.series[0] if len(table.series) == 1 else table.corner
    canvas.fitted((50, 4), title, 3.4, 94)
    {"bars": _bars, "lines": _lines, "pie": _pie}[kind](canvas, table)
    return canvas.picture()


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
    length = _length(words) * height
    wide = min(length, width)
    canvas.fitted((at[0] + wide / 2, at[1]), words, height, width)


def _length(words: str) -> float:
    return 0.56 * max(len(words), 1)


def _scale(table: DataTable) -> tuple[float, float]:
    numbers = [value for row in table.values for value in row if value is not None]
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    return low, high if high > low else low + 1


def _bars(canvas: Canvas, table: DataTable) -> None:
    """Bars to the right, labels at the left, numbers at their ends."""
    top, (low, high) = _legend(canvas, table), _scale(table)
    step = (97 - top) / len(table.labels)
    thick = 0.8 * step / len(table.series)
    left, right = (42.0 if low < 0 else 36.0), 88.0

    def x(value: float) -> float:
        return left + (right - left) * (value - low) / (high - low)

    for row, label in enumerate(table.labels):
        y = top + row * step + 0.1 * step
        _left(canvas, (1.5, y + 0.4 * step), label, 32, min(2.6, 0.7 * step))
        for series in range(len(table.series)):
            value = table.values[row][series]
            if value is None:
                continue
            ends = sorted((x(0), x(value)))
            canvas.box((ends[0], y), (ends[1], y + thick), _FILLS[series])
            number = table.written(row, series)
            _left(canvas, (x(max(value, 0)) + 0.8, y + thick / 2), number, 11, min(2.5, thick * 0.95))
            y += thick
    canvas.line([(x(0), top), (x(0), 97)], INK, 0.3)


def _lines(canvas: Canvas, table: DataTable) -> None:
    """Points from left to right, oldest first, numbers below where the line is lowest and above elsewhere."""
    top, (_, high) = _legend(canvas, table), _scale(table)
    numbers = [value for row in table.values for value in row if value is not None]
    low = min(numbers) - 0.15 * (max(numbers) - min(numbers) or 1)
    order = sorted(range(len(table.labels)), key=lambda row: table.labels[row])
    gap = 84 / (len(order) - 1)

    def y(value: float) -> float:
        return 86 - (80 - top) * (value - low) / ((high - low) or 1)

    for spot, row in enumerate(order):
        canvas.line([(8 + spot * gap, 88), (8 + spot * gap, top)], _GRID, 0.2)
        canvas.fitted((8 + spot * gap, 91), table.labels[row], 2.4, gap * 0.95)
    canvas.line([(4, 88), (96, 88)], INK, 0.3)
    for series in range(len(table.series)):
        points = [(8 + spot * gap, row) for spot, row in enumerate(order) if table.values[row][series] is not None]
        line = [(x, y(table.values[row][series] or 0.0)) for x, row in points]
        if len(line) > 1:
            canvas.line(line, _FILLS[series], 0.6)
        for at in line:
            canvas.disc(at, 0.9, _FILLS[series])
        for index, (at, (_, row)) in enumerate(zip(line, points, strict=True)):
            beside = [y for _, y in line[max(index - 1, 0) : index + 2]]
            lift = 2.6 if at[1] >= max(beside) else -2.6
            words = table.written(row, series)
            half = min(_length(words) * 2.3, gap * 0.95) / 2
            canvas.box((at[0] - half, at[1] + lift - 1.1), (at[0] + half, at[1] + lift + 1.1), _PAPER)
            canvas.fitted((at[0], at[1] + lift), words, 2.3, gap * 0.95, _FILLS[series])


def _pie(canvas: Canvas, table: DataTable) -> None:
    """A pie from the top, clockwise, labels and numbers in a list beside it."""
    pairs = table.column(0)
    total, start = sum(value for _, value in pairs), -90.0
    for index, (label, value) in enumerate(pairs):
        end = start + 360 * value / total
        fill = _FILLS[index % len(_FILLS)] if index < len(_FILLS) else "#7f7f7f"
        canvas.slice((50, 42), 30, (start, end), fill)
        turn = math.radians((start + end) / 2)
        row = table.labels.index(label)
        canvas.text((50 + 34 * math.cos(turn), 42 + 34 * math.sin(turn)), table.written(row, 0), 2.6)
        x, y = 6 + 48 * (index % 2), 80 + 4.6 * (index // 2)
        canvas.box((x, y - 1.3), (x + 2.6, y + 1.3), fill)
        _left(canvas, (x + 3.8, y), label, 41)
        start = end
