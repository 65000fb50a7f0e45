"""How large the house is, and how many of its modules one item passes through.

    python -m tools.house            lines, thin modules, class names that are defined twice
    python -m tools.house --walks    also: in which modules functions run on the way of an item from a TSV file to
                                     ``measure gain``, and of a benchmark through ``refine`` with mmstar

A module counts on a walk if one of its functions is called after loading; modules that are only loaded, or that hold
nothing but records, do not. A thin module has fewer than 60 lines and is neither a package's face nor a plug-in
(which a registry finds by its folder) nor a command.
"""

import argparse
import ast
import base64
import inspect
import io
import os
import sys
import tempfile
import threading
from collections import defaultdict
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType

SOURCE = Path(__file__).parent.parent / "src" / "eyetest"
THIN = 60
PLUGIN_FOLDERS = {
    "benchmarks/formats",
    "measures",
    "models",
    "probes",
    "reform/readers",
    "reform/reformers",
    "reports/figures",
    "scoring/metrics",
    "scoring/rules",
    "screens",
    "world/scenes",
}
PLUGIN_NAMES = {
    "BACKEND",
    "FIGURE",
    "FORMAT",
    "KINDS",
    "MEASURES",
    "METRICS",
    "PROBE",
    "READER",
    "REFORMER",
    "RULES",
    "SCREENS",
}


def modules() -> dict[str, str]:
    """Each module's text by its path below the package."""
    return {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}


def is_plugin(path: str, tree: ast.Module) -> bool:
    """A module that defines what a registry collects, or that is a command or a job."""
    folder = path.rpartition("/")[0]
    if folder in ("cli", "jobs"):
        return True
    names = {target.id for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)
             for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
             if isinstance(target, ast.Name)}  # fmt: skip
    return folder in PLUGIN_FOLDERS and bool(names & PLUGIN_NAMES)


def thin_modules(texts: dict[str, str]) -> list[str]:
    """Modules that are a paragraph of their neighbour."""
    return [
        path
        for path, text in texts.items()
        if text.count("\n") < THIN and not path.endswith("__init__.py") and not is_plugin(path, ast.parse(text))
    ]


def repeated_classes(texts: dict[str, str]) -> dict[str, list[str]]:
    """Class names that more than one module defines, but for plug-ins of different kinds that are about one thing."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(path)
    plugins = {path for path, text in texts.items() if is_plugin(path, ast.parse(text))}
    return {
        name: paths
        for name, paths in sorted(homes.items())
        if len(paths) > 1 and not (set(paths) <= plugins and len({p.rpartition("/")[0] for p in paths}) == len(paths))
    }


class Walk:
    """Notes in which modules functions run, loading aside."""

    def __init__(self) -> None:
        self.modules: set[str] = set()

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        path = code.co_filename
        if (
            event == "call"
            and path.startswith(str(SOURCE))
            and path.endswith(".py")
            and code.co_flags & inspect.CO_OPTIMIZED
        ):
            name = path[len(str(SOURCE)) + 1 :]
            if name not in self.modules and not _loading(frame):
                self.modules.add(name)

    def __enter__(self) -> "Walk":
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def _loading(frame: FrameType) -> bool:
    """Whether this call is made while one of our modules is loaded."""
    above = frame.f_back
    while above is not None:
        if above.f_code.co_name == "<module>" and above.f_code.co_filename.startswith(str(SOURCE)):
            return True
        above = above.f_back
    return False


def _command(*arguments: str) -> None:
    from eyetest.cli import main  # noqa: PLC0415 (after the walk has begun)

    sys.argv = ["eyetest", *arguments]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
        try:
            main()
        except SystemExit as stop:
            if stop.code:
                raise RuntimeError(f"eyetest {' '.join(arguments)}: {said.getvalue()}") from stop


def _one_item() -> None:
    from PIL import Image  # noqa: PLC0415

    picture = io.BytesIO()
    Image.new("RGB", (60, 60), "red").save(picture, "PNG")
    cells = ("1", "What colour is it?", "red", "blue", "green", "A", base64.b64encode(picture.getvalue()).decode())
    Path("one.tsv").write_text("index\tquestion\tA\tB\tC\tanswer\timage\n" + "\t".join(cells) + "\n", "utf-8")


def to_gain() -> None:
    """One item from a TSV file to ``measure gain``."""
    fakes = ("--model", "m=scripted:right=1", "--model", "base=scripted:right=0.3")
    _command("run", "one.tsv", *fakes, "--to", "run", "--sight", "image,blind-guess")
    _command("score", "run")
    _command("measure", "gain", "run")


def through_mmstar() -> None:
    """A drawn benchmark through ``refine`` with the recipe mmstar."""
    seats = (("inspectors", 8), ("contestants", 16))
    panels = [f"{name}={','.join(f'm{n}' for n in range(size))}" for name, size in seats]
    options = [word for panel in panels for word in ("--panel", panel)]
    _command("refine", "world/benchmark", "--recipe", "mmstar.yaml", "--models", "models.yaml", "--to", "refined",
             "--skip-review", *options)  # fmt: skip


def _set_out() -> None:
    """What the walks start from, made before anything is counted."""
    from eyetest.recipes import recipe_text  # noqa: PLC0415

    _one_item()
    _command("world", "new", "--to", "world", "--item-count", "90", "--size", "48")
    Path("models.yaml").write_text(
        "".join(f'm{n}: {{spec: "scripted:right=0.{n % 9 + 1},blind=0"}}\n' for n in range(16))
    )
    recipe = recipe_text("mmstar")
    Path("mmstar.yaml").write_text(recipe.replace("count: 250", "count: 2"), "utf-8")


def walks() -> dict[str, int]:
    """How many modules each walk passes through."""
    counts: dict[str, int] = {}
    for walked in (to_gain, through_mmstar):
        reader, writer = os.pipe()
        if not (child := os.fork()):
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                if not (setter := os.fork()):
                    _set_out()
                    os._exit(0)
                os.waitpid(setter, 0)
                with Walk() as walk:
                    walked()
                os.write(writer, "\n".join(sorted(walk.modules)).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as lines:
            names = lines.read().split()
        os.waitpid(child, 0)
        counts[walked.__name__] = len(names)
        print(f"\n{walked.__doc__} {len(names)} modules")
        print("  " + " ".join(names))
    return counts


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--walks", action="store_true", help="also follow items through the modules")
    arguments = parser.parse_args()
    texts = modules()
    thin, repeated = thin_modules(texts), repeated_classes(texts)
    print(f"{sum(text.count(chr(10)) for text in texts.values()):,} lines in {len(texts)} modules")
    print(f"{len(thin)} thin modules: {' '.join(thin)}")
    print(f"{len(repeated)} class names defined twice: {repeated}")
    if arguments.walks:
        walks()


if __name__ == "__main__":
    main()
