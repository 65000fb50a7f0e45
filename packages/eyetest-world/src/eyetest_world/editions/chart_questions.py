"""The table of a chart, with other numbers in it, and what the words of a question about the chart compute."""

import csv
import io
import re
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

_NUMBER = re.compile(r"([-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-+]?\d*\.?\d+)\s*%?")
_WHOLE, _WHOLE_SHARE = 100.0, 1.5
_LEAST_GAP = 0.04  # of the range of a column: numbers that lie nearer cannot be distinguished by eye
_DRAWS = 200


@dataclass(frozen=True)
class DataTable:
    """Numbers by label and series; None where there is none."""

    corner: str
    series: tuple[str, ...]
    labels: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    decimals: tuple[int, ...]  # of each series
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
        return replace(self, values=tuple(map(tuple, rows)))

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
    cells = [[cell.strip() for cell in row[1:]] for row in rows[1:]]
    if not all(_is_empty(cell) or _NUMBER.fullmatch(cell) for row in cells for cell in row):
        return None
    values = tuple(tuple(None if _is_empty(cell) else _number(cell) for cell in row) for row in cells)
    labels, series = tuple(row[0].strip() for row in rows[1:]), tuple(name.strip() for name in rows[0][1:])
    if len(set(labels)) < len(labels) or len(set(series)) < len(series):
        return None
    columns = list(zip(*cells, strict=True))
    decimals = tuple(max(places(cell.rstrip("% 0")) for cell in column) for column in columns)
    percent = tuple(any("%" in cell for cell in column) for column in columns)
    return DataTable(rows[0][0].strip(), series, labels, values, decimals, percent)


def _is_empty(cell: str) -> bool:
    return cell.lower() in ("", "nan", "-", "–")


def _number(text: str) -> float:
    return float(text.rstrip("% ").replace(",", ""))


def redrawn(table: DataTable, rng: Random) -> DataTable:
    """Other numbers in the same range and precision, no two of a series too close to be distinguished."""
    for series in range(len(table.series)):
        there = [row for row, numbers in enumerate(table.values) if numbers[series] is not None]
        old = [value for _, value in table.column(series)]
        fresh = _shares(rng, len(old), table.decimals[series]) if table.is_whole else None
        for row, value in zip(there, fresh or _spread(rng, old, table.decimals[series]), strict=True):
            table = table.with_cell(row, series, value)
    return table


def _spread(rng: Random, old: list[float], decimals: int) -> list[float]:
    low, high = (min(old), max(old)) if old else (0.0, 0.0)
    if high - low < 10**-decimals * len(old):
        low, high = low * 0.6, high * 1.4 + 10**-decimals * 2 * len(old)
    gap = min(_LEAST_GAP, 0.5 / max(len(old), 1)) * (high - low)
    for _ in range(_DRAWS):
        fresh: list[float] = []
        for _ in old:
            drawn = [round(rng.uniform(low, high), decimals) for _ in range(20)]
            apart = [value for value in drawn if all(abs(value - other) >= gap for other in fresh)]
            if not apart:
                break
            fresh.append(apart[0])
        if len(fresh) == len(old):
            return fresh
    return rng.sample(old, len(old))


def _shares(rng: Random, count: int, decimals: int) -> list[float] | None:
    """Shares of a whole, each to be seen and no two alike."""
    for _ in range(_DRAWS):
        weights = [rng.uniform(0.15, 1.0) for _ in range(count)]
        shares = [round(_WHOLE * weight / sum(weights), decimals) for weight in weights]
        shares[-1] = round(_WHOLE - sum(shares[:-1]), decimals)
        if min(shares) > 2 and len(set(shares)) == count:
            return shares
    return None


_LOOK = re.compile(
    r"\b(?:red|green|blue|grey|gray|orange|yellow|purple|brown|black|pink|navy|dark|light|colou?rs?|left(?:most)?|"
    r"right(?:most)?|top|bottom|upper|middle|first|last|legend|heading|title|axis|gap|increas\w*|decreas\w*|drop\w*|"
    r"grew|grow\w*|rise|rose|fall|fell|trend|steady|chang\w*|same|equal|mode|except|not|twice|double|times|"
    r"years? ago|before|after|since|until|overtak\w*|combined with|per|each)\b",
    re.IGNORECASE,
)
_MOST = r"(?:highest|largest|biggest|greatest|most|maximum|longest|tallest|top|peak|max|leading)"
_LEAST = r"(?:lowest|smallest|least|minimum|shortest|fewest|tiniest|min)"
_MORE = r"(?:more|greater|higher|larger|bigger|above|over|exceeds?)"
_LESS = r"(?:less|lower|smaller|fewer|below|under)"
_N = r"(?P<n>\d[\d,]*\.?\d*)\s*%?"


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_FORMS = {
    "extreme": _form(rf"^(?:which|what|who)\b.*\b(?:(?P<most>{_MOST})|(?P<least>{_LEAST}))\b"),
    "second": _form(rf"\b(?P<rank>second|third|2nd|3rd)[- ](?:(?P<most>{_MOST})|(?P<least>{_LEAST}))\b"),
    "difference": _form(r"\b(?:difference|differ)\b"),
    "sum": _form(r"\b(?:sum|total|add(?:ed)? up|add)\b"),
    "average": _form(r"\b(?:average|mean)\b"),
    "median": _form(r"\bmedian\b"),
    "ratio": _form(r"\bratio\b"),
    "threshold": _form(rf"\b(?:(?P<more>{_MORE})|(?P<less>{_LESS}))\b(?:\s+(?:than|then))?\s+{_N}(?!\S*\w)"),
    "than": _form(rf"\b(?:(?P<more>{_MORE})|(?P<less>{_LESS}))\s+(?:than|then)\b"),
}
_COUNTS = _form(r"^how many\b")
_YES_NO = _form(r"^(?:is|are|was|were|does|do|did)\b")
_ASKS_VALUE = _form(r"^(?:what|how (?:many|much|long|old))\b|\bhow (?:many|much)\b")
_ASKS_LABEL = _form(
    r"^(?:which|who|where|when|in (?:which|what)|what (?:year|country|state|city|company|brand|age group|category|"
    r"region|month|season|sector|industry|product|type|was the leading))\b|^what(?:'s| is| was) the (?:leading|"
    r"largest|biggest|smallest|most \w+|least \w+|second|third)\b(?! (?:value|percentage|number|bar|amount|share))"
)
_NUMBER_OF_MOST = _form(
    rf"^what(?:'s| is| was) the\b.*\b(?:{_MOST}|{_LEAST}) (?:value|percentage|percent|number|amount|share|rate)\b"
)
_VALUE_NOUN = _form(r"\b(?:value|percentage|percent|number|amount|share|data point|rate)\b")
_ALL = _form(r"\b(?:all|both|entire|every)\b")
_HAS_MOST, _HAS_LEAST = _form(_MOST), _form(_LEAST)


@dataclass(frozen=True)
class Program:
    """One computation: what it does, over which labels of which series, and with which number."""

    does: str
    series: int
    rows: tuple[str, ...] = ()
    number: float = 0.0
    rank: int = 0
    gives: str = "value"  # value, label or yes-no

    def run(self, table: DataTable) -> float | str | None:
        """What it gives; None where that is not settled: a tie, a number that is not there."""
        pairs = table.column(self.series)
        known = dict(pairs)
        if any(row not in known for row in self.rows) or not pairs:
            return None
        if self.gives == "label":
            return self._label(pairs)
        value = self._value([known[row] for row in self.rows or known])
        if self.gives == "yes-no":
            return None if value is None else ("Yes" if value > 0 else "No")
        return value

    def _label(self, pairs: list[tuple[str, float]]) -> str | None:
        if self.does in ("above", "below"):
            sign = 1 if self.does == "above" else -1
            fits = [label for label, value in pairs if sign * (value - self.number) > 0]
            return fits[0] if len(fits) == 1 else None
        ordered = sorted(pairs, key=lambda pair: pair[1], reverse=self.does == "max")
        if len(ordered) <= self.rank + 1 or any(a[1] == b[1] for a, b in pairwise(ordered[: self.rank + 2])):
            return None
        return ordered[self.rank][0]

    def _value(self, numbers: list[float]) -> float | None:
        does = self.does
        if does in ("above", "below"):
            return float(sum(value > self.number if does == "above" else value < self.number for value in numbers))
        if does in ("max", "min"):
            ordered = sorted(set(numbers), reverse=does == "max")
            return ordered[self.rank] if len(ordered) > self.rank else None
        if does in ("more", "less"):
            gap = numbers[0] - (numbers[1] if len(self.rows) == 2 else self.number)
            return None if gap == 0 else (gap if does == "more" else -gap)
        if does == "ratio":
            return numbers[0] / numbers[1] if numbers[1] else None
        plain: dict[str, Callable[[], float]] = {
            "value": lambda: numbers[0],
            "sum": lambda: sum(numbers),
            "average": lambda: statistics.fmean(numbers),
            "median": lambda: statistics.median(numbers),
            "difference": lambda: abs(numbers[0] - numbers[1]),
            "range": lambda: max(numbers) - min(numbers),
        }
        return plain[does]()


def understood(question: str, table: DataTable, golds: tuple[str, ...]) -> Program | None:
    """The one computation that the words ask for and that gives the gold; None where there is none, or several."""
    fits = {program for program in _readings(question, table) if agrees(program.run(table), golds)}
    return fits.pop() if len(fits) == 1 else None


def agrees(result: float | str | None, golds: tuple[str, ...]) -> bool:
    """Whether a result is one of the golds, to the places that the gold is written with."""
    if result is None:
        return False
    if isinstance(result, str):
        return _plain(result) in map(_plain, golds)
    numbers = [gold for gold in golds if re.fullmatch(r"[-+]?\d*\.?\d+", gold.strip().rstrip("%").replace(",", ""))]
    return any(abs(_number(gold.strip()) - result) <= 0.51 * 10 ** -places(gold) for gold in numbers)


def places(gold: str) -> int:
    """How many decimals a gold is written with."""
    return len(gold.strip().rstrip("%").partition(".")[2])


def _readings(question: str, table: DataTable) -> Iterator[Program]:
    """What the words may ask for; anything about how the chart looks is left alone."""
    rows, rest = _mentions(question, table.labels)
    columns, rest = _mentions(rest, table.series)
    bare = rest.strip().strip("?. ")
    if _LOOK.search(bare) or len(columns if len(table.series) > 1 else table.series) != 1:
        return
    series = table.series.index(columns[0]) if len(table.series) > 1 else 0
    forms = {name: match for name, form in _FORMS.items() if (match := form.search(bare))}
    yield from _compared(bare, forms, rows, series)
    if "threshold" in forms or "than" in forms:
        return
    if "second" in forms:
        forms.pop("extreme", None)
    if not forms and len(rows) == 1 and _ASKS_VALUE.search(bare):
        yield Program("value", series, rows)
    elif set(forms) <= {"extreme", "second"} and forms and not rows:
        yield from _extremes(bare, forms, series)
    elif len(forms) == 1:
        yield from _combined(next(iter(forms)), bare, rows, series)
    elif set(forms) == {"extreme", "difference"} and not rows and _HAS_MOST.search(bare) and _HAS_LEAST.search(bare):
        yield Program("range", series)


def _compared(bare: str, forms: dict[str, re.Match[str]], rows: tuple[str, ...], series: int) -> Iterator[Program]:
    """Counts, labels and yes-or-no questions that hold numbers against something."""
    limit = forms.get("threshold")
    others = set(forms) - {"threshold", "than", "extreme"}
    if limit and not others:
        does, number = ("above" if limit["more"] else "below"), float(limit["n"].replace(",", ""))
        if _COUNTS.match(bare) and not rows:
            yield Program(does, series, number=number)
        elif _ASKS_LABEL.search(bare) and not rows:
            yield Program(does, series, number=number, gives="label")
        elif _YES_NO.match(bare) and len(rows) == 1:
            yield Program("more" if limit["more"] else "less", series, rows, number, gives="yes-no")
    elif "than" in forms and not limit and not others and _YES_NO.match(bare) and len(rows) == 2:
        yield Program("more" if forms["than"]["more"] else "less", series, rows, gives="yes-no")


def _extremes(bare: str, forms: dict[str, re.Match[str]], series: int) -> Iterator[Program]:
    """The highest, or the second highest: its label, or its number."""
    match = forms.get("second") or forms["extreme"]
    if _HAS_MOST.search(bare) and _HAS_LEAST.search(bare):
        return
    rank = 0 if "second" not in forms else (1 if match["rank"].lower() in ("second", "2nd") else 2)
    does = "max" if match["most"] else "min"
    if _ASKS_LABEL.search(bare) and not _NUMBER_OF_MOST.search(bare):
        yield Program(does, series, rank=rank, gives="label")
    elif _VALUE_NOUN.search(bare):
        yield Program(does, series, rank=rank)


def _combined(form: str, bare: str, rows: tuple[str, ...], series: int) -> Iterator[Program]:
    """One number out of several."""
    if not _ASKS_VALUE.search(bare):
        return
    of_two, of_many = form in ("difference", "ratio"), form in ("sum", "average", "median")
    if (of_two and len(rows) == 2) or (of_many and (len(rows) > 1 or (not rows and _ALL.search(bare)))):
        yield Program(form, series, rows)


def _mentions(question: str, names: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The names that a text says as whole words, in its order, and the text without them; the longest count first."""
    rest, spans = question, dict[int, str]()
    for name in sorted(names, key=len, reverse=True):
        plain = name.strip("*† ")
        match = re.search(rf"(?<![\w/.-]){re.escape(plain)}(?![\w/-]|\.\d)", rest, re.IGNORECASE) if plain else None
        if match:
            spans[match.start()] = name
            rest = rest[: match.start()] + "\0" * len(match[0]) + rest[match.end() :]
    return tuple(spans[start] for start in sorted(spans)), rest.replace("\0", "")


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().casefold()
