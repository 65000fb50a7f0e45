"""METEOR, computed by its authors' Java program, which comes with PyPI pycocoevalcap (extra ``meteor``)."""

import importlib.util
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from eyetest.errors import EyetestError, MissingExtraError
from eyetest.scoring.metrics.captions import CaptionMetric, Computed, Tokens

_WORDS = 1_000  # only the first so many words of a text are aligned: the program's search grows faster than the text
_SEPARATOR = "|||"


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


def _run(command: list[str], folder: Path, lines: list[str]) -> list[str]:
    """The lines that the program answers to some lines."""
    given = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, check=False)  # noqa: S603
    return done.stdout.decode().splitlines()


def _line(tokens: Tokens) -> str:
    """Words on one line, without what the program would take for the end of a text."""
    words = " ".join(" ".join(tokens[:_WORDS]).replace("\x00", " ").split())
    return " ".join(words.replace(_SEPARATOR, "").split())


def meteor(answers: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> Computed:
    """METEOR 1.5 for English with its own normalisation: of the corpus, and of each item."""
    command, folder = _command()
    texts = [(*map(_line, golds), _line(answer)) for answer, golds in zip(answers, references, strict=True)]
    statistics = _run(command, folder, [f" {_SEPARATOR} ".join(("SCORE", *lines)) for lines in texts])
    *each, overall = _run(command, folder, [f" {_SEPARATOR} ".join(("EVAL", *statistics))]) or [""]
    if len(statistics) != len(each) or len(each) != len(texts):
        raise EyetestError("METEOR's Java program ended before all answers were scored")
    return float(overall), list(map(float, each))


METRICS = (CaptionMetric("meteor", "words matched by form, stem and meaning (needs Java, extra meteor)", meteor),)
