"""Real replies to choice questions, with the options as the model was shown them."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from eyetest.scoring.rules import Reply

LABELLED = ("dev", "dev3", "dev3_forms")


class RealReply(NamedTuple):
    """A reply, where it comes from, and how a careful person reads it, where somebody has."""

    source: str
    reply: Reply
    label: str = ""
    alternatives: tuple[str, ...] = ()
    drawn: str = ""


def read_replies(shared: Path | None, files: Iterable[Path]) -> Iterator[RealReply]:
    """Every reply of the shared folder and of further files in the format of ``replies/dev.jsonl``."""
    if shared:
        yield from _mathvista(shared / "data" / "mathvista")
        yield from _mmmu_pro(shared / "data" / "mmmu_pro")
        files = [*(shared / "data" / "replies" / f"{name}.jsonl" for name in LABELLED), *files]
    for path in files:
        yield from read_labelled(path)


def read_labelled(path: Path) -> Iterator[RealReply]:
    """The replies of one file, one JSON object a line."""
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        style = row.get("letters") or row["marks"]
        letters = "upper" if style == "none" else style
        reply = Reply(row["reply"], tuple(row["options"]), letters, question=row.get("question") or "")
        yield RealReply(row["source"], reply, row.get("label", ""), tuple(row.get("alt", ())), row.get("drawn", ""))


def _mathvista(folder: Path) -> Iterator[RealReply]:
    options = {item["id"]: item["options"] for item in _items(folder) if item["options"]}
    table = pq.read_table(folder / "predictions.parquet", columns=["item_id", "raw_output"])
    for item, text in zip(table["item_id"].to_pylist(), table["raw_output"].to_pylist(), strict=True):
        if item in options:
            yield RealReply("mathvista", Reply(text or "", tuple(options[item])))


def _mmmu_pro(folder: Path) -> Iterator[RealReply]:
    items = {item["id"]: item for item in _items(folder)}
    columns = ["item_id", "model", "variant", "raw_output"]
    table = pq.read_table(folder / "predictions.parquet", columns=columns)
    for item, model, variant, text in zip(*(table[name].to_pylist() for name in columns), strict=True):
        shown = "options" if variant == "standard4" else "options10_final" if "release" in model else "options10"
        yield RealReply("mmmu_pro", Reply(text or "", tuple(items[item][shown])))


def _items(folder: Path) -> Iterator[dict[str, list[str] | str]]:
    return map(json.loads, (folder / "items.jsonl").read_text("utf-8").splitlines())
