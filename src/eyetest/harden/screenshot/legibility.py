"""Legibility: OCR of a page, compared part by part; misread parts are read again, cut out and enlarged."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from PIL import Image

from eyetest.harden.screenshot.page import Box, Composed
from eyetest.harden.screenshot.photo import Taken
from eyetest.ocr import Engine, ReadLine, scripts_of
from eyetest.records import letter
from eyetest.scoring.metrics.same_text import edit_similarity

PartKey = tuple[str, int]  # kind of part and its number: ("option", 3)
_JUDGED = ("question", "hint", "option")
_AROUND = 4  # pixels around a part that belong to it, and around its cut-out
_ENLARGED = 2
_SHORT = 8  # letters below which a part is too short to be judged by itself
# Variants that engines and typesetters use interchangeably
_TYPEWRITTEN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\u200b": ""})
_BRACKETS = "([{)]}.:"


class PartLegibility(msgspec.Struct, frozen=True, kw_only=True):
    """How well one part of an item's page can be read; a row of ``legibility.parquet``."""

    item: str
    part: str
    number: int
    similarity: float | None
    """1 − edit distance / longer length, on texts with single blanks; None where the part is not judged."""
    unjudged: str = ""  # why not: formula, table, script, or no words
    length: int = 0
    read: str = ""


def expected_text(blocks: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """Text expected of a part's blocks, and why it cannot be judged, if so."""
    texts: list[str] = []
    for block in blocks:
        if block["kind"] == "table":
            return "", "table"
        if block["kind"] == "code":
            texts.append(block["text"])
        elif block["kind"] == "paragraph":
            if any(not isinstance(run, str) for run in block["runs"]):
                return "", "formula"
            texts += block["runs"]
        elif block["kind"] != "image":
            return "", "formula"
    text = " ".join(" ".join(texts).translate(_TYPEWRITTEN).split())
    if "\\" in text or any(unicodedata.category(sign) in ("Sm", "No") for sign in text if not sign.isascii()):
        return text, "formula"  # engines that read words do not know ∑, ², or the backslash of a command
    return text, "" if text else "no words"


def read_back(
    item: str, composed: Composed, parts: Mapping[PartKey, Sequence[Mapping[str, Any]]], engine: Engine, enough: float
) -> list[PartLegibility]:
    """Legibility of each part of a page; those that reach ``enough`` at first are not read again."""
    boxes = composed.flat if isinstance(composed, Taken) else composed.boxes
    page = _shares(engine.read(composed.image), boxes, composed)
    known = engine.scripts()
    by_key = {(box.part, box.number): box for box in boxes}
    judged = []
    for (part, number), blocks in parts.items():
        if part not in _JUDGED or not blocks:
            continue
        text, why = expected_text(blocks)
        why = why or ("script" if scripts_of(text) - known else "")
        row = PartLegibility(item=item, part=part, number=number, similarity=None, unjudged=why, length=len(text))
        if not why:
            row = _compared(row, text, page.get((part, number), ""))
            if (row.similarity or 0.0) < enough and (box := by_key.get((part, number))):
                again = " ".join(line.text for line in engine.read(_cut_out(composed, box)))
                row = max(row, _compared(row, text, again), key=lambda one: one.similarity or 0.0)
        judged.append(row)
    return judged


def lowest(rows: Iterable[PartLegibility]) -> float | None:
    """The lowest similarity of a part, with short parts averaged; None where none is judged."""
    judged = [(row.length, row.similarity) for row in rows if row.similarity is not None]
    short = [similarity for length, similarity in judged if length < _SHORT]
    long = [similarity for length, similarity in judged if length >= _SHORT]
    return min([*long, *([sum(short) / len(short)] if short else [])], default=None)


def _compared(row: PartLegibility, text: str, read: str) -> PartLegibility:
    readings = [" ".join(read.translate(_TYPEWRITTEN).split())]
    bare = readings[0].lstrip(_BRACKETS)
    if row.part == "option" and bare[:1].upper() == letter(row.number - 1):  # its own mark stands before it
        readings.append(bare[1:].lstrip(_BRACKETS + " "))
    similarity, best = max((edit_similarity(reading, text), reading) for reading in readings)
    return msgspec.structs.replace(row, similarity=similarity, read=best)


def _shares(lines: Iterable[ReadLine], boxes: Sequence[Box], composed: Composed) -> dict[PartKey, str]:
    """Text read within each box. A word belongs to the smallest box around its middle."""
    rows: dict[PartKey, list[tuple[float, float, float, str]]] = {}
    for line in lines:
        shares: dict[PartKey, list[tuple[float, float, str]]] = {}
        for word in line.words:
            x, y = word.middle
            if isinstance(composed, Taken):  # the position on the flat page
                x, y = map(float, composed.camera.source(np.array([word.middle]))[0])
            if (box := _around(boxes, x, y)) is not None:
                shares.setdefault((box.part, box.number), []).append((x, y, word.text))
        height = np.median([word.bottom - word.top for word in line.words])
        for key, words in shares.items():
            text = " ".join(word for _, _, word in words)
            rows.setdefault(key, []).append((float(np.mean([y for _, y, _ in words])), words[0][0], height, text))
    return {key: " ".join(_in_order(pieces)) for key, pieces in rows.items()}


def _around(boxes: Sequence[Box], x: float, y: float) -> Box | None:
    def holds(box: Box) -> bool:
        return min(x - box.left, box.right - x, y - box.top, box.bottom - y) >= -_AROUND

    return min(filter(holds, boxes), key=lambda b: (b.right - b.left) * (b.bottom - b.top), default=None)


def _in_order(pieces: list[tuple[float, float, float, str]]) -> list[str]:
    """Pieces of lines from top to bottom, those of one height from left to right."""
    rows: list[list[tuple[float, float, float, str]]] = []
    for piece in sorted(pieces):
        if rows and piece[0] - rows[-1][0][0] < 0.5 * piece[2]:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [piece[3] for row in rows for piece in sorted(row, key=lambda one: one[1])]


def _cut_out(composed: Composed, box: Box) -> Image.Image:
    """A part by itself, flat and enlarged, with a margin."""
    left, top, right, bottom = box.left - _AROUND, box.top - _AROUND, box.right + _AROUND, box.bottom + _AROUND
    corners = np.array([(left, top), (left, bottom), (right, bottom), (right, top)], float)
    if isinstance(composed, Taken):
        corners = composed.camera.seen(corners)
    size = (max(1, round(_ENLARGED * (right - left))), max(1, round(_ENLARGED * (bottom - top))))
    quad = tuple(float(value) for corner in corners for value in corner)
    return composed.image.transform(size, Image.Transform.QUAD, quad, Image.Resampling.BICUBIC)
