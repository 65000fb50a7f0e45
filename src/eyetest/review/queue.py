"""The queue: one line for each item that waits for a person, as a table that any spreadsheet opens."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from itertools import count
from pathlib import Path

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.records import Item, Verdict, gold_text, letter
from eyetest.review.forms import load_form
from eyetest.store import replacing_file
from eyetest.tabular.sheets import sheet_text

QUEUE = "queue.csv"
DECISIONS = "decisions.csv"
_COLUMNS = ("item", "round", "stage", "reason", "question", "options", "gold", "images", "evidence", "form")
_OURS = f".{QUEUE}.sha256"
"""Beside the queue, the hash of what was written: whatever has another was changed by people."""


def write_queue(
    folder: Path,
    waiting: Iterable[Verdict],
    items: Mapping[str, Item],
    benchmark: Benchmark | Mapping[str, Benchmark],
    asked: Mapping[str, tuple[int, str]],
) -> Path | None:
    """Write the queue, stage by stage; ``asked`` has the round of each stage, and its form.

    Where a stage says how likely items are sound, those come first where looking is likeliest to change something.

    Pictures lie in ``benchmark``, or in that of each item.

    A queue that people have filled in is kept under another name, which is given back.
    """
    rows = []
    for verdict in _most_worth_first(waiting):
        item = items[verdict.item]
        number, form = asked[verdict.stage]
        home = benchmark if isinstance(benchmark, Benchmark) else benchmark[item.id]
        row = (
            *(item.id, number, verdict.stage, verdict.reason, item.question),
            "\n".join(f"{letter(i)}. {choice.text}" for i, choice in enumerate(item.choices)),
            gold_text(item),
            "\n".join(str(home.images.path(image).resolve()) for image in item.images),
            *(verdict.evidence, load_form(form).words if form else ""),
        )
        rows.append(row)
    content = sheet_text(_COLUMNS, rows).encode("utf-8", "replace")
    folder.mkdir(parents=True, exist_ok=True)
    kept = _keep_changed(folder, content)
    for name, told in ((QUEUE, content), (_OURS, _hash(content))):
        with replacing_file(folder / name) as new:
            new.write_bytes(told)
    return kept


class _Weighed(msgspec.Struct):
    """What `wrong-gold` says beside a verdict, as far as the queue cares."""

    states: dict[str, float] = {}


def _most_worth_first(waiting: Iterable[Verdict]) -> list[Verdict]:
    verdicts = list(waiting)
    stages = list(dict.fromkeys(verdict.stage for verdict in verdicts))
    return sorted(verdicts, key=lambda verdict: (stages.index(verdict.stage), _sound(verdict)))


def _sound(verdict: Verdict) -> float:
    """How likely the item is sound, by the verdict's evidence; for certain where it says nothing."""
    try:
        return msgspec.json.decode(verdict.evidence, type=_Weighed).states.get("sound", 1.0)
    except (msgspec.DecodeError, ValueError):
        return 1.0


def _keep_changed(folder: Path, new: bytes) -> Path | None:
    """A copy of the queue, where it is neither as it was written nor as it will be."""
    if not (folder / QUEUE).exists():
        return None
    old = (folder / QUEUE).read_bytes()
    known = (folder / _OURS).read_bytes() if (folder / _OURS).exists() else b""
    if old == new or _hash(old) == known:
        return None
    stem, suffix = QUEUE.split(".")
    free = (folder / f"{stem}-kept-{number}.{suffix}" for number in count(1))
    kept = next(path for path in free if not path.exists())
    with replacing_file(kept, overwrite=False) as copy:
        copy.write_bytes(old)
    return kept


def _hash(content: bytes) -> bytes:
    return sha256(content).hexdigest().encode()
