"""Charts and tables out of whatever numbers a finding brings."""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

from eyetest.pages.item_counts import ItemCount
from eyetest.pages.page import clip, plain
from eyetest.records import letter

_COUNTS = ("positions", "counts", "observed")
_RATES = ("accuracy", "share", "rate")
_AGAINST = ("chance", "expected", "null_mean", "null_q95")


class Bars(NamedTuple):
    """Counts beside what would be expected of them."""

    name: str
    labels: list[str]
    values: list[float]
    expected: list[float]
    counts: Sequence[ItemCount] = ()
    """Where each bar leads, where it stands for items."""

    @property
    def top(self) -> float:
        """The value that fills the height of the chart."""
        return max([*self.values, *self.expected, 1e-9])


class Gauge(NamedTuple):
    """A rate beside chance and beside what luck reaches."""

    name: str
    rate_name: str
    rate: float
    chance: float | None
    null_mean: float | None
    null_q95: float | None

    @property
    def top(self) -> float:
        """The end of the axis: a quarter, a half or all."""
        most = max(value or 0 for value in self[2:])
        return next((end for end in (0.25, 0.5, 1.0) if most * 1.1 <= end), max(1.0, most))


class Grid(NamedTuple):
    """The same figures for several things: a table."""

    name: str
    columns: list[str]
    rows: list[tuple[str, list[str]]]


class Figures(NamedTuple):
    """A finding's numbers: drawn where we know how, listed where not."""

    bars: list[Bars]
    gauges: list[Gauge]
    grids: list[Grid]
    rest: list[tuple[str, str]]

    def __bool__(self) -> bool:
        return any(self[:])


def figures(values: dict[str, Any], name: str = "") -> Figures:
    """Draw what we know how to draw, at any depth; list the rest.

    Probes, also those of users, may put anything here, so nothing is required of it.
    """
    made = Figures([], [], [], [])
    used = _add_bars(made, values, name)
    used |= _add_gauge(made, {key: value for key, value in values.items() if key not in used}, name)
    for key, value in values.items():
        path = f"{name}, {key}" if name else str(key)
        if key in used or (isinstance(value, dict) and _add_grid(made, value, path)):
            continue
        if isinstance(value, dict) and value and path.count(", ") < 3:
            inner = figures(value, path)
            for field in Figures._fields:
                getattr(made, field).extend(getattr(inner, field))
        else:
            made.rest.append((_spoken(path), clip(plain(value), 200)))
    return made


def _add_bars(made: Figures, values: dict[str, Any], name: str) -> set[str]:
    key = next((key for key in _COUNTS if key in values), "")
    value = values.get(key)
    counts = _numbers(value.values() if isinstance(value, dict) else value)
    if not 2 <= len(counts) <= 26:
        return set()
    expected = values.get("expected")
    expected = expected.values() if isinstance(expected, dict) else expected
    expected = _numbers(expected) or _numbers([expected]) * len(counts)
    expected = expected if len(expected) == len(counts) else []
    labels: Any = value if isinstance(value, dict) else values.get("options")
    named = isinstance(labels, dict | list | tuple) and len(labels) == len(counts)
    shown = [clip(str(label), 9) for label in (labels if named else map(letter, range(len(counts))))]
    made.bars.append(Bars(_spoken(name), shown, counts, expected))
    return {key, *(["expected"] if expected else []), *(["options"] if named else [])}


def _add_gauge(made: Figures, values: dict[str, Any], name: str) -> set[str]:
    rates = {key: values[key] for key in (*_RATES, *_AGAINST) if _numbers([values.get(key)], most=1.0)}
    used = set(rates)
    counted = _numbers([values.get(key) for key in ("hits", "expected", "n")])
    if counted and counted[2]:
        rates = {"share": counted[0] / counted[2], "expected": counted[1] / counted[2]}
        used = {"hits", "expected"}
    rate = next((key for key in _RATES if key in rates), None)
    if rate is None or not any(key in rates for key in _AGAINST):
        return set()
    against = (rates.get("chance", rates.get("expected")), rates.get("null_mean"), rates.get("null_q95"))
    made.gauges.append(Gauge(_spoken(name), rate, rates[rate], *against))
    return used


def _add_grid(made: Figures, values: dict[str, Any], name: str) -> bool:
    """Add a table of things with the same figures, unless they are few enough to be drawn."""
    rows = list(values.values())
    if len(rows) < 2 or not all(isinstance(row, dict) and row and row.keys() == rows[0].keys() for row in rows):
        return False
    drawn = figures(rows[0])
    if any(isinstance(cell, dict) for cell in rows[0].values()) or ((drawn.bars or drawn.gauges) and len(rows) <= 6):
        return False
    cells = [(clip(key, 60), [clip(plain(cell), 40) for cell in row.values()]) for key, row in values.items()]
    made.grids.append(Grid(_spoken(name), [_spoken(str(column)) for column in rows[0]], cells))
    return True


def _numbers(values: object, most: float = 1e15) -> list[float]:
    """A list of numbers that a chart can show, or nothing if it is anything else."""
    if not isinstance(values, Iterable) or isinstance(values, str):
        return []
    numbers: list[Any] = list(values)
    fit = all(isinstance(number, Real) and not isinstance(number, bool) for number in numbers)
    return numbers if fit and all(0 <= number <= most for number in numbers) else []


def _spoken(name: str) -> str:
    return clip(name.replace("_", " "), 60)
