"""METEOR, computed by its authors' Java program, which comes with PyPI pycocoevalcap (extra ``meteor``)."""

import importlib.util
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from eyetest.errors import EyetestError, MissingExtraError
from eyetest.scoring.metrics.captions import CaptionMetric, Computed, Tokens

_WORDS = 1_000  # only the first so many words of a text are aligned: the program's search grows faster than the text
_SEPARATOR = "|||"
_ENDED = "METEOR's Java program ended before all answers were scored"


def _command() -> tuple[list[str], Path]:
    """Command line and folder of the program."""
    package = importlib.util.find_spec("pycocoevalcap")
    for folder in (package.submodule_search_locations or []) if package else []:
        jar = Path(folder) / "meteor" / "meteor-1.5.jar"
        if jar.is_file():
            java = shutil.which("java")
            if java is None:
                raise MissingExtraError(
                    "METEOR is a Java program and there is no java on the PATH: install a Java runtime"
                )
            return [java, "-jar", "-Xmx2G", jar.name, "-", "-", "-stdio", "-l", "en", "-norm"], jar.parent
    raise MissingExtraError("METEOR needs its Java program: pip install 'eyetest[meteor]'")


def _write(file: IO[str] | None, *parts: str) -> None:
    assert file
    try:
        file.write(f" {_SEPARATOR} ".join(parts) + "\n")
        file.flush()
    except OSError as error:
        raise EyetestError(_ENDED) from error


def _read(file: IO[str] | None) -> str:
    assert file
    if not (line := file.readline()):
        raise EyetestError(_ENDED)
    return line.strip()


def _line(tokens: Tokens) -> str:
    """Words on one line, without what the program would take for the end of a text."""
    words = " ".join(" ".join(tokens[:_WORDS]).replace("\x00", " ").split())
    return " ".join(words.replace(_SEPARATOR, "").split())


def meteor(answers: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> Computed:
    """METEOR 1.5 for English with its own normalisation: of the corpus, and of each item."""
    command, folder = _command()
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(  # noqa: S603
        command, cwd=folder, stdin=pipe, stdout=pipe, stderr=none, encoding="utf-8", errors="replace"
    ) as program:
        try:
            statistics = []
            for answer, golds in zip(answers, references, strict=True):
                _write(program.stdin, "SCORE", *map(_line, golds), _line(answer))
                statistics.append(_read(program.stdout))
            _write(program.stdin, "EVAL", *statistics)
            each = [float(_read(program.stdout)) for _ in answers]
            return float(_read(program.stdout)), each
        finally:
            program.kill()


METRICS = (CaptionMetric("meteor", "words matched by form, stem and meaning (needs Java, extra meteor)", meteor),)
