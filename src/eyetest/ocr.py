"""Text in images by local engines: Debian's tesseract, and PyPI's rapidocr with the models of its wheel."""

import csv
import importlib.util
import io
import os
import re
import shutil
import subprocess
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from PIL import Image

from eyetest.errors import InputError, MissingExtraError, nearest


class ReadWord(NamedTuple):
    """A word as an engine reads it, and its box in pixels of the image."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> tuple[float, float]:
        """The centre of the box."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2


class ReadLine(NamedTuple):
    """A line of words in reading order."""

    words: tuple[ReadWord, ...]

    @property
    def text(self) -> str:
        """The words as one text."""
        return " ".join(word.text for word in self.words)


class Engine(Protocol):
    """A way to read images."""

    name: str

    def missing(self) -> str:
        """What has to be installed before it can be used; empty if nothing."""
        ...

    def scripts(self) -> frozenset[str]:
        """The scripts it can read, by Unicode name in lower case: latin, cjk, hangul …"""
        ...

    def read(self, image: Image.Image) -> Sequence[ReadLine]:
        """The lines of an image."""
        ...


def scripts_of(text: str) -> frozenset[str]:
    """The scripts of a text's letters, by Unicode name; digits, letters and signs belong to none."""
    return frozenset(script for letter in set(text) if (script := _script(letter)))


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "unknown").split()[0].lower() if letter.isalpha() else ""


def choose_engine(name: str = "") -> Engine:
    """The engine of a name, or the first available; without one, an error of one line says what to install."""
    if name and name not in ENGINES:
        raise InputError(f'no OCR engine named "{name}"; {nearest(name, ENGINES)}')
    engines = [ENGINES[name]] if name else list(ENGINES.values())
    missing = [engine.missing() for engine in engines]
    if "" in missing:
        return engines[missing.index("")]
    what = f"the OCR engine {name}" if name else "no OCR engine"
    raise MissingExtraError(f"{what} is {'not ' if name else ''}installed: {' or '.join(missing)}")


_SECONDS = 120
_SPARSE = "11"  # the layout mode for sparse text: the others lose short options, and lines beside images
_LARGE, _ENLARGED = 1_500_000, 1.5  # pages of fewer pixels are enlarged by this factor, else small letters are lost
_LINE = ("block_num", "par_num", "line_num")


class Tesseract:
    """The program, run once per image, in English."""

    name = "tesseract"

    def missing(self) -> str:
        """Whether the program is missing."""
        return "" if shutil.which("tesseract") else "apt-get install tesseract-ocr"

    def scripts(self) -> frozenset[str]:
        """Latin alone."""
        return frozenset(("latin",))

    def read(self, image: Image.Image) -> Sequence[ReadLine]:
        """The lines of an image, unordered."""
        scale = 1.0 if image.width * image.height >= _LARGE else _ENLARGED
        size = round(image.width * scale), round(image.height * scale)
        file = io.BytesIO()
        image.resize(size, Image.Resampling.BICUBIC).save(file, "PNG", compress_level=1)
        table = _run(("-", "-", "--psm", _SPARSE, "-l", "eng", "tsv"), file.getvalue())
        return list(_lines(table, scale))


def _lines(table: str, scale: float) -> Iterator[ReadLine]:
    rows = csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE)
    for _, line in groupby(rows, key=lambda row: [row[part] for part in _LINE]):
        words = []
        for row in line:
            if row["level"] == "5" and row["text"].strip():
                left, top, width, height = (float(row[name]) / scale for name in ("left", "top", "width", "height"))
                words.append(ReadWord(row["text"].strip(), left, top, left + width, top + height))
        if words:
            yield ReadLine(tuple(words))


def _run(words: Sequence[str], given: bytes) -> str:
    """Run the program. Its threads would compete with the other processes that read pages."""
    program = shutil.which("tesseract") or "tesseract"
    settings = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    try:
        done = subprocess.run(  # noqa: S603 (fixed arguments; the image is data)
            (program, *words), input=given, capture_output=True, timeout=_SECONDS, env=settings, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"tesseract could not read an image: {type(error).__name__}") from error
    return done.stdout.decode("utf-8", "replace")


_DETECTOR, _RECOGNISER = "PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx"
_THREADS = 1
_MOST_LINES = 8
_LEAST_SIDE = 480  # smaller images are enlarged
_KNOWN = 24  # letters of a script that show that it was trained, not included by accident


class RapidOcr:
    """The package's pipeline without the step that rotates lines, which is unreliable."""

    name = "rapidocr"

    def missing(self) -> str:
        """Whether the package is missing."""
        return "" if importlib.util.find_spec("rapidocr") else "pip install 'eyetest[ocr]'"

    def scripts(self) -> frozenset[str]:
        """The scripts of which it knows many letters."""
        letters = _pipeline().text_rec.postprocess_op.character
        known = Counter(script for letter in letters for script in scripts_of(letter))
        return frozenset(script for script, count in known.items() if count >= _KNOWN)

    def read(self, image: Image.Image) -> Sequence[ReadLine]:
        """The lines of an image, top to bottom."""
        pixels = np.ascontiguousarray(np.asarray(image.convert("RGB"))[:, :, ::-1])
        output = _pipeline()(pixels, use_cls=False, return_word_box=False)
        if output.boxes is None:
            return []
        lines = zip(output.txts, output.boxes, strict=True)
        return [ReadLine(_words(text, np.asarray(box))) for text, box in lines if text.strip()]


def _words(text: str, box: np.ndarray[Any, Any]) -> tuple[ReadWord, ...]:
    """A line's words, placed along its slanting box (corners from the upper left) by their letters' positions."""
    start, along = box[[0, 3]], box[[1, 2]] - box[[0, 3]]
    words = []
    for match in re.finditer(r"\S+", text):
        points = np.concatenate([start + along * (at / len(text)) for at in match.span()])
        words.append(ReadWord(match[0], *map(float, (*points.min(axis=0), *points.max(axis=0)))))
    return tuple(words)


@cache
def _pipeline() -> Any:
    from rapidocr import RapidOCR  # noqa: PLC0415 (an extra, and a second to load)

    models = Path(str(importlib.util.find_spec("rapidocr").origin)).parent / "models"  # type: ignore[union-attr]
    pipeline = RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.use_cls": False,
            "Det.limit_side_len": _LEAST_SIDE,
            "Det.model_path": str(models / _DETECTOR),
            "Rec.model_path": str(models / _RECOGNISER),
            "Rec.rec_batch_num": _MOST_LINES,
            "EngineConfig.onnxruntime.intra_op_num_threads": _THREADS,
            "EngineConfig.onnxruntime.inter_op_num_threads": _THREADS,
        }
    )
    pipeline._load_rec_model()
    return pipeline


ENGINES: dict[str, Engine] = {engine.name: engine for engine in (Tesseract(), RapidOcr())}
