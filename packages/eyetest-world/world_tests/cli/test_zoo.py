"""``eyetest world models`` and docs/world.md: which models there are."""

import re
from pathlib import Path

import pytest
from eyetest_world.toy_models.cards import cards

from eyetest.models import read_models
from eyetest.runs import read_responses
from tests.support.command import call

pytestmark = pytest.mark.journey


def test_everybody_is_listed(workdir: Path) -> None:
    said = call("world", "models").fine()
    for name, card in cards().items():
        (row,) = re.findall(rf"^embedded:{name} .*$", said, re.MULTILINE)
        assert f"{card.parameters:,}" in row
        assert not card.sees or f" {card.resolution} " in row
        assert not card.leaked or f"{card.leaked:.3f}" in row
    assert not list(workdir.iterdir()), "nothing is written that was not asked for"


def test_a_mole_is_shown_images(workdir: Path) -> None:
    """Its calls fail, each with the reason, and are counted; blind it answers."""
    call("world", "new", "--item-count", "18", "--to", "w").fine()
    call("run", "w/benchmark", "--model", "embedded:mole-xs", "--condition", "image,no-image", "--to", "r")
    outcomes = {(row.outcome, row.error, row.detail) for row in read_responses(workdir / "r")}
    assert outcomes == {
        ("failed", "bad-request", "mole-xs has no eyes: it reads text alone"),
        ("answered", "", ""),
    }


def test_habits_are_written_down(workdir: Path) -> None:
    call("world", "new", "--item-count", "18", "--to", "w").fine()
    models = ("world", "models", "--to", "zoo.yaml", "--habits")
    call(*models, "taste=1.5,belief=0.1,leaks=w/leaks.jsonl").fine()
    owl = read_models(workdir / "zoo.yaml")["owl-m"]
    assert owl.sampling == {"taste": 1.5, "belief": 0.1, "memory": "w/leaks.jsonl#text+some"}
    assert "add --to FILE" in call("world", "models", "--habits", "taste=1").refused()
