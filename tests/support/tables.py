"""Tables with a header, as CSV."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path


def read_csv(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def write_csv(path: Path, rows: Iterable[Mapping[str, str]], encoding: str = "utf-8") -> Path:
    """Write rows under all columns that any of them has."""
    rows = list(rows)
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)
    return path
