"""Requests of another harness on disk, as they are answered, and as a benchmark and a run of eyetest."""

import atexit
import io
import os
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks.media import media_of_value
from eyetest.commands.base import new_path
from eyetest.commands.exchange import import_file
from eyetest.commands.options import AnyPath
from eyetest.errors import InputError, system_words
from eyetest.records import Media, letter
from eyetest.records.notices import failure_notice
from eyetest.runs import Run
from eyetest.store import replacing_file, store_of
from eyetest.store.files import BusyError

_REQUESTS, _IMAGES, _LOCK = "requests.jsonl", "images", "lock"
_OPTION = re.compile(r"^\s*\(?([A-Z])[.):]\)?\s+(\S.*?)\s*$", re.MULTILINE)
_UNSAFE = re.compile(r"^$|^\.+|[^\w.+-]+")
_IMAGE = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
_HELD = ExitStack()  # locks, until the process ends
atexit.register(_HELD.close)


class Recorder:
    """Stores every request with its reply in ``TO/TASK/requests.jsonl`` before the harness gets the reply."""

    def __init__(self, to: AnyPath, model: str) -> None:
        self.to, self.model = new_path(to, "to"), model
        self._replies: dict[str, dict[str, Any]] = {}  # by task, the reply to each request that was stored
        self._asked: Counter[tuple[str, str, str]] = Counter()

    def known(self, task: str, request: Mapping[str, Any]) -> Any:
        """The stored reply to a request, or None; the same request again is its next sample."""
        reply = self._known(task).get(request["request"])
        return None if isinstance(reply, str) and failure_notice(reply) else reply

    def request(
        self, task: str, item: str, asked: str, images: Sequence[Any], target: Any = None, more: Any = ()
    ) -> dict[str, Any]:
        """A request, identified by its content: the text as sent, PIL images or files of images, gold, settings."""
        shown = [name for name in (self._image(task, image) for image in images) if name]
        media = [medium for image in images for medium in _media(image)]
        about = {
            "model": self.model,
            "item": item,
            "question": asked,
            "images": shown,
            "target": target,
            "more": more,
        }
        about |= {"media": msgspec.to_builtins(media)} if media else {}
        content = sha256(msgspec.json.encode(about)).hexdigest()[:32]
        sample = self._asked[task, item, content]
        self._asked[task, item, content] += 1
        return about | {"sample": sample, "request": f"{content}-{sample}"}

    def add(self, task: str, request: Mapping[str, Any], reply: Any) -> None:
        """Store a reply; it is on disk when this returns."""
        known = self._known(task)
        with (self._folder(task) / _REQUESTS).open("ab") as file:
            file.write(msgspec.json.encode({**request, "reply": reply}) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        known[request["request"]] = reply

    def run(self, task: str) -> Run:
        """What was recorded of a task as a benchmark and a run beside it, for every command of eyetest."""
        folder, rows = self._folder(task), self._stored(task)
        texts = [row for row in rows if isinstance(row["reply"], str)]
        if not texts:
            raise InputError(f"{folder} holds no replies in words, so there is nothing to score")
        items = {row["item"]: row for row in texts}
        order = sorted(items, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0))
        columns = ("item", "model", "sample")
        last = {tuple(row[name] for name in columns): row for row in texts}
        answers = [{name: row[name] for name in columns} | {"text": row["reply"]} for row in last.values()]
        lines = msgspec.json.Encoder().encode_lines
        (folder / "items.jsonl").write_bytes(lines([_item(items[name]) for name in order]))
        (folder / "answers.jsonl").write_bytes(lines(answers))
        shutil.rmtree(folder / "run", ignore_errors=True)  # made anew of the requests, as is the benchmark
        (folder / _IMAGES).mkdir(exist_ok=True)
        given: dict[str, Any] = {"images": folder / _IMAGES, "gold_style": "letter", "allow_missing": "gold"}
        import_file(folder / "items.jsonl", to=folder / "benchmark", **given, overwrite=True)
        import_file(folder / "answers.jsonl", to=folder / "run", bench=folder / "benchmark")
        return Run(folder / "run")

    def _folder(self, task: str) -> Path:
        return self.to / _UNSAFE.sub("_", task)

    def _known(self, task: str) -> dict[str, Any]:
        """The stored reply to each request of a task, which no other process can record from now on."""
        if task not in self._replies:
            _claim(self._folder(task).absolute())
            rows = self._stored(task, cut=True)
            self._replies[task] = {row["request"]: row["reply"] for row in rows if row["model"] == self.model}
        return self._replies[task]

    def _stored(self, task: str, *, cut: bool = False) -> list[dict[str, Any]]:
        """The stored requests without a last line that a kill has cut off; ``cut``: remove it from the file."""
        path = self._folder(task) / _REQUESTS
        data = path.read_bytes() if path.exists() else b""
        end = data.rfind(b"\n") + 1
        if cut and end < len(data):
            os.truncate(path, end)
        return msgspec.json.Decoder(dict[str, Any]).decode_lines(data[:end])

    def _image(self, task: str, image: Any) -> str:
        """The file of an image among the task's; empty for a video, a sound or a url."""
        if isinstance(image, str | Path):
            path = Path(image)
            if path.suffix.lower() not in _IMAGE or not os.path.isfile(path):  # noqa: PTH113 (a long url is no error)
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
            with replacing_file(kept) as path:
                path.write_bytes(data)
        return kept.name


def _media(shown: Any) -> list[Media]:
    """The video, sound or document that a harness shows by its path or address, or as the samples of a sound."""
    if isinstance(shown, str | Path):
        return media_of_value(str(shown))
    if isinstance(shown, Mapping) and "sampling_rate" in shown:
        return [Media("audio", str(shown.get("path") or "samples"))]
    return []


@cache
def _claim(folder: Path) -> None:
    """Lock a folder until this process ends; another process that records there is refused."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _HELD.enter_context(store_of(folder).lock(folder / _LOCK))
    except OSError as error:
        raise InputError(f"cannot write {folder}: {system_words(error)}") from None
    except BusyError as error:
        raise InputError(f"{folder} {error}") from None


def _item(row: Mapping[str, Any]) -> dict[str, Any]:
    """A request as a row of a benchmark: with options, if its text lists some and the target is one of them."""
    target = row["target"]
    item = {"id": row["item"], "question": row["question"], "images": row["images"]}
    item |= {"eyetest": {"media": row["media"]}} if row.get("media") else {}
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
