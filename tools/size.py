"""Print figures of the size, density and entanglement of the project.

    python -m tools.size

For each distribution: modules, lines, tokens, nodes a line, names that cross package borders, complex functions and
names that are no nouns (``tools/readability.py`` defines them). For the whole: lines of tests, commands and options,
words of hand-written docs, and how many modules run functions on two paths: one item from a TSV file to
``measure gain``, and a synthetic benchmark through ``refine`` with the recipe mmstar. Modules that are only imported,
or that hold nothing but records, are not on a path. There are no limits: the figures inform a review.
"""

import base64
import inspect
import io
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType

from tools.readability import measure

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "eyetest"
WORLD = ROOT / "packages" / "eyetest-world" / "src" / "eyetest_world"
TESTS = (ROOT / "tests", ROOT / "packages" / "eyetest-world" / "world_tests")
EXCLUDED_WORDS = re.compile(
    r"\b(nobody|somebody|whoever|told|heard|said|luck\w*|by lot|by heart|mend(?:s|ed|ing)?|spoil\w*|spoilt|crowd\w*"
    r"|house|rooms?|doors?|birds?|pictures?)\b",
    re.IGNORECASE,
)
"""Words that the writing rules exclude from help, docs and code."""
_GENERATED = ("commands.md", "museum.md")
_WORD = re.compile(r"\S*\w\S*")
"""What counts as a word: the signs of a table alone do not."""


def figures() -> dict[str, str]:
    """Return every figure by its name, as it is printed."""
    rows = _readability_rows("src", SOURCE) | _readability_rows("world", WORLD)
    rows["tests lines"] = f"{_count_lines(TESTS):,}"
    command_count, option_count = _count_surface()
    rows["commands"] = f"{command_count:,}"
    rows["options"] = f"{option_count:,}"
    rows["docs words"] = f"{sum(count_words(text) for text in _docs()):,}"
    rows["excluded words"] = f"{_count_excluded_words():,}"
    rows["modules from TSV to gain"] = f"{path_length(_to_gain):,}"
    rows["modules of refine mmstar"] = f"{path_length(_through_mmstar):,}"
    return rows


def hand_written() -> list[Path]:
    """Return the pages of docs/ that people write: not the reference, the gallery or the list of scoring bugs."""
    return [path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in _GENERATED]


def count_words(text: str) -> int:
    """Return how many words a page has."""
    return len(_WORD.findall(text))


def _readability_rows(label: str, package: Path) -> dict[str, str]:
    """Return the rows of one distribution."""
    counts = measure(package)
    return {
        f"{label} modules": f"{counts.modules:,}",
        f"{label} lines": f"{counts.lines:,}",
        f"{label} tokens": f"{counts.tokens:,}",
        f"{label} nodes a line": f"{counts.nodes_a_line:.2f}",
        f"{label} border names": f"{len(counts.border_names):,}",
        f"{label} complex functions": f"{counts.complex_functions:,} of {counts.functions:,}",
        f"{label} names that are no nouns": f"{counts.non_noun_share:.1%}",
        f"{label} imports by string": f"{counts.string_imports:,}",
    }


def _texts(folder: Path, ending: str) -> list[str]:
    return [path.read_text("utf-8") for path in sorted(folder.rglob(f"*{ending}"))]


def _count_lines(folders: Iterable[Path]) -> int:
    return sum(text.count("\n") for folder in folders for text in _texts(folder, ".py"))


def _docs() -> list[str]:
    return [path.read_text("utf-8") for path in (ROOT / "README.md", *hand_written())]


def _count_excluded_words() -> int:
    """Return how often code and docs use a word that the writing rules exclude."""
    texts = _texts(SOURCE, ".py") + _texts(WORLD, ".py") + _docs() + _texts(ROOT / "design", ".md")
    return sum(len(EXCLUDED_WORDS.findall(text)) for text in texts)


def _count_surface() -> tuple[int, int]:
    """Return how many commands there are, and how many options they have; options of every command count once."""
    from eyetest.cli.app import all_commands  # noqa: PLC0415 (loaded only where it is counted)
    from tools.commands import options_of  # noqa: PLC0415

    commands = all_commands()
    return len(commands), sum(len(options_of(name)) for name in ("", *commands))


class _Tracer:
    """Collects the modules whose functions run, those that run during an import aside."""

    def __init__(self) -> None:
        self.modules: set[str] = set()

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        path = code.co_filename
        is_ours = event == "call" and path.startswith(str(SOURCE)) and path.endswith(".py")
        is_ours = is_ours and bool(code.co_flags & inspect.CO_OPTIMIZED)
        if is_ours and path not in self.modules and not _importing(frame):
            self.modules.add(path)

    def __enter__(self) -> "_Tracer":
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def _importing(frame: FrameType) -> bool:
    """Whether a call is made while one of the package's modules is imported."""
    above_ = frame.f_back
    while above_ is not None:
        if above_.f_code.co_name == "<module>" and above_.f_code.co_filename.startswith(str(SOURCE)):
            return True
        above_ = above_.f_back
    return False


def _command(*arguments: str) -> None:
    from eyetest.cli import main  # noqa: PLC0415 (after tracing has begun)

    sys.argv = ["eyetest", *arguments]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as errors:
        try:
            main()
        except SystemExit as stop:
            if stop.code:
                raise RuntimeError(f"eyetest {' '.join(arguments)}: {errors.getvalue()}") from stop


def _to_gain() -> None:
    """Take one item from a TSV file to ``measure gain``."""
    models = ("--model", "m=scripted:right=1", "--model", "base=scripted:right=0.3")
    _command("run", "one.tsv", *models, "--to", "run", "--condition", "image,no-image-guess")
    _command("score", "run")
    _command("measure", "gain", "run")


def _through_mmstar() -> None:
    """Take a synthetic benchmark through ``refine`` with the recipe mmstar."""
    panels = (("inspectors", 8), ("contestants", 16))
    seats = [("--panel", f"{name}={','.join(f'm{n}' for n in range(count))}") for name, count in panels]
    _command("refine", "world/benchmark", "--recipe", "mmstar.yaml", "--models", "models.yaml", "--to", "refined",
             "--skip-review", *(word for seat in seats for word in seat))  # fmt: skip


def _prepare() -> None:
    """Write what both paths start from."""
    from PIL import Image  # noqa: PLC0415

    from eyetest.recipes.listing import recipe_text  # noqa: PLC0415

    image = io.BytesIO()
    Image.new("RGB", (60, 60), "red").save(image, "PNG")
    cells = ("1", "Which color is it?", "red", "blue", "green", "A", base64.b64encode(image.getvalue()).decode())
    Path("one.tsv").write_text("index\tquestion\tA\tB\tC\tanswer\timage\n" + "\t".join(cells) + "\n", "utf-8")
    _command("world", "new", "--to", "world", "--item-count", "90", "--size", "48")
    models = (f'm{n}: {{spec: "scripted:right=0.{n % 9 + 1},blind=0"}}\n' for n in range(16))
    Path("models.yaml").write_text("".join(models), "utf-8")
    Path("mmstar.yaml").write_text(recipe_text("mmstar").replace("count: 250", "count: 2"), "utf-8")


def path_length(path: Callable[[], None]) -> int:
    """How many modules run functions on a path; it is taken in a process of its own, in an empty folder."""
    reader, writer = os.pipe()
    if not (child := os.fork()):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            if not (preparing := os.fork()):
                _prepare()
                os._exit(0)
            os.waitpid(preparing, 0)
            with _Tracer() as tracer:
                path()
            os.write(writer, str(len(tracer.modules)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        count = answer.read()
    os.waitpid(child, 0)
    if not count:
        raise RuntimeError(f"{path.__doc__} failed")
    return int(count)


def main() -> None:
    """Print the figures."""
    for name, figure in figures().items():
        print(f"{name:<32} {figure:>14}")


if __name__ == "__main__":
    main()
