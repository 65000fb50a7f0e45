"""Every public function of the API has an example, and every example runs."""

import doctest
import inspect
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import eyetest as et


def functions() -> dict[str, Any]:
    found = {name: getattr(et, name) for name in et.__all__ if inspect.isfunction(getattr(et, name))}
    return found | {f"measure.{name}": getattr(et.measure, name) for name in dir(et.measure)}


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in (et, et.measure):
        yield from finder.find(module, module.__name__)
    classes = {name: getattr(et, name) for name in et.__all__ if inspect.isclass(getattr(et, name))}
    ours = {name: found for name, found in classes.items() if found.__module__.startswith("eyetest.jobs.")}
    for name, found in (functions() | ours).items():
        yield from finder.find(found, name, module=False)


@pytest.mark.parametrize("name", functions())
def test_every_function_shows_how_it_is_called(name: str) -> None:
    assert ">>> " in (functions()[name].__doc__ or "")


@pytest.mark.parametrize("example", [e for e in examples() if e.examples], ids=lambda example: example.name)
def test_examples(example: doctest.DocTest, here: Path, request: pytest.FixtureRequest) -> None:
    for name in ("ten", "twins", "screens", "weighed"):
        if f'"{name}"' in (example.docstring or ""):
            made = request.getfixturevalue("weighed" if name == "weighed" else "hardened")
            shutil.copytree(made / name, here / name)
    example.globs = {"et": et, "Path": Path, "pl": pl}
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=told.append)
    assert "".join(told) == ""
