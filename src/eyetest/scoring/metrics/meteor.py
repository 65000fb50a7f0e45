"""METEOR: words matched by form, stem, synonym and paraphrase, computed by its authors' Java program.

The program comes with PyPI pycocoevalcap (extra ``meteor``); of that package only the file is used. It is started
once a corpus and speaks one line at a time: ``SCORE`` gives an item's statistics, ``EVAL`` turns all of them into
scores. The corpus score is computed from pooled statistics, not the mean of the items.
"""

import importlib.util
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from eyetest.errors import EyetestError, MissingExtraError
from eyetest.scoring.metrics.captions import CaptionMetric, Computed
from eyetest.scoring.metrics.support.ngrams import Tokens

_WORDS = 1_000
"""Only the first so many words of a text are aligned: the program's search grows faster than the text."""
_SEPARATOR = "|||"


def _command() -> tuple[list[str], Path]:
    """How to start the program, and where."""
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


class _Program:
    """The running program: a line goes in, lines come out."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin
        assert process.stdout
        self._in, self._out = process.stdin, process.stdout

    def tell(self, *parts: str) -> None:
        """Send one line."""
        try:
            self._in.write(f" {_SEPARATOR} ".join(parts) + "\n")
            self._in.flush()
        except OSError as error:
            raise EyetestError("METEOR's Java program ended before all answers were scored") from error

    def hear(self) -> str:
        """Read one line."""
        line = self._out.readline()
        if not line:
            raise EyetestError("METEOR's Java program ended before all answers were scored")
        return line.strip()


@contextmanager
def _started() -> Iterator[_Program]:
    command, folder = _command()
    with subprocess.Popen(  # noqa: S603
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            yield _Program(process)
        finally:
            process.kill()


def _line(tokens: Tokens) -> str:
    """Words on one line, without what the program would take for the end of a text."""
    words = " ".join(" ".join(tokens[:_WORDS]).replace("\x00", " ").split())
    return " ".join(words.replace(_SEPARATOR, "").split())


def meteor(answers: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> Computed:
    """METEOR 1.5 for English with its own normalisation: of the corpus, and of each item."""
    with _started() as program:
        statistics = []
        for answer, golds in zip(answers, references, strict=True):
            program.tell("SCORE", *map(_line, golds), _line(answer))
            statistics.append(program.hear())
        program.tell("EVAL", *statistics)
        each = [float(program.hear()) for _ in answers]
        return float(program.hear()), each


METRICS = (CaptionMetric("meteor", "words matched by form, stem and meaning (needs Java, extra meteor)", meteor),)
