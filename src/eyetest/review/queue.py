"""The queue: one line for each item that waits for a person, as a table that any spreadsheet opens."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

from eyetest.benchmarks import Benchmark
from eyetest.records import Item, Verdict, letter
from eyetest.replacing import replacing_file

QUEUE = "queue.csv"
DECISIONS = "decisions.csv"
_COLUMNS = ("item", "stage", "reason", "question", "options", "gold", "images", "evidence", "form")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
HARMLESS = "'"
"""What stands before a cell that a spreadsheet would take for a formula."""


def write_queue(
    folder: Path, waiting: Iterable[Verdict], items: Mapping[str, Item], benchmark: Benchmark, form: str = ""
) -> Path:
    """Write the queue, and say where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    with replacing_file(folder / QUEUE) as place, place.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        for verdict in waiting:
            item = items[verdict.item]
            row = (
                *(item.id, verdict.stage, verdict.reason, item.question),
                "\n".join(f"{letter(i)}. {choice.text}" for i, choice in enumerate(item.choices)),
                ", ".join(letter(i) for i in item.gold) or " | ".join(item.references),
                "\n".join(str(benchmark.images.path(image).resolve()) for image in item.images),
                *(verdict.evidence, form),
            )
            writer.writerow([_inert(cell) for cell in row])
    return folder / QUEUE


def _inert(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"{HARMLESS}{cell}" if cell.startswith(_FORMULA) else cell
