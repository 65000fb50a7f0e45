"""What a person sees in a cell of Excel, which holds numbers and the way to show them: 0.5 as 0.50 or as 50 %.

Numbers are shown as their format says where that loses nothing. Excel itself makes a date of 1-2 and keeps 15 digits
of a number: nothing can bring back what was typed, so such cells say what became of them.
"""

import re
from datetime import date, datetime, time
from typing import Any

_FIXED = re.compile(r"(?:#,##)?0\.(0+)")
_PERCENT = re.compile(r"0(?:\.(0+))?%")
_PADDED = re.compile(r"0{2,}")
EXCEL_DIGITS = 15
"""Of a number; all further ones become 0."""


class ExcelDate(str):
    """The text of a cell that Excel holds to be a date or a time."""

    __slots__ = ()


class CutNumber(str):
    """The text of a whole number that has more digits than Excel keeps."""

    __slots__ = ()


def as_seen(cell: Any) -> Any:
    """The value of a cell as a person sees it: text for a date or a number with a format, else as it is."""
    value = cell.value
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, datetime | date | time):
        return ExcelDate(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if abs(value) >= 10**EXCEL_DIGITS:
        return CutNumber(f"{value:.0f}")
    return _formatted(value, cell.number_format.split(";")[0])


def _formatted(value: float, look: str) -> Any:
    if look == "General":
        return value
    if match := _FIXED.fullmatch(look):
        text = f"{value:.{len(match[1])}f}"
        return text if float(text) == value else value
    if match := _PERCENT.fullmatch(look):
        text = f"{100 * value:.{len(match[1] or '')}f}"
        return f"{text}%" if abs(float(text) / 100 - value) < 10**-EXCEL_DIGITS else value
    if _PADDED.fullmatch(look) and value == int(value) >= 0:
        return f"{int(value):0{len(look)}d}"
    return value
