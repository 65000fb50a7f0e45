"""Can it be read? An OCR engine reads a finished page back, part by part, and each part is held to its text.

Where a word lies decides to which part it belongs; of a photograph, where it would lie on the flat page. A part that
is misread on the page is read once more by itself, cut out, laid flat and enlarged: engines lose single letters and
lines beside pictures, and that is not the page's fault.
"""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from PIL import Image

from eyetest.harden.screenshot.composed import Box, Composed
from eyetest.harden.screenshot.photo_camera import Taken
from eyetest.ocr import Engine, ReadLine, ReadWord, scripts_of
from eyetest.records import letter
from eyetest.scoring.metrics.same_text import edit_similarity

PartKey = tuple[str, int]
"""A kind of part and its number: ("option", 3)."""
_JUDGED = ("question", "hint", "option")
_AROUND = 4
"""Pixels around a part that belong to it, and around its cut-out."""
_ENLARGED = 2
_SHORT = 8
"""Letters below which a part is too short to be judged by itself."""
_TYPEWRITTEN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\u200b": ""})
"""What engines and typesetters write in either way."""
_BRACKETS = "([{)]}.:"


class PartLegibility(msgspec.Struct, frozen=True, kw_only=True):
    """How well one part of an item's page can be read; a row of ``legibility.parquet``."""

    item: str
    part: str
    number: int
    similarity: float | None
    """1 − edit distance / longer length on texts with single blanks; None where the part is not judged."""
    unjudged: str = ""
    """Why not: formula, table, script, or no words."""
    length: int = 0
    read: str = ""


def expected_text(blocks: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """What is to be read of a part's blocks, and why it cannot be judged, if so."""
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
        elif block["kind"] != "picture":
            return "", "formula"
    text = " ".join(" ".join(texts).translate(_TYPEWRITTEN).split())
    if any(_is_of_formulas(one) for one in text):
        return text, "formula"
    return text, "" if text else "no words"


def _is_of_formulas(sign: str) -> bool:
    """Whether engines that read words cannot be expected to know it: ``∑``, ``²``, the backslash of a command."""
    return sign == "\\" or (not sign.isascii() and unicodedata.category(sign) in ("Sm", "No"))


def read_back(
    item: str, composed: Composed, parts: Mapping[PartKey, Sequence[Mapping[str, Any]]], engine: Engine, enough: float
) -> list[PartLegibility]:
    """How well each part of a page can be read; those that reach ``enough`` at first sight are not read again."""
    boxes = composed.flat if isinstance(composed, Taken) else composed.boxes
    page = _shares(engine.read(composed.picture), boxes, _way_to_page(composed))
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
    """The similarity of the part that is read worst, short ones taken together; None where none is judged.

    Of a number with three digits one misread is a third, and engines misread single letters of any page.
    """
    judged = [(row.length, row.similarity) for row in rows if row.similarity is not None]
    short = [similarity for length, similarity in judged if length < _SHORT]
    together = [sum(short) / len(short)] if short else []
    return min([*together, *(similarity for length, similarity in judged if length >= _SHORT)], default=None)


def _compared(row: PartLegibility, text: str, read: str) -> PartLegibility:
    said = " ".join(read.translate(_TYPEWRITTEN).split())
    readings = [said, _unmarked(said, row.number)] if row.part == "option" else [said]
    similarity, best = max((edit_similarity(one, text), one) for one in readings)
    return msgspec.structs.replace(row, similarity=similarity, read=best)


def _unmarked(read: str, number: int) -> str:
    """An option without its own mark before it."""
    bare = read.lstrip(_BRACKETS)
    mark = letter(number - 1)
    return bare[1:].lstrip(_BRACKETS + " ") if bare[:1].upper() == mark else read


def _way_to_page(composed: Composed) -> Callable[[ReadWord], tuple[float, float]]:
    """From a word to the place on the flat page where its middle comes from."""
    if not isinstance(composed, Taken):
        return lambda word: word.middle
    camera = composed.camera

    def back(word: ReadWord) -> tuple[float, float]:
        x, y = camera.source(np.array([word.middle]))[0]
        return float(x), float(y)

    return back


def _shares(
    lines: Iterable[ReadLine], boxes: Sequence[Box], way: Callable[[ReadWord], tuple[float, float]]
) -> dict[PartKey, str]:
    """What was read within each box. A word belongs to the smallest box around its middle."""
    rows: dict[PartKey, list[tuple[float, float, float, str]]] = {}
    for line in lines:
        shares: dict[PartKey, list[tuple[float, float, str]]] = {}
        for word in line.words:
            x, y = way(word)
            if (box := _around(boxes, x, y)) is not None:
                shares.setdefault((box.part, box.number), []).append((x, y, word.text))
        height = np.median([word.bottom - word.top for word in line.words])
        for key, words in shares.items():
            text = " ".join(word for _, _, word in words)
            rows.setdefault(key, []).append((float(np.mean([y for _, y, _ in words])), words[0][0], height, text))
    return {key: " ".join(_in_order(pieces)) for key, pieces in rows.items()}


def _around(boxes: Sequence[Box], x: float, y: float) -> Box | None:
    around = [
        box
        for box in boxes
        if box.left - _AROUND <= x <= box.right + _AROUND and box.top - _AROUND <= y <= box.bottom + _AROUND
    ]
    return min(around, key=lambda box: (box.right - box.left) * (box.bottom - box.top), default=None)


def _in_order(pieces: list[tuple[float, float, float, str]]) -> list[str]:
    """Pieces of lines from top to bottom, and those of one height from left to right."""
    rows: list[list[tuple[float, float, float, str]]] = []
    for piece in sorted(pieces):
        if rows and piece[0] - rows[-1][0][0] < 0.5 * piece[2]:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [piece[3] for row in rows for piece in sorted(row, key=lambda one: one[1])]


def _cut_out(composed: Composed, box: Box) -> Image.Image:
    """A part by itself, flat and enlarged, with some room around it."""
    left, top, right, bottom = box.left - _AROUND, box.top - _AROUND, box.right + _AROUND, box.bottom + _AROUND
    corners = np.array([(left, top), (left, bottom), (right, bottom), (right, top)], float)
    if isinstance(composed, Taken):
        corners = composed.camera.seen(corners)
    size = (max(1, round(_ENLARGED * (right - left))), max(1, round(_ENLARGED * (bottom - top))))
    quad = tuple(float(value) for corner in corners for value in corner)
    return composed.picture.transform(size, Image.Transform.QUAD, quad, Image.Resampling.BICUBIC)
