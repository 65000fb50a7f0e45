"""``eyetest recipe list|show|check|new``, and what a recipe's own words do."""

from pathlib import Path

import pytest

from eyetest.recipes import load_recipe, recipe_names, recipe_text
from eyetest.runs import Run
from eyetest.screens import SCREENS
from tests.recipes.benches import write_yaml
from tests.running.benches import make_dialogues
from tests.runs.conftest import Eyetest


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_list_names_everything(eyetest: Eyetest) -> None:
    lines = eyetest("recipe", "list").fine().splitlines()
    first = [line.split()[0] for line in lines if line.startswith("  ")]
    assert first == [*recipe_names(), *SCREENS]
    assert all(len(line.split(maxsplit=1)[1]) > 10 for line in lines if line.startswith("  "))


@pytest.mark.parametrize("name", recipe_names())
def test_show_is_the_file_and_check_likes_it(eyetest: Eyetest, name: str) -> None:
    assert eyetest("recipe", "show", name).out == recipe_text(name)
    said = eyetest("recipe", "check", name).fine()
    assert said.startswith(f"{name}: {len(load_recipe(name).stages)} stage")
    assert all(panel in said for panel in load_recipe(name).panels)


def test_new_begins_from_one_that_is_there(tmp_path: Path, eyetest: Eyetest) -> None:
    said = eyetest("recipe", "new", "mmstar").fine()
    assert "change it, then:\n  eyetest recipe check my-mmstar.yaml" in said
    assert (tmp_path / "my-mmstar.yaml").read_text() == recipe_text("mmstar")
    assert "is there already" in eyetest("recipe", "new", "mmstar").refused()
    eyetest("recipe", "new", "lime", "--to", "other.yaml").fine()
    eyetest("recipe", "check", "other.yaml").fine()
    eyetest("recipe", "new", "other.yaml").fine()
    assert load_recipe("my-other.yaml") == load_recipe("lime")


def test_check_finds_what_is_wrong(tmp_path: Path, eyetest: Eyetest) -> None:
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
        assert told in eyetest("recipe", "check", "mine.yaml").refused()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("lst",), 'no such thing as "lst"; did you mean "list"?'),
        (("show",), "which recipe? eyetest recipe show NAME; there are chance-aware,"),
        (("show", "mmstra"), 'no recipe "mmstra"; did you mean "mmstar"?, or a file'),
        (("check", "nowhere.yaml"), 'no recipe "nowhere.yaml"'),
    ],
)
def test_what_it_refuses(eyetest: Eyetest, words: tuple[str, ...], message: str) -> None:
    assert message in eyetest("recipe", *words).refused()


def test_a_broken_recipe_is_no_beginning(tmp_path: Path, eyetest: Eyetest) -> None:
    (tmp_path / "broken.yaml").write_text("stages: []")
    assert "broken.yaml: no stages" in eyetest("recipe", "new", "broken.yaml").refused()
    assert not (tmp_path / "my-broken.yaml").exists()


def test_a_panel_that_goes_on_from_its_own_answers_is_asked_everything(tmp_path: Path, eyetest: Eyetest) -> None:
    """A call that a stopping rule spares would be missing from the next turn."""
    make_dialogues(tmp_path / "b", dialogues=3, turns=3)
    keep = {"hits": {"op": "<=", "value": 0}}
    recipe = {
        "panels": {"readers": {"size": 2, "sight": "blind", "history": "own"}},
        "stages": [{"screen": "blind-hits", "panel": "readers", "keep": keep}],
    }
    write_yaml(tmp_path / "own.yaml", recipe)
    write_yaml(tmp_path / "models.yaml", {name: {"spec": f"scripted:right=0.9,seed={name}"} for name in "12"})
    eyetest("refine", "b", "--recipe", "own.yaml", "--models", "models.yaml", "--to", "refined").fine()
    rows = Run(tmp_path / "refined/run").plan().to_pylist()
    assert len(rows) == 20
    assert all(row["request"] and row["history"] == "own" for row in rows)
    assert len(Run(tmp_path / "refined/run").responses()) == 20
