"""What a question about a chart comes to, computed once more from the stored table alone, by other means."""

import csv
import io
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Scene = dict[str, Any]


def number(cell: str) -> Fraction | None:
    bare = cell.strip().rstrip("%").replace(",", "")
    return Fraction(bare) if bare else None


def solve(scene: Scene) -> Fraction | str:
    """By the stored table and the computation that the question was understood as."""
    (_, *names), *rows = csv.reader(io.StringIO(scene["table"]))
    asked: dict[str, Any] = scene["program"]
    column: dict[str, Fraction] = {
        row[0]: value for row in rows if (value := number(row[1:][asked["series"]])) is not None
    }
    assert len(names) > asked["series"]
    chosen = [column[label] for label in asked["rows"]]
    values = list(column.values())
    ranked = sorted(column, key=lambda label: column[label])
    limit = Fraction(str(asked["number"]))
    does, gives = asked["does"], asked["gives"]
    if gives == "label" and does in ("above", "below"):
        label: str
        (label,) = [one for one, value in column.items() if (value > limit if does == "above" else value < limit)]
        return label
    if gives == "label":
        place: int = -1 - asked["rank"] if does == "max" else asked["rank"]
        assert values.count(column[ranked[place]]) == 1
        return ranked[place]
    if gives == "yes-no":
        one, other = chosen if len(chosen) == 2 else (chosen[0], limit)
        assert one != other
        return "Yes" if (one > other) == (does == "more") else "No"
    if does in ("above", "below"):
        return Fraction(sum(1 for value in values if (value > limit if does == "above" else value < limit)))
    distinct = sorted(set(values))
    middle = sorted(chosen or values)
    half = len(middle) // 2
    results: dict[str, Callable[[], Fraction]] = {
        "value": lambda: chosen[0],
        "count": lambda: Fraction(len(rows)),
        "max": lambda: distinct[-1 - asked["rank"]],
        "min": lambda: distinct[asked["rank"]],
        "sum": lambda: sum(chosen or values, Fraction()),
        "average": lambda: sum(chosen or values, Fraction()) / len(chosen or values),
        "median": lambda: middle[half] if len(middle) % 2 else (middle[half - 1] + middle[half]) / 2,
        "difference": lambda: abs(chosen[0] - chosen[1]),
        "ratio": lambda: chosen[0] / chosen[1],
        "range": lambda: max(values) - min(values),
    }
    return results[does]()


def is_right(gold: str, scene: Scene) -> bool:
    """Whether a gold is the result, rounded to the places that it is written with."""
    result = solve(scene)
    if isinstance(result, str):
        return gold == result
    places = len(gold.partition(".")[2])
    return bool(abs(Fraction(gold) - result) <= Fraction(51, 100) / 10**places)
