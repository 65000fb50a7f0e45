"""Requests of another harness on disk, as they are answered, and as a benchmark and a run of eyetest."""

import io
import os
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from eyetest.commands.base import path_of
from eyetest.commands.exchange import import_file
from eyetest.commands.options import AnyPath
from eyetest.errors import InputError
from eyetest.records import letter
from eyetest.records.tables import failure_notice
from eyetest.runs import Run

_REQUESTS, _IMAGES = "requests.jsonl", "images"
_OPTION = re.compile(r"^\s*\(?([A-Z])[.):]\)?\s+(\S.*?)\s*$", re.MULTILINE)
_UNSAFE = re.compile(r"[^\w.+-]+")
_PICTURE = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")


class Recorder:
    """Stores every request with its reply in ``TO/TASK/requests.jsonl`` before the harness gets the reply."""

    def __init__(self, to: AnyPath, model: str) -> None:
        self.to, self.model = path_of(to, "to"), model
        self._replies: dict[str, dict[str, Any]] = {}  # by task, the reply to each request that was stored
        self._asked: Counter[tuple[str, str, str]] = Counter()

    def known(self, task: str, request: Mapping[str, Any]) -> Any:
        """The stored reply to a request, or None; the same request again is its next sample."""
        if task not in self._replies:
            stored = self._stored(task)
            self._replies[task] = {row["request"]: row["reply"] for row in stored if row["model"] == self.model}
        reply = self._replies[task].get(request["request"])
        return None if isinstance(reply, str) and failure_notice(reply) else reply

    def request(
        self, task: str, item: str, asked: str, images: Sequence[Any], target: Any = None, more: Any = ()
    ) -> dict[str, Any]:
        """A request, identified by its content: the text as sent, PIL images or files of images, gold, settings."""
        shown = [name for name in (self._image(task, image) for image in images) if name]
        about = {
            "model": self.model,
            "item": item,
            "question": asked,
            "images": shown,
            "target": target,
            "more": more,
        }
        content = sha256(msgspec.json.encode(about)).hexdigest()[:32]
        sample = self._asked[task, item, content]
        self._asked[task, item, content] += 1
        return about | {"sample": sample, "request": f"{content}-{sample}"}

    def add(self, task: str, request: Mapping[str, Any], reply: Any) -> None:
        """Store a reply; it is on disk when this returns."""
        folder = self._folder(task)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / _REQUESTS).open("ab") as file:
            file.write(msgspec.json.encode({**request, "reply": reply}) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._replies.setdefault(task, {})[request["request"]] = reply

    def run(self, task: str) -> Run:
        """What was recorded of a task as a benchmark and a run beside it, for every command of eyetest."""
        folder, rows = self._folder(task), self._stored(task)
        texts = [row for row in rows if isinstance(row["reply"], str)]
        if not texts:
            raise InputError(f"{folder} holds no replies in words, so there is nothing to score")
        items = {row["item"]: row for row in texts}
        order = sorted(items, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0))
        answers = {(row["item"], row["model"], row["sample"]): row["reply"] for row in texts}
        columns = ("item", "model", "sample", "text")
        _write(folder / "items.jsonl", [_item(items[name]) for name in order])
        _write(
            folder / "answers.jsonl", [dict(zip(columns, (*key, text), strict=True)) for key, text in answers.items()]
        )
        shutil.rmtree(folder / "run", ignore_errors=True)  # made anew of the requests, as is the benchmark
        (folder / _IMAGES).mkdir(exist_ok=True)
        given: dict[str, Any] = {"images": folder / _IMAGES, "gold_style": "letter", "allow_missing_gold": True}
        import_file(folder / "items.jsonl", to=folder / "benchmark", **given, overwrite=True)
        import_file(folder / "answers.jsonl", to=folder / "run", bench=folder / "benchmark")
        return Run(folder / "run")

    def _folder(self, task: str) -> Path:
        return self.to / _UNSAFE.sub("_", task)

    def _stored(self, task: str) -> list[dict[str, Any]]:
        """The stored requests; a last line that a kill has cut off is left out."""
        path = self._folder(task) / _REQUESTS
        whole = path.read_bytes().rpartition(b"\n")[0] if path.exists() else b""
        if whole and path.stat().st_size > len(whole) + 1:
            os.truncate(path, len(whole) + 1)
        return [msgspec.json.decode(line) for line in whole.splitlines()]

    def _image(self, task: str, image: Any) -> str:
        """The file of an image among the task's; empty for a video or a sound."""
        if isinstance(image, str | Path):
            path = Path(image)
            if path.suffix.lower() not in _PICTURE:
                return ""
            data, ending = path.read_bytes(), path.suffix.lower()
        elif hasattr(image, "save") and hasattr(image, "tobytes"):
            file, ending = io.BytesIO(), ".png"
            image.save(file, "PNG")
            data = file.getvalue()
        else:
            return ""
        kept = self._folder(task) / _IMAGES / (sha256(data).hexdigest() + ending)
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(data)
        return kept.name


def _item(row: Mapping[str, Any]) -> dict[str, Any]:
    """A request as a row of a benchmark: with options, if its text lists some and the target is one of them."""
    target = row["target"]
    item = {"id": row["item"], "question": row["question"], "images": row["images"]}
    options = _options(row["question"])
    word = str(target).strip()
    bare = word.strip("().").upper()
    if len(bare) == 1 and ord(bare) - ord("A") in range(len(options)):
        return item | {"options": options, "answer": bare}
    if word in options:
        return item | {"options": options, "answer": letter(options.index(word))}
    return item | {"answer": target if isinstance(target, str | list) or target is None else word}


def _options(text: str) -> list[str]:
    """The options of the last list A., B., … in a text."""
    found: list[str] = []
    for match in _OPTION.finditer(text):
        if match[1] == "A":
            found = []
        if match[1] == letter(len(found)):
            found.append(match[2])
    return found if len(found) > 1 else []


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
