"""The queue: one line for each item that waits for a person, as a table that any spreadsheet opens."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from eyetest.benchmarks import Benchmark
from eyetest.records import Item, Verdict, letter
from eyetest.replacing import replacing_file
from eyetest.sheets import SheetWriter

QUEUE = "queue.csv"
DECISIONS = "decisions.csv"
_COLUMNS = ("item", "stage", "reason", "question", "options", "gold", "images", "evidence", "form")


def write_queue(
    folder: Path, waiting: Iterable[Verdict], items: Mapping[str, Item], benchmark: Benchmark, form: str = ""
) -> Path:
    """Write the queue, and say where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    with replacing_file(folder / QUEUE) as place, place.open("w", newline="", encoding="utf-8") as file:
        writer = SheetWriter(file, _COLUMNS)
        for verdict in waiting:
            item = items[verdict.item]
            row = (
                *(item.id, verdict.stage, verdict.reason, item.question),
                "\n".join(f"{letter(i)}. {choice.text}" for i, choice in enumerate(item.choices)),
                ", ".join(letter(i) for i in item.gold) or " | ".join(item.references),
                "\n".join(str(benchmark.images.path(image).resolve()) for image in item.images),
                *(verdict.evidence, form),
            )
            writer.write([row])
    return folder / QUEUE
