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
from eyetest.measures import MEASURES

pytestmark = pytest.mark.journey


def functions() -> dict[str, Any]:
    return {name: getattr(et, name) for name in et.__all__ if inspect.isfunction(getattr(et, name))}


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    yield from finder.find(et, et.__name__)
    classes = {name: getattr(et, name) for name in et.__all__ if inspect.isclass(getattr(et, name))}
    ours = {
        name: found
        for name, found in classes.items()
        if found.__module__.startswith(("eyetest.jobs.", "eyetest.commands."))
    }
    for name, found in (functions() | ours).items():
        yield from finder.find(found, name, module=False)


@pytest.mark.parametrize("name", functions())
def test_every_function_shows_how_it_is_called(name: str) -> None:
    assert ">>> " in (functions()[name].__doc__ or "")


@pytest.mark.parametrize("example", [e for e in examples() if e.examples], ids=lambda example: example.name)
def test_examples(example: doctest.DocTest, here: Path) -> None:
    example.globs = {"et": et, "Path": Path, "pl": pl}
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=told.append)
    assert "".join(told) == ""


RUNS = {
    "linked": ["run", "ten"],
    "rank-shifts": ["run", "ten"],
    "contamination": ["twins"],
    "ocr-accuracy": ["screens"],
    "likelihood": ["weighed"],
}
"""Runs of measures that need hardened benchmarks or likelihoods of options."""
OPTIONS: dict[str, dict[str, Any]] = {
    "correlation": {"by": "core", "where": {"modality": "image"}},
    "rank-shifts": {"set": {"from": "benchmark=world-1", "to": "benchmark=world-1-10-options"}},
}


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_every_measure_is_measured(name: str, here: Path, request: pytest.FixtureRequest) -> None:
    for run in RUNS.get(name, []):
        if run != "run":
            shutil.copytree(request.getfixturevalue("weighed" if run == "weighed" else "hardened") / run, here / run)
    assert len(et.measure(name, RUNS.get(name, ["run"]), **OPTIONS.get(name, {})))
