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
        """The lines of a picture, in the order of its own layout."""
        file = io.BytesIO()
        picture.save(file, "PNG", compress_level=1)
        table = _run(("-", "-", "--psm", "3", "-l", "+".join(_languages()), "tsv"), file.getvalue())
        return list(_lines(table))


def _lines(table: str) -> Iterator[ReadLine]:
    rows = csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE)
    for _, line in groupby(rows, key=lambda row: [row[part] for part in _LINE]):
        words = tuple(_word(row) for row in line if row["level"] == "5" and row["text"].strip())
        if words:
            yield ReadLine(words)


def _word(row: dict[str, str]) -> ReadWord:
    left, top = float(row["left"]), float(row["top"])
    return ReadWord(row["text"].strip(), left, top, left + float(row["width"]), top + float(row["height"]))


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
