"""Vectors of a benchmark's items, computed once for each content, and the nearest items by cosine."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import EMBEDDINGS
from eyetest.errors import InputError, heading
from eyetest.probes.images import ALIKE, MOST_PAIRS, Ints, in_parallel, overlaid_likeness
from eyetest.probes.subject import Progress
from eyetest.records import PLACEHOLDER, ImageRef, tag_word
from eyetest.similarity.encoders import Encoder, Floats, Of, make_encoder
from eyetest.store import replacing_file
from eyetest.tabular.record_files import array, read_parquet, write_parquet
from eyetest.text import folded

PARTS: Mapping[str, tuple[Of, ...]] = {"text": ("text",), "image": ("image",), "both": ("text", "image")}
SOURCE = "benchmark"  # the tag of a pool that names where an item is from

_CHUNK: Mapping[Of, int] = {"text": 1024, "image": 64}
_CELLS = 2**23  # cosines that are computed together: 32 MB
_KINDS = {  # by how alike texts are (2: in the same words) and whether images are the same
    (2, True): "duplicate", (2, False): "same question", (1, True): "near-duplicate", (1, False): "near-paraphrase",
    (0, True): "same image", (0, False): "",
}  # fmt: skip
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Compared(NamedTuple):
    """An item as it is compared; items of one group are not compared with each other."""

    id: str
    text: str
    images: tuple[ImageRef, ...]
    group: str


class Vectors(NamedTuple):
    """Items, and for texts and images a table with a row for each: of length 1, or 0 where there is nothing."""

    benchmark: Benchmark
    items: list[Compared]
    parts: dict[Of, Floats]
    encoders: dict[Of, Encoder]

    def together(self) -> Floats:
        """All parts side by side: their cosine is the mean of the parts'; a part that one item lacks counts 0."""
        return _normalised(np.hstack(list(self.parts.values())))


def collect(benchmark: Benchmark, compare: str) -> list[Compared]:
    """The items. In a pool, those of one source are a group; else variations of a question, or one image."""
    items, sources = [], []
    for item in benchmark:
        own = item.images[0].sha256 if compare == "image" and item.images else item.group or item.id
        items.append(Compared(item.id, " ".join(PLACEHOLDER.sub(" ", item.question).split()), item.images, own))
        sources.append(tag_word(item.tags.get(SOURCE)) or "")
    if len(set(sources)) < 2:
        return items
    return [item._replace(group=source) for item, source in zip(items, sources, strict=True)]


def embed(benchmark: Benchmark, specs: Mapping[Of, str], compare: str, progress: Progress) -> Vectors:
    """The vectors of all items; what an encoder has encoded before is read from the benchmark's folder."""
    made = Vectors(benchmark, collect(benchmark, compare), {}, {})
    for of in PARTS[compare]:
        made.encoders[of] = make_encoder(of, specs[of])
        keyed: list[list[tuple[str, Callable[[], Any]]]] = [
            [(image.sha256, partial(benchmark.images.read, image)) for image in item.images]
            if of == "image"
            else [(hashlib.sha256(item.text.encode("utf-8", "replace")).hexdigest(), partial(str, item.text))]
            for item in made.items
        ]
        step = partial(progress, f"encoding {of}s")
        row_of, rows = _encoded(benchmark.path, made.encoders[of], dict(chain.from_iterable(keyed)), _CHUNK[of], step)
        owners = np.repeat(np.arange(len(keyed)), [len(own) for own in keyed])
        means = np.zeros((len(keyed), rows.shape[1]), np.float32)
        np.add.at(means, owners, rows[[row_of[key] for key, _ in chain.from_iterable(keyed)]])
        made.parts[of] = _normalised(means)
    return made


def _normalised(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


def _encoded(
    folder: Path,
    encoder: Encoder,
    contents: Mapping[str, Callable[[], Any]],
    size: int,
    step: Callable[[float], None],
) -> tuple[dict[str, int], Floats]:
    """The row of each key, and all rows. New vectors are stored at the end, also where an encoder fails."""
    file = folder / EMBEDDINGS / (re.sub(r"[^\w.]+", "-", encoder.name) + ".parquet")
    known, rows = _stored(file)
    missing, made = [key for key in contents if key not in known], [rows]
    try:
        for start in range(0, len(missing), size):
            chunk = missing[start : start + size]
            new = np.zeros((0, 0), np.float32)
            with suppress(ValueError):  # rows of several lengths
                new = np.asarray(encoder.encode([contents[key]() for key in chunk]), np.float32)
            width = made[-1].shape[1] if known else new.shape[-1]
            if new.shape != (len(chunk), width) or not np.isfinite(new).all():
                wrong = f"{encoder.name}: not a row of numbers for each input, or not as many as in {file}"
                raise InputError(f"{heading('encoder')}: {wrong}")
            made.append(_normalised(new).astype(np.float16))
            known |= {key: len(known) + number for number, key in enumerate(chunk)}
            step(len(known) / (len(known) + len(missing) - start - len(chunk)))
    finally:
        if len(made) > 1:
            _store(file, known, made)
    return known, np.concatenate(made[not len(rows) and len(made) > 1 :]).astype(np.float32)


def _stored(file: Path) -> tuple[dict[str, int], npt.NDArray[np.float16]]:
    """What an encoder has encoded before; nothing where the file is damaged or not there."""
    with suppress(InputError, OSError, KeyError, ValueError, pa.ArrowException):
        table = read_parquet(file)
        keys = table.column("key").to_pylist()
        rows = np.frombuffer(b"".join(table.column("vector").to_pylist()), np.float16).reshape(len(keys), -1)
        if keys and np.isfinite(rows).all():
            return {key: row for row, key in enumerate(keys)}, rows
    return {}, np.zeros((0, 1), np.float16)


def _store(file: Path, keys: Mapping[str, int], made: Sequence[npt.NDArray[np.float16]]) -> None:
    rows = np.concatenate([part for part in made if len(part)])
    kind = pa.binary(rows.itemsize * rows.shape[1])
    cells = pa.FixedSizeBinaryArray.from_buffers(kind, len(rows), [None, pa.py_buffer(rows)])
    with suppress(OSError):  # items of a folder that may not be written to are compared all the same
        file.parent.mkdir(exist_ok=True)
        with replacing_file(file) as temporary:
            write_parquet(pa.table({"key": array(list(keys), pa.string()), "vector": cells}), temporary)


def nearest_rows(own: Floats, other: Floats, count: int, groups: Sequence[Ints] = ()) -> tuple[Ints, Floats]:
    """For each row the ``count`` rows of the other table with the highest cosines, best first, and these.

    Cosines are computed for some rows at a time; within a group they count as −inf.
    """
    count, rows = min(count, len(other)), max(1, _CELLS // max(1, len(other)))
    found, scores = np.zeros((len(own), count), np.intp), np.zeros((len(own), count), np.float32)
    for top in range(0, len(own), rows):
        here = slice(top, top + rows)
        block = own[here] @ other.T
        if groups:
            block[groups[0][here, None] == groups[1]] = -np.inf
        best = np.argpartition(-block, count - 1, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(block, best, 1), axis=1, kind="stable")
        found[here] = np.take_along_axis(best, order, 1)
        scores[here] = np.take_along_axis(block, found[here], 1)
    return found, scores


def nearest_pairs(own: Vectors, other: Vectors | None, count: int) -> pl.DataFrame:
    """Each item with the nearest of another benchmark, or of its own, where a pair counts once; best first.

    ``kind``: same question (in the same words), near-paraphrase (close texts with the same numbers), same image;
    with the same image duplicate and near-duplicate.
    """
    table, groups = own.together(), list[Ints]()
    if other is None:
        groups = [np.unique([item.group for item in own.items], return_inverse=True)[1]] * 2
    found, scores = nearest_rows(table, table if other is None else other.together(), count, groups)
    pairs = pl.DataFrame({"row": np.repeat(np.arange(len(found)), found.shape[1]), "column": found.ravel()})
    pairs = pairs.with_columns(score=scores.ravel()).filter(pl.col("score").is_finite())
    if other is None:
        ends = pl.min_horizontal("row", "column"), pl.max_horizontal("row", "column")
        pairs = pairs.unique([ends[0].alias("low"), ends[1].alias("high")], keep="first", maintain_order=True)
    pairs = pairs.sort("score", descending=True, maintain_order=True)
    sides = [(own, pairs["row"].to_list()), (other or own, pairs["column"].to_list())]
    ones, twos = ([side.items[row] for row in rows] for side, rows in sides)
    cosines: dict[str, Floats] = {
        of: np.einsum("ij,ij->i", *(side.parts[of][rows] for side, rows in sides)).astype(np.float32)
        for of in own.parts
    }
    level = own.encoders["text"].alike if "text" in cosines else None
    close = cosines["text"] >= level if level is not None else [False] * len(ones)
    same_text = [
        2 if folded(a.text) == folded(b.text) else int(near and _numbers(a.text) == _numbers(b.text))
        for near, a, b in zip(close, ones, twos, strict=True)
    ]
    likely = np.array(same_text, bool)
    if "image" in cosines:
        likely = cosines["image"] >= (own.encoders["image"].alike or -1.0)
    same_image = _same_images(ones, twos, [side.benchmark for side, _ in sides], likely.tolist())
    return pl.DataFrame(
        {
            "item": [item.id for item in ones],
            "other": [item.id for item in twos],
            "score": pairs["score"],
            **(cosines if len(cosines) > 1 else {}),
            "kind": [_KINDS[both] for both in zip(same_text, same_image, strict=True)],
            "question": [item.text for item in ones],
            "other_question": [item.text for item in twos],
        }
    )


def _numbers(text: str) -> set[str]:
    """The numbers of a text: questions about 2015 and 2021 are close, but not the same."""
    return set(_NUMBER.findall(text))


def _same_images(
    ones: Sequence[Compared], twos: Sequence[Compared], benchmarks: Sequence[Benchmark], likely: Sequence[bool]
) -> list[bool]:
    """Whether two items show the same image, perhaps in other bytes; likely pairs are laid over each other."""
    shown = [(one.images, two.images) for one, two in zip(ones, twos, strict=True)]
    same = [not {i.sha256 for i in one}.isdisjoint(i.sha256 for i in two) for one, two in shown]
    close = [n for n, images in enumerate(shown) if likely[n] and all(images) and not same[n]][:MOST_PAIRS]

    def agree(number: int) -> bool:
        reads = [partial(b.images.read, images[0]) for b, images in zip(benchmarks, shown[number], strict=True)]
        return overlaid_likeness(*reads) >= ALIKE

    for number, found in zip(close, in_parallel(agree, close), strict=True):
        same[number] = found
    return same


def matching(reference: Vectors, own: Vectors, pool: Sequence[str], size: int) -> set[str]:
    """So many items of a pool: the nearest of each item of a reference set, then the second nearest, …"""
    wanted = set(pool)
    rows = [row for row, item in enumerate(own.items) if item.id in wanted]
    tables, depth, taken = (reference.together(), own.together()[rows]), 0, list[int]()
    while len(taken) < size:
        depth = min(max(2 * depth, -(-2 * size // len(tables[0]))), len(rows))
        found, scores = nearest_rows(*tables, depth)
        order = np.argsort(-scores, axis=0, kind="stable")
        taken = list(dict.fromkeys(np.take_along_axis(found, order, axis=0).T.ravel().tolist()))
    return {own.items[rows[place]].id for place in taken[:size]}
