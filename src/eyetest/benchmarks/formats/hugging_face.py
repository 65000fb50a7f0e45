"""Hugging Face: Parquet as on the hub, and lmms-eval tasks."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from eyetest.benchmarks.folder import Benchmark
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.opening import Format
from eyetest.benchmarks.rows import ItemReader, ReadOptions, plain_row
from eyetest.errors import InputError
from eyetest.records import Item
from eyetest.store.files import inside, open_regular
from eyetest.tabular.record_files import ParquetTable

_ROWS = 64
_TEXT = pa.string()
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", _TEXT)])
_JSON_COLUMNS = ("history", "eyetest", "video", "audio", "document_path")
_BATCH_ROWS = 256
_BATCH_BYTES = 32 * 2**20
_TASK, _DATA = "eyetest_task.yaml", "data/test.parquet"
_FUNCTIONS = ("doc_to_visual", "doc_to_text", "doc_to_target", "process_results")


class Parquet(Format):
    """Parquet files as on the hub, those of MMMU and MMStar among them."""

    name = "parquet"
    summary = "Hugging Face Parquet: images as structs, options as a list; also reads MMMU's and MMStar's layouts"
    endings = (".parquet",)

    def recognises(self, folder: Path) -> bool:
        """A folder that holds Parquet files."""
        return bool(_parquet_files(folder))

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading; all shards must have the same columns."""
        found = _parquet_files(path)
        if not found:
            raise InputError(f"{path} holds no Parquet file")
        return ItemReader(ParquetTable(found, _ROWS, options.drop), options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write one Parquet file, never holding more than a few images."""
        schema = _schema(dict.fromkeys(name for item in benchmark for name in _row(item)))
        with pq.ParquetWriter(to, schema, compression="zstd", write_page_checksum=True) as writer:
            for rows in _batches(benchmark):
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        return []


class LmmsEval(Format):
    """A task folder that lmms-eval loads: Parquet, the task's YAML, the functions that it names."""

    name = "lmms-eval"
    summary = "a task folder for lmms-eval: Parquet, task YAML and utils.py, loaded with --include_path"
    is_folder = True

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading the Parquet file of a task."""
        return Parquet().read(path, options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write the task folder."""
        (to / "data").mkdir(parents=True)
        Parquet().write(benchmark, to / _DATA, final)
        (to / "utils.py").write_bytes(files(__package__).joinpath("lmms_eval_task.py").read_bytes())
        manifest = benchmark.manifest
        task = {
            "task": re.sub(r"\W+", "_", manifest.name).strip("_").lower() or "benchmark",
            "dataset_path": "parquet",
            "dataset_kwargs": {"data_files": {"test": str(final.resolve() / _DATA)}},
            "test_split": "test",
            "output_type": "generate_until",
            "generation_kwargs": {"max_new_tokens": 1024, "temperature": 0, "do_sample": False},
            "metric_list": [{"metric": "accuracy", "aggregation": "mean", "higher_is_better": True}],
            "metadata": [{"version": manifest.version, "fingerprint": manifest.fingerprint}],
        }
        text = yaml.safe_dump(task, sort_keys=False, allow_unicode=True)
        text += "".join(f"{name}: !function utils.{name}\n" for name in _FUNCTIONS)
        (to / _TASK).write_text("# data_files is an absolute path: change it if you move this folder.\n" + text)
        return [f"run it with: lmms-eval --include_path {final} --tasks {task['task']} --model …"]


def _parquet_files(path: Path) -> list[Path]:
    """The Parquet files of a path, in order. Those of a folder may not be links that leave it."""
    if not path.is_dir():
        return [path]
    found = sorted([*path.glob("*.parquet"), *path.glob("data/*.parquet")])
    for file in found:
        os.close(open_regular(inside(file, path)))
    return found


def _row(item: Item) -> dict[str, Any]:
    """Everything but the images: texts, lists of texts, and JSON."""
    row = plain_row(item, text_tags=True)
    for name in _JSON_COLUMNS:
        if not isinstance(row.get(name, ""), str):
            row[name] = msgspec.json.encode(row[name]).decode()
    if isinstance(row.get("answer"), str):
        row["answer"] = [row["answer"]]
    return row


def _schema(names: Iterable[str]) -> pa.Schema:
    """The columns, described as ``datasets`` expects it."""
    first = {"id": _TEXT, "question": _TEXT, "images": pa.list_(_IMAGE)}
    kinds = {**first, **dict.fromkeys(names, _TEXT), "options": pa.list_(_TEXT), "answer": pa.list_(_TEXT)}
    text = {"dtype": "string", "_type": "Value"}
    inside = {"options": text, "answer": text, "images": {"_type": "Image"}}
    lists = {name: {"feature": feature, "_type": "Sequence"} for name, feature in inside.items()}
    note = json.dumps({"info": {"features": dict.fromkeys(kinds, text) | lists}}).encode()
    return pa.schema(kinds, {b"huggingface": note})


def _batches(benchmark: Benchmark) -> Iterator[list[dict[str, Any]]]:
    """All rows with their images, few at once."""
    rows: list[dict[str, Any]] = []
    held = 0
    for item in benchmark:
        images = [{"bytes": benchmark.images.read(image), "path": image.filename} for image in item.images]
        rows.append(_row(item) | {"images": images})
        held += sum(image.size for image in item.images)
        if len(rows) >= _BATCH_ROWS or held >= _BATCH_BYTES:
            yield rows
            rows, held = [], 0
    yield rows


FORMAT = (Parquet(), LmmsEval())
