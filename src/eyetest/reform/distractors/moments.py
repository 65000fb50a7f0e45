"""Times of the day and dates, and others in the same writing."""

import random
import re
from datetime import date, datetime, timedelta
from itertools import accumulate

_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(\s?[ap]\.?m\.?)?|(\d{1,2})(\s?[ap]\.?m\.?|\s?o'?clock)", re.IGNORECASE)
_HALF_DAY, _DAY = 12 * 60, 24 * 60
_WRITINGS = (
    "%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y",
    "%B %d", "%b %d", "%d %B", "%d %b", "%B %Y", "%b %Y",
)  # fmt: skip
_SOME_YEAR = " 2001"
_LEADING_NOUGHT = re.compile(r"\b0\d")
_LONGEST_DATE = len("September 30, 2000")
_FARTHEST = 9
"""The most days or months from one made-up date to the next."""


def is_time(text: str) -> bool:
    """Whether a text is a time of the day."""
    return _CLOCK.fullmatch(text.strip()) is not None


def other_times(text: str, count: int, chance: random.Random) -> list[str]:
    """Times from all around the clock, as fine as the one that is given: to half an hour if that is on one."""
    match = _CLOCK.fullmatch(text.strip())
    assert match is not None
    hour, minute = int(match[1] or match[4]), int(match[2] or 0)
    grain = next(step for step in (60, 30, 15, 5, 1) if minute % step == 0)
    has_halves = bool(match[3] or match[5]) or hour <= 12
    length = _HALF_DAY if has_halves else _DAY
    times = []
    for step in chance.sample(range(1, length // grain), min(count, length // grain - 1)):
        moved = (hour * 60 + minute + step * grain) % length
        shown = moved // 60 or (12 if has_halves else 0)
        times.append(
            f"{shown:0{len(match[1])}d}:{moved % 60:02d}{match[3] or ''}" if match[1] else f"{shown}{match[5]}"
        )
    return times


def is_date(text: str) -> bool:
    """Whether a text is a date, with a day or a year or both."""
    return _read(text.strip()) is not None


def other_dates(text: str, count: int, chance: random.Random) -> list[str]:
    """Dates around the one that is given, which is as likely to be the first as the last or any between."""
    read = _read(text.strip())
    assert read is not None
    day, writing = read
    unit = timedelta(days=1 if "%d" in writing else 31)
    below = chance.randint(0, count)
    steps = [list(accumulate(chance.randint(1, _FARTHEST) for _ in range(some))) for some in (below, count - below)]
    moved = [*(day.replace(day=15) - step * unit if unit.days > 1 else day - step * unit for step in steps[0])]
    moved += [day.replace(day=15) + step * unit if unit.days > 1 else day + step * unit for step in steps[1]]
    is_padded = _LEADING_NOUGHT.search(text) is not None or (max(day.day, day.month) > 9 and "/" not in text)
    return [_written(one, writing, is_padded=is_padded) for one in moved]


def _read(text: str) -> tuple[date, str] | None:
    if len(text) > _LONGEST_DATE or not any(letter.isdigit() for letter in text):
        return None
    for writing in _WRITINGS:
        has_year = "%Y" in writing
        try:
            moment = datetime.strptime(
                text if has_year else text + _SOME_YEAR, writing if has_year else f"{writing} %Y"
            )
        except ValueError:
            continue
        return moment.date(), writing
    return None


def _written(day: date, writing: str, *, is_padded: bool) -> str:
    """A date in a writing, its numbers with a leading nought or without."""
    for sign, number in (("%d", day.day), ("%m", day.month)):
        writing = writing.replace(sign, f"{number:02d}" if is_padded else str(number))
    return day.strftime(writing)
