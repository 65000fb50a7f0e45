"""``eyetest world models`` and docs/toy-models.md: who is there, and that every command of the page runs."""

import re
from pathlib import Path

import pytest
from eyetest_world.toy_models.cards import cards

from eyetest.models import read_models
from eyetest.runs import read_responses
from tests.cli.test_docs import commands
from tests.conftest import ROOT
from tests.runs.conftest import Eyetest
from tests.runs.conftest import eyetest as eyetest
from tests.support.command import call_narrowly


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_everybody_is_listed(here: Path, eyetest: Eyetest) -> None:
    said = eyetest("world", "models").fine()
    for name, card in cards().items():
        (row,) = re.findall(rf"^embedded:{name} .*$", said, re.MULTILINE)
        assert f"{card.parameters:,}" in row
        assert not card.sees or f" {card.resolution} " in row
        assert not card.leaked or f"{card.leaked:.3f}" in row
    assert not list(here.iterdir()), "nothing is written that nobody asked for"


def test_they_are_written_down(here: Path, eyetest: Eyetest) -> None:
    eyetest("world", "models", "--to", "zoo.yaml").fine()
    assert list(read_models(here / "zoo.yaml")) == list(cards())
    (here / "zoo.yaml").write_text("mine: 1\n")
    assert "zoo.yaml" in eyetest("world", "models", "--to", "zoo.yaml").refused()
    assert (here / "zoo.yaml").read_text() == "mine: 1\n"
    eyetest("world", "models", "--to", "zoo.yaml", "--overwrite").fine()
    assert list(read_models(here / "zoo.yaml")) == list(cards())


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("embedded:owl", 'no embedded model "owl"; did you mean "owl-m"?'),
        ("embedded:", 'no embedded model ""'),
    ],
)
def test_who_is_not_there(here: Path, eyetest: Eyetest, spec: str, said: str) -> None:
    eyetest("world", "new", "--item-count", "18", "--to", "w").fine()
    assert said in eyetest("run", "w/benchmark", "--model", spec, "--to", "r").refused()
    assert not (here / "r").exists()


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("top_p: 0.5", 'embedded: "top_p" is no setting; it knows temperature, max_tokens'),
        ("temperature: hot", "embedded: temperature is a number from 0 on, not 'hot'"),
        ("temperature: -1", "embedded: temperature is a number from 0 on, not -1 (int)"),
        ("temperature: .nan", "embedded: temperature is a number from 0 on, not nan (float)"),
        ("max_tokens: many", "embedded: max_tokens is a number from 1 on, not 'many'"),
        ("max_tokens: 0", "embedded: max_tokens is a number from 1 on, not 0 (int)"),
    ],
)
def test_settings_that_are_none(here: Path, eyetest: Eyetest, setting: str, said: str) -> None:
    eyetest("world", "new", "--item-count", "18", "--to", "w").fine()
    (here / "models.yaml").write_text(f"owl: {{spec: 'embedded:owl-m', sampling: {{{setting}}}}}\n")
    assert said in eyetest("run", "w/benchmark", "--models", "models.yaml", "--to", "r").refused()


def test_a_mole_is_shown_images(here: Path, eyetest: Eyetest) -> None:
    """Its calls fail, each with the reason, and are counted; blind it answers."""
    eyetest("world", "new", "--item-count", "18", "--to", "w").fine()
    eyetest("run", "w/benchmark", "--model", "embedded:mole-xs", "--condition", "image,no-image", "--to", "r")
    outcomes = {(row.outcome, row.error, row.detail) for row in read_responses(here / "r")}
    assert outcomes == {
        ("failed", "bad-request", "mole-xs has no eyes: it reads text alone"),
        ("answered", "", ""),
    }


def test_docs(here: Path, eyetest: Eyetest) -> None:
    """The page's commands, on a world that is small."""
    for words in commands("toy-models.md"):
        call_narrowly(*("18" if word == "300" else word for word in words)).fine()
    page = (ROOT / "docs/toy-models.md").read_text()
    for name, card in cards().items():
        row = re.findall(rf"^\| `{name}` \|.*$", page, re.MULTILINE)[0]
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[1] == (f"`{card.base}`" if card.base else "")
        assert cells[2] == f"{card.parameters:,}"
        assert cells[3] == (f"{card.resolution} px" if card.sees else "")
        assert cells[4] == (f"{card.scenes_seen:,}" if card.sees else "")
        assert cells[5] == f"{card.texts_read:,}"
        assert cells[6] == card.style
        assert cells[7] == (f"{card.leaked:.0%}" if card.sees else "")


def test_habits_are_written_down(here: Path, eyetest: Eyetest) -> None:
    eyetest("world", "new", "--item-count", "18", "--to", "w").fine()
    models = ("world", "models", "--to", "zoo.yaml", "--habits")
    eyetest(*models, "taste=1.5,belief=0.1,leaks=w/leaks.jsonl").fine()
    owl = read_models(here / "zoo.yaml")["owl-m"]
    assert owl.sampling == {"taste": 1.5, "belief": 0.1, "memory": "w/leaks.jsonl#text+some"}
    assert "add --to FILE" in eyetest("world", "models", "--habits", "taste=1").refused()


@pytest.mark.parametrize(
    ("habits", "problem"),
    [
        ("leaks=nowhere.jsonl", "nowhere.jsonl does not exist"),
        ("tatse=1", 'did you mean "taste"?'),
        ("taste", "expected taste=VALUE"),
        ("taste=-1", "taste: found '-1', expected a number of at least 0"),
        ("taste=1,belief=2", "belief: found '2', expected a share from 0 to 1"),
    ],
)
def test_habits_that_are_none(habits: str, problem: str, here: Path, eyetest: Eyetest) -> None:
    refused = eyetest("world", "models", "--to", "z.yaml", "--habits", habits).refused()
    assert "--habits: " in refused
    assert problem in refused
    assert not (here / "z.yaml").exists()
