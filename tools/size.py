"""Measure the size of the project and compare it with the limits in ``size.json``.

    python -m tools.size            print each figure beside its limit; exit with 1 where one is above
    python -m tools.size --lower    lower each limit to the figure

Figures: lines and modules of both distributions and of the tests, commands and options, words of the README and of
hand-written docs, words that the writing rules exclude, and how many modules run functions on two paths: one item
from a TSV file to ``measure gain``, and a synthetic benchmark through ``refine`` with the recipe mmstar. Modules
that are only imported, or that hold nothing but records, are not on a path.
"""

import argparse
import base64
import inspect
import io
import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parent.parent
LIMITS = Path(__file__).with_name("size.json")
SOURCE = ROOT / "src" / "eyetest"
WORLD = ROOT / "packages" / "eyetest-world" / "src"
TESTS = (ROOT / "tests", ROOT / "packages" / "eyetest-world" / "world_tests")
_GENERATED = ("commands.md", "museum.md")
_WORD = re.compile(r"\S*\w\S*")
"""What counts as a word: the signs of a table alone do not."""
_EXCLUDED = re.compile(
    r"\b(nobody|somebody|whoever|told|heard|said|luck\w*|by lot|by heart|mend(?:s|ed|ing)?|spoil\w*|spoilt|crowd\w*"
    r"|house|rooms?|doors?|birds?|pictures?)\b",
    re.IGNORECASE,
)


def size() -> dict[str, int]:
    """Every figure by name."""
    source, world, tests = _python(SOURCE), _python(WORLD), [text for folder in TESTS for text in _python(folder)]
    docs = [path.read_text("utf-8") for path in (ROOT / "README.md", *hand_written())]
    design = [path.read_text("utf-8") for path in _files(ROOT / "design", ".md")]
    commands, options = _surface()
    return {
        "src lines": _lines(source),
        "src modules": len(source),
        "world lines": _lines(world),
        "world modules": len(world),
        "tests lines": _lines(tests),
        "commands": commands,
        "options": options,
        "docs words": sum(map(count_words, docs)),
        "excluded words": sum(len(_EXCLUDED.findall(text)) for text in (*source, *world, *docs, *design)),
        "modules from TSV to gain": path_length(_to_gain),
        "modules of refine mmstar": path_length(_through_mmstar),
    }


def hand_written() -> list[Path]:
    """Pages of docs/ that people write: not the reference, the gallery or the list of scoring bugs."""
    return [path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in _GENERATED]


def count_words(text: str) -> int:
    """How many words a page has."""
    return len(_WORD.findall(text))


def above(figures: dict[str, int], limits: dict[str, int]) -> list[str]:
    """One line for each figure above its limit."""
    return [
        f"{name}: {figures[name]:,} is above the limit of {limit:,}"
        for name, limit in limits.items()
        if figures[name] > limit
    ]


def _files(folder: Path, ending: str) -> Iterable[Path]:
    return sorted(folder.rglob(f"*{ending}"))


def _python(folder: Path) -> list[str]:
    return [path.read_text("utf-8") for path in _files(folder, ".py")]


def _lines(texts: Iterable[str]) -> int:
    return sum(text.count("\n") for text in texts)


def _surface() -> tuple[int, int]:
    """How many commands there are, and how many options they have together; those of every command count once."""
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
    """Print the figures, and compare or lower the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lower", action="store_true", help="lower each limit to the figure")
    arguments = parser.parse_args()
    figures, limits = size(), json.loads(LIMITS.read_text("utf-8"))
    for name, figure in figures.items():
        print(f"{name:<26} {figure:>9,}   limit {limits[name]:>9,}")
    if arguments.lower:
        lowered = {name: min(limits[name], figure) for name, figure in figures.items()}
        LIMITS.write_text(json.dumps(lowered, indent=1) + "\n", "utf-8")
    if lines := above(figures, limits):
        sys.exit("\n".join(lines))


if __name__ == "__main__":
    main()
