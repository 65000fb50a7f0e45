"""JSON Lines (or one JSON array): an object an item, pictures as paths beside the file, base64 or data URLs."""

from pathlib import Path

import msgspec

from eyetest.benchmarks.folder import Benchmark, distinct_images
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions, plain_row
from eyetest.store.regular_files import inside
from eyetest.tabular.files import TableFile
from eyetest.tabular.table import kind_of

_USUAL_NAME = "items.jsonl"


class Jsonl:
    """The format itself."""

    name = "jsonl"
    summary = "JSON Lines: one object an item, image paths, base64 or data URLs"
    is_folder = True

    def recognises(self, path: Path) -> bool:
        """A .jsonl or .json file, or a folder with an ``items.jsonl``."""
        return (path / _USUAL_NAME).is_file() or (path.is_file() and kind_of(path) in (".jsonl", ".json"))

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading."""
        if path.is_dir():
            inside(path / _USUAL_NAME, path)
            path /= _USUAL_NAME
        return ItemReader(TableFile(path), options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write a folder: ``items.jsonl`` and ``images/``."""
        write_pictures(benchmark, to)
        with (to / _USUAL_NAME).open("wb") as file:
            for item in benchmark:
                row = plain_row(item)
                if item.images:
                    row["images"] = [f"images/{image.filename}" for image in item.images]
                file.write(msgspec.json.encode(row) + b"\n")
        return []


def write_pictures(benchmark: Benchmark, to: Path) -> None:
    """Every picture as a file in the folder ``images`` of an export."""
    (to / "images").mkdir(parents=True)
    for image in distinct_images(benchmark):
        (to / "images" / image.filename).write_bytes(benchmark.images.read(image))


FORMAT = Jsonl()
