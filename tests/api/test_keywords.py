"""Errors that a notebook shows speak of keywords, not of options."""

from collections.abc import Callable
from pathlib import Path

import pytest

import eyetest as et
from eyetest.errors import heading, param


@pytest.mark.parametrize(
    ("name", "value", "mentioned", "headed"),
    [
        ("where", None, "where=", "where"),
        ("where", "metric=given", 'where="metric=given"', "where metric=given"),
        ("overwrite", True, "overwrite=True", "overwrite"),
        ("own", None, "set=", "set"),
        ("own", "task=TAG", 'set={"task": "TAG"}', "set task=TAG"),
        ("panels", "x=A,B", 'panels={"x": "A,B"}', "panels x=A,B"),
        ("spec", "NAME=SPEC", 'models={"NAME": "SPEC"}', "models NAME=SPEC"),
    ],
)
def test_parameters_are_keywords(name: str, value: str | bool | None, mentioned: str, headed: str) -> None:
    assert (param(name, value), heading(name, value)) == (mentioned, headed)


def test_no_error_speaks_of_an_option(here: Path) -> None:
    (here / "there.html").touch()
    wrong: list[Callable[[], object]] = [
        lambda: et.measure("accuracy", "run", where="nonsense"),
        lambda: et.measure("accuracy", "run", where={"nonsense": 1}),
        lambda: et.measure("accuracy", "run", set={"nonsense": 1}),
        lambda: et.compare("run", where="modality=gray"),
        lambda: et.results("run", cluster="nonsense"),
        lambda: et.run("world/benchmark", models="scripted:right=0.5", samples=0, to="asked"),
        lambda: et.refine(
            "world/benchmark", recipe="chance-aware", models="models.yaml", hold_out="nobody", to="better"
        ),
        lambda: et.report("run", page="there.html"),
        lambda: et.open("there.html"),
    ]
    for call in wrong:
        with pytest.raises(et.EyetestError) as refused:
            call()
        assert "--" not in str(refused.value)
    assert all("--" not in note for note in et.compare("run").notes)
