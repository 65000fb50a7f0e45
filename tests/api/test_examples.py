"""Every public function of the API has an example, and every example runs."""

import doctest
import inspect
import pkgutil
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import eyetest as et
import eyetest.api


def functions() -> dict[str, Any]:
    found = {name: getattr(et, name) for name in et.__all__ if inspect.isfunction(getattr(et, name))}
    return found | {f"measure.{name}": getattr(et.measure, name) for name in dir(et.measure)}


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [import_module(f"eyetest.api.{module.name}") for module in pkgutil.iter_modules(eyetest.api.__path__)]
    for module in (et, *modules):
        yield from finder.find(module, module.__name__)
    for name, function in functions().items():
        if not function.__module__.startswith("eyetest.api.") or name.startswith("measure."):
            yield from finder.find(function, name, module=False)


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
