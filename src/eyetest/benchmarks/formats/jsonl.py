"""JSON Lines (or one JSON array): an object an item, pictures as paths beside the file, base64 or data URLs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks.folder import Benchmark, distinct_images
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ReadOptions, Row, RowReader, plain_row
from eyetest.errors import InputError, short
from eyetest.store.regular_files import inside

_MAX_LINE = 256 * 2**20
_MAX_ARRAY = 2**30
_USUAL_NAME = "items.jsonl"


class JsonRows:
    """The objects of a file as rows. Columns are those of the first objects, in order of appearance."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = max(path.stat().st_size, 1)
        self._position = 0
        columns: dict[str, None] = {}
        for row in self:
            columns.update(dict.fromkeys(row.values))
        self.columns = tuple(columns)

    @property
    def done(self) -> float:
        """Share of the file that was read."""
        return self._position / self._size

    def __iter__(self) -> Iterator[Row]:
        for number, (where, values) in enumerate(self._objects()):
            if not isinstance(values, dict):
                raise InputError(f"{where}: found {short(values)}, expected a JSON object")
            yield Row(number, where, values)

    def _objects(self) -> Iterator[tuple[str, Any]]:
        with self.path.open("rb", buffering=2**20) as file:
            self._position = 0
            line_number = 0
            while line := file.readline(_MAX_LINE):
                line_number += 1
                self._position += len(line)
                where = f"{self.path.name} line {line_number}"
                if len(line) >= _MAX_LINE:
                    raise InputError(f"{where} is longer than {_MAX_LINE // 2**20} MB")
                if line_number == 1 and line.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
                    yield from self._array()
                    return
                if line.strip(b"\xef\xbb\xbf \t\r\n"):
                    yield where, _decode(line.removeprefix(b"\xef\xbb\xbf"), where)

    def _array(self) -> Iterator[tuple[str, Any]]:
        if self._size > _MAX_ARRAY:
            raise InputError(f"{self.path.name} is one JSON array of more than 1 GB; write it as JSON Lines")
        values = _decode(self.path.read_bytes().removeprefix(b"\xef\xbb\xbf"), self.path.name)
        self._position = self._size
        return ((f"{self.path.name} object {number}", value) for number, value in enumerate(values, 1))


class Jsonl:
    """The format itself."""

    name = "jsonl"
    summary = "JSON Lines: one object an item, image paths, base64 or data URLs"
    is_folder = True

    def recognises(self, path: Path) -> bool:
        """A .jsonl or .json file, or a folder with an ``items.jsonl``."""
        return (path / _USUAL_NAME).is_file() or (path.is_file() and path.suffix.lower() in (".jsonl", ".json"))

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> RowReader:
        """Start reading."""
        if path.is_dir():
            inside(path / _USUAL_NAME, path)
            path /= _USUAL_NAME
        return RowReader(JsonRows(path), options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write a folder: ``items.jsonl`` and ``images/``."""
        to.mkdir(exist_ok=True)
        (to / "images").mkdir()
        for image in distinct_images(benchmark):
            (to / "images" / image.filename).write_bytes(benchmark.images.read(image))
        with (to / _USUAL_NAME).open("wb") as file:
            for item in benchmark:
                row = plain_row(item)
                if item.images:
                    row["images"] = [f"images/{image.filename}" for image in item.images]
                file.write(msgspec.json.encode(row) + b"\n")
        return []


def _decode(text: bytes, where: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}") from None


FORMAT = Jsonl()
