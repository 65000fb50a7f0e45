"""Logs as inspect-ai 0.3.285 writes them: the members it reads them by, packed with Zstandard into a zip.

``tests/fixtures/inspect-0.3.285.eval`` is a real one: three samples of ``multiple_choice(shuffle=Random(5))`` with
its mock model, scored by ``choice()``.
"""

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from eyetest.runs.inspect_logs import read_inspect_log

ZSTANDARD = 93


def sample(id_: int | str, text: str | None, *, epoch: int = 1, **also: Any) -> dict[str, Any]:
    """A question with four options and its answer; None where nothing came back."""
    options = ["cat", "dog", "bird", "fish"]
    listed = "\n".join(f"{mark}) {option}" for mark, option in zip("ABCD", also.pop("shown", options), strict=True))
    reply = {"role": "assistant", "content": text}
    stop = also.pop("stop", "stop")
    return {
        "id": id_,
        "epoch": epoch,
        "input": f"Which is {id_}?",
        "choices": options,
        "target": "B",
        "messages": [{"role": "user", "content": f"Answer with a letter.\n\nWhich is {id_}?\n\n{listed}"}],
        "output": {"choices": [] if text is None else [{"message": reply, "stop_reason": stop}]},
        "scores": {"choice": {"value": "C"}},
        "metadata": {"category": "animals"},
        "attachments": {},
    } | also


def header(model: str = "openai/gpt", *, cot: bool = False) -> dict[str, Any]:
    step = {"solver": "multiple_choice", "params": {"cot": cot}}
    return {"version": 2, "status": "success", "eval": {"model": model, "task": "animals"}, "plan": {"steps": [step]}}


def asked_by(path: Path, log: Path) -> Path:
    """A benchmark of the items that a log asks, each with its options."""
    samples = {str(sample.id): sample.choices for _, sample in read_inspect_log(log)}
    items = ({"id": id_, "question": f"Which is {id_}?", "options": o, "answer": "A"} for id_, o in samples.items())
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def eval_file(path: Path, samples: Sequence[Mapping[str, Any]], about: Mapping[str, Any] | None = None) -> Path:
    names = [f"samples/{one['id']}_epoch_{one['epoch']}.json" for one in samples]
    parts = {name: json.dumps(one).encode() for name, one in zip(names, samples, strict=True)}
    return packed(path, parts | {"header.json": json.dumps(about or header()).encode()})


def packed(path: Path, parts: Mapping[str, bytes], sizes: Mapping[str, int] | None = None) -> Path:
    """A zip packed with Zstandard, which Python writes only since 3.14; ``sizes`` are lies about its parts."""
    body, directory = b"", b""
    for name, data in parts.items():
        small = pa.Codec("zstd").compress(data, asbytes=True)
        size = (sizes or {}).get(name, len(data))
        common = (0, ZSTANDARD, 0, 0, zlib.crc32(data), len(small), size, len(name), 0)
        directory += (
            struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 63, 63, *common, 0, 0, 0, 0, len(body)) + name.encode()
        )
        body += struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 63, *common) + name.encode() + small
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, len(parts), len(parts), len(directory), len(body), 0)
    path.write_bytes(body + directory + end)
    return path
