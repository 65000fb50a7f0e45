"""Debian's tesseract: a program that gets a picture on its standard input and tells words and boxes as a table."""

import csv
import io
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby

from PIL import Image

from eyetest.errors import InputError
from eyetest.ocr.base import ReadLine, ReadWord

_SECONDS = 120
_SPARSE = "11"
"""Its layout that looks for text anywhere: the others lose short options, and lines beside pictures."""
_LARGE, _ENLARGED = 1_500_000, 1.5
"""Pixels from which on a page is read as it is, and how much a smaller one is enlarged: small letters are lost."""
_LINE = ("block_num", "par_num", "line_num")
_SCRIPTS = {
    **dict.fromkeys(("eng", "deu", "fra", "spa", "ita", "por", "nld"), ("latin",)),
    **dict.fromkeys(("chi_sim", "chi_tra"), ("cjk", "latin")),
    **{"jpn": ("cjk", "hiragana", "katakana", "latin"), "kor": ("hangul", "latin")},
    **{"ara": ("arabic",), "fas": ("arabic",), "heb": ("hebrew",), "ell": ("greek",)},
    **dict.fromkeys(("rus", "ukr", "bul"), ("cyrillic",)),
    **{"hin": ("devanagari",), "tha": ("thai",)},
}
"""What each of its languages lets it read; one that is not here is not asked for."""


class Tesseract:
    """The program, asked once for every picture; English as it comes, others where their packages are there."""

    name = "tesseract"
    summary = "Debian's tesseract-ocr, a program"
    rank = 1

    def missing(self) -> str:
        """Where the program or its English is not there."""
        return "" if "eng" in _languages() else "apt-get install tesseract-ocr"

    def scripts(self) -> frozenset[str]:
        """Those of the installed languages."""
        return frozenset(script for language in _languages() for script in _SCRIPTS[language])

    def read(self, picture: Image.Image) -> Sequence[ReadLine]:
        """The lines of a picture, in no particular order."""
        scale = 1.0 if picture.width * picture.height >= _LARGE else _ENLARGED
        size = round(picture.width * scale), round(picture.height * scale)
        file = io.BytesIO()
        enlarged = picture if scale == 1 else picture.resize(size, Image.Resampling.BICUBIC)
        enlarged.save(file, "PNG", compress_level=1)
        table = _run(("-", "-", "--psm", _SPARSE, "-l", "+".join(_languages()), "tsv"), file.getvalue())
        return list(_lines(table, scale))


def _lines(table: str, scale: float) -> Iterator[ReadLine]:
    rows = csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE)
    for _, line in groupby(rows, key=lambda row: [row[part] for part in _LINE]):
        words = tuple(_word(row, scale) for row in line if row["level"] == "5" and row["text"].strip())
        if words:
            yield ReadLine(words)


def _word(row: dict[str, str], scale: float) -> ReadWord:
    left, top, width, height = (float(row[name]) / scale for name in ("left", "top", "width", "height"))
    return ReadWord(row["text"].strip(), left, top, left + width, top + height)


@cache
def _languages() -> tuple[str, ...]:
    """The installed languages that we know scripts of, English first."""
    if shutil.which("tesseract") is None:
        return ()
    told = _run(("--list-langs",), b"").split()
    return tuple(language for language in _SCRIPTS if language in told)


def _run(words: Sequence[str], given: bytes) -> str:
    """One call of the program. Its threads would compete with the other processes that read pages."""
    program = shutil.which("tesseract") or "tesseract"
    settings = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    try:
        done = subprocess.run(  # noqa: S603 (the words are ours; the picture is data)
            (program, *words), input=given, capture_output=True, timeout=_SECONDS, env=settings, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"tesseract could not read a picture: {type(error).__name__}") from error
    return done.stdout.decode("utf-8", "replace")


ENGINE = Tesseract()
