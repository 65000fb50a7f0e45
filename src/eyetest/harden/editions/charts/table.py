"""A table as charts have it: labels down, series across, numbers in between."""

import csv
import io
import re
from dataclasses import dataclass
from random import Random

_NUMBER = re.compile(r"([-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-+]?\d*\.?\d+)\s*%?")
_WHOLE, _WHOLE_SHARE = 100.0, 1.5
_LEAST_GAP = 0.04
"""Of the range of a column: numbers that lie nearer cannot be told apart by eye."""
_TRIES = 200


@dataclass(frozen=True)
class DataTable:
    """Numbers by label and series; None where there is none."""

    corner: str
    series: tuple[str, ...]
    labels: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    decimals: tuple[int, ...]
    """Of each series."""
    percent: tuple[bool, ...]

    def column(self, series: int) -> list[tuple[str, float]]:
        """Labels and numbers of a series, where there are any."""
        pairs = zip(self.labels, (row[series] for row in self.values), strict=True)
        return [(label, value) for label, value in pairs if value is not None]

    def written(self, row: int, series: int) -> str:
        """A number as the table writes it."""
        value = self.values[row][series]
        if value is None:
            return ""
        return f"{value:.{self.decimals[series]}f}{'%' if self.percent[series] else ''}"

    def as_csv(self) -> str:
        """The table as a file."""
        file = io.StringIO()
        rows = csv.writer(file)
        rows.writerow([self.corner, *self.series])
        rows.writerows(
            [label, *(self.written(row, series) for series in range(len(self.series)))]
            for row, label in enumerate(self.labels)
        )
        return file.getvalue()

    def with_cell(self, row: int, series: int, value: float | None) -> "DataTable":
        """The table with one number changed."""
        rows = [list(numbers) for numbers in self.values]
        rows[row][series] = value
        return self.with_values(rows)

    def with_values(self, rows: list[list[float | None]]) -> "DataTable":
        """The table with other numbers."""
        return DataTable(self.corner, self.series, self.labels, tuple(map(tuple, rows)), self.decimals, self.percent)

    def only(self, rows: list[int]) -> "DataTable":
        """Some of its labels."""
        labels, values = tuple(self.labels[row] for row in rows), tuple(self.values[row] for row in rows)
        return DataTable(self.corner, self.series, labels, values, self.decimals, self.percent)

    @property
    def is_whole(self) -> bool:
        """Whether its one series are the shares of a whole."""
        total = sum(value for _, value in self.column(0))
        return len(self.series) == 1 and abs(total - _WHOLE) <= _WHOLE_SHARE and len(self.labels) > 1


def read_table(text: str) -> DataTable | None:
    """The table in a CSV; None where it is none, or has a cell that is no number."""
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if len(rows) < 2 or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return None
    values: list[tuple[float | None, ...]] = []
    for row in rows[1:]:
        cells = [_number(cell) for cell in row[1:]]
        if any(cell is None for cell in cells):
            return None
        values.append(tuple(None if cell != cell else cell for cell in cells))  # noqa: PLR0124 (nan)
    labels, series = tuple(row[0].strip() for row in rows[1:]), tuple(name.strip() for name in rows[0][1:])
    if len(set(labels)) < len(labels) or len(set(series)) < len(series):
        return None
    columns = list(zip(*(row[1:] for row in rows[1:]), strict=True))
    decimals = tuple(max(_decimals(cell) for cell in column) for column in columns)
    percent = tuple(any("%" in cell for cell in column) for column in columns)
    return DataTable(rows[0][0].strip(), series, labels, tuple(values), decimals, percent)


def _number(cell: str) -> float | None:
    """A cell's number, nan where it is empty, None where it is something else."""
    bare = cell.strip()
    if bare.lower() in ("", "nan", "-", "–"):
        return float("nan")
    match = _NUMBER.fullmatch(bare)
    return float(match[1].replace(",", "")) if match else None


def _decimals(cell: str) -> int:
    bare = cell.strip().rstrip("%").strip()
    return len(bare.partition(".")[2].rstrip("0") or "0") if "." in bare and bare.partition(".")[2].strip("0") else 0


def redrawn(table: DataTable, rng: Random) -> DataTable:
    """Other numbers in the same range and precision, no two of a series too close to be told apart."""
    rows: list[list[float | None]] = [list(numbers) for numbers in table.values]
    for series in range(len(table.series)):
        there = [row for row, numbers in enumerate(rows) if numbers[series] is not None]
        old = [value for _, value in table.column(series)]
        fresh = _shares(rng, len(old), table.decimals[series]) if table.is_whole else None
        fresh = fresh or _spread(rng, old, table.decimals[series])
        for row, value in zip(there, fresh, strict=True):
            rows[row][series] = value
    return table.with_values(rows)


def _spread(rng: Random, old: list[float], decimals: int) -> list[float]:
    low, high = (min(old), max(old)) if old else (0.0, 0.0)
    if high - low < 10**-decimals * len(old):
        low, high = low * 0.6, high * 1.4 + 10**-decimals * 2 * len(old)
    gap = min(_LEAST_GAP, 0.5 / max(len(old), 1)) * (high - low)
    fresh: list[float] = []
    for _ in range(_TRIES):
        fresh = []
        for _ in old:
            apart = [one for _ in range(20) if _far(one := round(rng.uniform(low, high), decimals), fresh, gap)]
            if not apart:
                break
            fresh.append(apart[0])
        if len(fresh) == len(old):
            return fresh
    return rng.sample(old, len(old))


def _far(value: float, others: list[float], gap: float) -> bool:
    return all(abs(value - other) >= gap for other in others)


def _shares(rng: Random, count: int, decimals: int) -> list[float] | None:
    """Shares of a whole, each to be seen and no two alike."""
    for _ in range(_TRIES):
        weights = [rng.uniform(0.15, 1.0) for _ in range(count)]
        shares = [round(_WHOLE * weight / sum(weights), decimals) for weight in weights]
        shares[-1] = round(_WHOLE - sum(shares[:-1]), decimals)
        if min(shares) > 2 and len(set(shares)) == count:
            return shares
    return None
