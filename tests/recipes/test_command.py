"""Recipes by name, what is wrong with one's own, and what a recipe's own words do."""

import re
from pathlib import Path

import pytest

from eyetest.errors import InputError
from eyetest.recipes.listing import list_recipes, recipe_names, recipe_text
from eyetest.recipes.loading import load_recipe
from eyetest.runs import Run
from tests.recipes.benches import write_yaml
from tests.running.benches import make_dialogues
from tests.runs.conftest import Eyetest


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_recipe_is_listed() -> None:
    assert [one.name for one in list_recipes()] == recipe_names()
    assert all(len(one.about) > 10 for one in list_recipes())


def test_what_is_wrong_in_a_recipe(tmp_path: Path) -> None:
    text = recipe_text("mmstar")
    for old, new, told in (
        (
            "hard: [4, 7]",
            "hard: [5, 7]",
            "mine.yaml: the stage difficulty: its bands have to hold each of 0 to 16 hits",
        ),
        (
            "reviewers: 3",
            "reveiwers: 3",
            'mine.yaml, stages 3, review: no setting "reveiwers"; did you mean "reviewers"?',
        ),
        ("panel: contestants", "panel: contestant", 'the stage difficulty: no panel "contestant"; did you mean'),
        ("value: 2", "value: 8", "<= 8 of 8 models is always so"),
        ("shots: two", "shots: 2", "mine.yaml, panels, shots: Expected `str`, got `int`"),
    ):
        assert text.count(old) == 1
        (tmp_path / "mine.yaml").write_text(text.replace(old, new))
        with pytest.raises(InputError, match=re.escape(told)):
            load_recipe("mine.yaml")
    with pytest.raises(InputError, match=r'no recipe "mmstra"; did you mean "mmstar"\?, or a file'):
        recipe_text("mmstra")


def test_a_panel_that_goes_on_from_its_own_answers_is_asked_everything(tmp_path: Path, eyetest: Eyetest) -> None:
    """A call that a stopping rule spares would be missing from the next turn."""
    make_dialogues(tmp_path / "b", dialogues=3, turns=3)
    keep = {"hits": {"op": "<=", "value": 0}}
    recipe = {
        "panels": {"readers": {"size": 2, "modality": "no-image", "history": "own"}},
        "stages": [{"filter": "blind-hits", "panel": "readers", "keep": keep}],
    }
    write_yaml(tmp_path / "own.yaml", recipe)
    write_yaml(tmp_path / "models.yaml", {name: {"spec": f"scripted:right=0.9,seed={name}"} for name in "12"})
    eyetest("refine", "b", "--recipe", "own.yaml", "--models", "models.yaml", "--to", "refined").fine()
    rows = Run(tmp_path / "refined/run").plan().to_pylist()
    assert len(rows) == 20
    assert all(row["request"] and row["history"] == "own" for row in rows)
    assert len(Run(tmp_path / "refined/run").responses()) == 20
