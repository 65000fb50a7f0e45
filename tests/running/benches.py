"""Small benchmarks to ask models about, and what their runs hold."""

import io
import json
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
from PIL import Image

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Manifest, ModelEntry, Response, Turn
from eyetest.runs import read_responses
from eyetest.runs.folder import SCORES
from eyetest.runs.stored import scan_table


def image_file(number: int) -> bytes:
    """One of many small images, of different sizes and formats."""
    data = io.BytesIO()
    image = Image.new("RGB", (5 + number % 7, 4 + number % 3), (number * 37 % 256, number * 91 % 256, 40))
    image.save(data, ("PNG", "JPEG", "WEBP")[number % 3])
    return data.getvalue()


def make_bench(
    path: Path, items: int = 12, *, image_count: int = 4, golds: Sequence[int] = (0, 1, 2, 3)
) -> Benchmark:
    """Choice items in which every fourth or so shares its image."""
    with BenchmarkWriter(path, Manifest(name="small")) as writer:
        for number in range(items):
            gold = golds[number % len(golds)]
            images = (writer.images.put(image_file(number % image_count)),) if image_count else ()
            choices = tuple(Choice(f"option {place}", place == gold) for place in range(4))
            writer.add(
                Item(id=f"q{number}", question=f"Which one is number {number}?", images=images, choices=choices)
            )
    return Benchmark(path)


def make_dialogues(path: Path, dialogues: int = 3, turns: int = 3, *, left_out: Sequence[str] = ()) -> Benchmark:
    """Dialogues whose later turns stand before the earlier ones, and an item that is in none."""
    with BenchmarkWriter(path, Manifest(name="dialogues")) as writer:
        writer.add(Item(id="alone", question="Is it?", references=("yes",)))
        for turn in range(turns, 0, -1):
            for dialogue in range(dialogues):
                if (name := f"d{dialogue}t{turn}") in left_out:
                    continue
                history = tuple(Turn(f"Turn {n} of {dialogue}?", f"gold {n}") for n in range(1, turn))
                choices = tuple(Choice(f"{word} {turn}", word == "gold") for word in ("bad", "gold", "odd", "ugly"))
                tags = {"dialogue": f"d{dialogue}", "turn": turn}
                question = f"Turn {turn} of {dialogue}?"
                writer.add(Item(id=name, question=question, history=history, choices=choices, tags=tags))
    return Benchmark(path)


class BareModel:
    """As much of a model as needs no answer."""

    likelihoods = knows_items = False

    def __init__(self, name: str, place: int = 0) -> None:
        self.name, self.entry, self.settings = name, ModelEntry(spec=f"scripted:seed={place}"), {"place": place}

    async def open(self) -> None: ...

    async def close(self) -> None: ...


def number_asked(question: str) -> int:
    """The number of the item that a question is about; of several, the last."""
    return int(re.findall(r"number (\d+)\?", question)[-1])


def stored(run: Path) -> list[Response]:
    """Every response of a run, also those that were overwritten by a later one."""
    return list(read_responses(run))


def answers(run: Path) -> dict[str, str | None]:
    """The text of each answered request."""
    return {response.request: response.text for response in stored(run) if response.outcome != "failed"}


def keys_in(responses: Sequence[Response]) -> list[str]:
    """The server's own names for what it was asked, which it put into its answers."""
    return [response.text.split()[-1] for response in responses if response.outcome != "failed" and response.text]


def everything(run: Path) -> str:
    """All that a run folder holds, decoded, with its file names."""
    found = []
    for path in sorted(run.rglob("*")):
        if path.is_file():
            found += [path.name, path.read_bytes().decode("latin-1")]
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            found.append(json.dumps(table.to_pylist(), ensure_ascii=False, default=str))
            found.append(str(table.schema.metadata))
    return "\n".join(found)


def hashes(folder: Path) -> dict[str, str]:
    """Every file of a folder by the hash of its bytes, and when it was changed."""
    return {
        str(path.relative_to(folder)): f"{sha256(path.read_bytes()).hexdigest()} {path.stat().st_mtime_ns}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def read_scores(run: Path, rules: str = "eyetest") -> pl.DataFrame:
    return scan_table(run / SCORES / f"{rules}.parquet").collect()


def manifest(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "run.json").read_text())
    return found
