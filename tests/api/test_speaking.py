"""Errors that a notebook shows speak of keywords, not of options."""

from collections.abc import Callable
from pathlib import Path

import pytest

import eyetest as et
from eyetest.api.speaking import in_python


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--where: found 'x', expected COLUMN=VALUE", "where: found 'x', expected COLUMN=VALUE"),
        ("--where core='x': nothing is left", "where core='x': nothing is left"),
        ("leave out --by, or keep to some with --where", "leave out by=, or keep to some with where="),
        ("--set at-least: found 'x', expected a number", "at-least: found 'x', expected a number"),
        ("name the tag of tasks with --set task=TAG", "name the tag of tasks with task=TAG"),
        ("choose another place or add --overwrite", "choose another place or add overwrite=True"),
        ("--panel x=A,B: too few", "panels x=A,B: too few"),
        ("--hold-out: nobody", "hold_out: nobody"),
        ("run eyetest score R --rules mmmu", "run eyetest score R --rules mmmu"),
        ("a -- b, 3 --- 4", "a -- b, 3 --- 4"),
    ],
)
def test_options_become_keywords(words: str, expected: str) -> None:
    assert in_python(words) == expected


def test_no_error_speaks_of_an_option(here: Path) -> None:
    (here / "there.html").touch()
    wrong: list[Callable[[], object]] = [
        lambda: et.measure.accuracy("run", where="nonsense"),
        lambda: et.measure.accuracy("run", where={"nonsense": 1}),
        lambda: et.measure.accuracy("run", nonsense=1),
        lambda: et.compare("run", sight="grey"),
        lambda: et.results("run", cluster="nonsense"),
        lambda: et.run("world/benchmark", "scripted:right=0.5", trials=0, to="asked"),
        lambda: et.refine("world/benchmark", "chance-aware", "models.yaml", hold_out="nobody", to="better"),
        lambda: et.report("run", to="there.html"),
        lambda: et.open("there.html"),
    ]
    for call in wrong:
        with pytest.raises(et.EyetestError) as refused:
            call()
        assert "--" not in str(refused.value)
    assert all("--" not in note for note in et.compare("run").notes)
