"""Small sound files of every kind that is read, from which damaged and hostile ones are made."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.conftest import png
from tests.runs.inspect_logs import eval_file, sample
from tests.runs.written import jsonl, separated, xlsx

ROWS: tuple[dict[str, Any], ...] = (
    {"id": "1", "question": "Which animal is it?", "options": ["a cat", "a dog"], "answer": "B", "kind": "animals"},
    {"id": "2", "question": "How many?\nA. 1\nB. 2", "options": ["1", "2"], "answer": "A", "kind": "numbers"},
)
ANSWERS: tuple[dict[str, Any], ...] = (
    {"item": "1", "model": "m", "text": "The answer is B."},
    {"item": "2", "model": "m", "text": "1,1,1,1", "modality": "image"},
)


def _parquet() -> bytes:
    file = io.BytesIO()
    image = {"bytes": png(), "path": "1.png"}
    pq.write_table(pa.Table.from_pylist([{**row, "image": image} for row in ROWS]), file)
    return file.getvalue()


def benchmarks(folder: Path) -> dict[str, bytes]:
    """Files of items by their names."""
    header = ["index", "question", "A", "B", "answer"]
    cells = [["1", "Which?", "a cat", "a dog", "B"], ["2", "How many?", "1", "2", "A"]]
    lists = json.dumps(ROWS).encode()
    paths = [
        jsonl(folder / "a.jsonl", *ROWS),
        separated(folder / "a.tsv", header, *cells),
        separated(folder / "a.csv", header, *cells),
        xlsx(folder / "a.xlsx", header, *cells),
    ]
    return {path.name: path.read_bytes() for path in paths} | {"a.json": lists, "a.parquet": _parquet()}


def answers(folder: Path) -> dict[str, bytes]:
    """Files of answers by their names."""
    cells = [list(row.values())[:3] for row in ANSWERS]
    header = ["item", "model", "text"]
    paths = [
        jsonl(folder / "b.jsonl", *ANSWERS),
        separated(folder / "b.csv", header, *cells),
        xlsx(folder / "b.xlsx", header, *cells),
        eval_file(folder / "b.eval", [sample(1, "B"), sample(2, "A")]),
    ]
    return {path.name: path.read_bytes() for path in paths}


SETTINGS: dict[str, bytes] = {
    "recipe.yaml": b"name: mine\nstages:\n  - filter: easy\n    keep: {sound: 0.5}\n",
    "models.yaml": b"models:\n  gpt: {spec: 'openai:gpt', limits: {rpm: 60}}\n  b: &b {spec: 'constant:A'}\n",
    "lists.yaml": b"a: [1, 2.5, 2024-01-01, yes, null]\nb: {c: |\n  text\n}\n",
}
