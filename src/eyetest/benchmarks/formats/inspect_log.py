"""The questions in a log of inspect-ai, for whoever has the log and not the benchmark."""

from collections.abc import Iterator
from pathlib import Path

from eyetest.benchmarks.folder import Benchmark
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions
from eyetest.errors import InputError
from eyetest.tabular.inspect_log import Sample, read_inspect_log
from eyetest.tabular.table import Row, Values


class InspectLog:
    """A log's samples as items, each once however many epochs there were."""

    name = "inspect"
    summary = "a log of inspect-ai (.eval, or its .json when named): the questions in it; read only"
    is_folder = False
    is_only_read = True
    endings: tuple[str, ...] = (".eval",)

    def recognises(self, folder: Path) -> bool:
        """Never: several logs need not ask the same."""
        return False

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading."""
        return ItemReader(_Questions(path), options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """A log without answers would be none."""
        raise InputError("logs of inspect-ai are only read; write jsonl, which its json_dataset reads")


class _Questions:
    def __init__(self, path: Path) -> None:
        self.path, self.done = path, 0.0
        self.columns: tuple[str, ...] = ("id", "question", "images", "options", "answer", "tags")

    def __iter__(self) -> Iterator[Row]:
        seen: set[int | str] = set()
        for _, sample in read_inspect_log(self.path):
            if sample.id not in seen:
                where = f"{self.path.name} sample {sample.id}"
                yield Row(len(seen), where, _values(sample), len(seen) + 1)
                seen.add(sample.id)
        self.done = 1.0


def _values(sample: Sample) -> Values:
    values: Values = {"id": sample.id, "question": sample.question, "answer": sample.target}
    if sample.images:
        values["images"] = sample.images
    if sample.choices:
        values["options"] = sample.choices
    return values | ({"tags": sample.metadata} if sample.metadata else {})


FORMAT = InspectLog()
