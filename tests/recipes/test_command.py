"""Panels whose models go on from their own answers."""

from pathlib import Path

import pytest

from eyetest.runs import Run
from tests.recipes.benches import write_yaml
from tests.running.benches import make_dialogues
from tests.runs.conftest import Eyetest


def test_a_panel_that_goes_on_from_its_own_answers_is_asked_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eyetest: Eyetest
) -> None:
    """A call that a stopping rule spares would be missing from the next turn."""
    monkeypatch.chdir(tmp_path)
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
