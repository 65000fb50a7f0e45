"""The queue: the order in which people see items, and a table of waiting items for spreadsheets."""

import math
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from itertools import count
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, nearest, param, short
from eyetest.measures.results import TAG
from eyetest.records import Item, Verdict, gold_text, letter
from eyetest.store import replacing_file
from eyetest.studio.forms import load_form
from eyetest.tabular.sheets import sheet_text

QUEUE = "queue.csv"
DECISIONS = "decisions.csv"
_COLUMNS = ("item", "round", "stage", "reason", "question", "options", "gold", "images", "evidence", "form")
_FINDING = 0.5  # how likely a finding of an audit is to change something
_OURS = f".{QUEUE}.sha256"  # the hash of the queue as written: one with another was changed by people


def write_queue(
    folder: Path,
    waiting: Iterable[Verdict],
    items: Mapping[str, Item],
    benchmark: Benchmark | Mapping[str, Benchmark],
    asked: Mapping[str, tuple[int, str]],
) -> Path | None:
    """Write the queue by stage, the least likely sound items first; returns the new name of one that was filled in.
    ``asked``: the round and form of each stage. ``benchmark``: the source of images, or that of each item.
    """
    rows, verdicts = [], list(waiting)
    stages = list(dict.fromkeys(verdict.stage for verdict in verdicts))
    for verdict in sorted(verdicts, key=lambda verdict: (stages.index(verdict.stage), -_ratio(verdict))):
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
    for name, data in ((QUEUE, content), (_OURS, _hash(content))):
        with replacing_file(folder / name) as new:
            new.write_bytes(data)
    return kept


class _Weighed(msgspec.Struct, rename={"ratio": "log ratio"}):
    ratio: float = -math.inf


def _ratio(verdict: Verdict) -> float:
    """Evidence of votes against the gold, from the verdict; −∞ where it has no such figure."""
    try:
        return msgspec.json.decode(verdict.evidence, type=_Weighed).ratio
    except (msgspec.DecodeError, ValueError):
        return -math.inf


def _keep_changed(folder: Path, new: bytes) -> Path | None:
    """A copy of the queue, if it is neither as it was written nor as it will be."""
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


def by_suspicion(items: pl.DataFrame, ids: Collection[str], per: str = "", seed: int = 0) -> list[str]:
    """Items by need of review: sent by a stage, ``doubt`` (log ratio), findings, difficulty; ``per`` alternates."""
    table = items.filter(pl.col("id").is_in(pl.Series(list(ids), dtype=pl.String).implode())).sort("id")
    shuffled = np.random.default_rng(seed).permutation(len(table))
    findings = pl.col("findings").list.len().fill_null(0)
    doubted = 1 / (1 + pl.col("doubt").exp()) if "doubt" in items.columns else pl.lit(1.0)
    keys = [
        (pl.col("verdict") == "review").fill_null(value=False),
        1 - doubted.fill_null(1.0) * (1 - _FINDING) ** findings,
        *([pl.col("difficulty")] if "difficulty" in items.columns else []),
    ]
    ordered = table.with_columns(pl.Series("__random", shuffled)).sort(
        *keys, "__random", descending=[True] * len(keys) + [False], nulls_last=True
    )
    if per:
        refuse_unknown_tag(items, per)
        turn = pl.int_range(pl.len()).over(TAG + per)
        ordered = ordered.with_columns(__turn=turn).sort("__turn", maintain_order=True)
    return ordered.get_column("id").to_list()


def refuse_unknown_tag(items: pl.DataFrame, tag: str) -> None:
    """Refuse a tag that no item has, and name the nearest."""
    tags = [name.removeprefix(TAG) for name in items.columns if name.startswith(TAG)]
    if tag not in tags:
        hint = nearest(tag, tags) if tags else "no item has a tag"
        raise InputError(f"{param('per')}: no tag {short(tag)}; {hint}")


def drawn(ids: Iterable[str], count: int, seed: int = 0) -> list[str]:
    """A random sample of items, fixed by the seed."""
    every = sorted(ids)
    return [every[number] for number in np.random.default_rng(seed).permutation(len(every))[:count]]
