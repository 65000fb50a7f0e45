"""What a terminal shows is whole: help with an example to type, and tables that lose columns, never digits."""

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.color import ColorSystem
from typer import rich_utils

from eyetest.cli.commands import COMMANDS, EXAMPLES, JOBS, PLUGINS, _load
from eyetest.cli.show import can_draw
from eyetest.cli.tables import Column, fitting
from eyetest.cli.terminal import out
from tests.runs.conftest import Eyetest
from tests.support.command import call

WIDTHS = (80, 60)
MODELS = ("qwen2.5-vl-72b-instruct", "llava-onevision-qwen2-7b")


def words_of(name: str) -> list[str]:
    """What is typed to get a command's help."""
    return [*name.split(), "b"] if " --" in name else name.split()


def _command_of(words: list[str]) -> str:
    """The command that some words call."""
    pair = " ".join(words[:2])
    return pair if pair in COMMANDS else words[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_breaks_no_word_and_ends_in_an_example(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = _load(name)
    for width in WIDTHS:
        monkeypatch.setattr(rich_utils, "MAX_WIDTH", width)
        told = call(*words_of(name), "--help").out
        panels, _, example = told.partition("\n Example")
        assert max(len(line.rstrip()) for line in panels.splitlines()) <= width
        tokens = set(re.split(r"[\s│]+", panels))
        for one in command.params:
            flags = set() if one.param_type_name == "argument" else {flag for flag in one.opts if "--" in flag}
            assert flags <= tokens
            if width == WIDTHS[0]:
                assert {*(one.help or "").split(), *(one.metavar or "").split()} <= tokens | {""}, one.name
        assert "<" not in re.sub(r"\(\?P<.*", "", panels)
        assert [line.strip() for line in example.splitlines()[1:] if line.strip()] == command.example.splitlines()


@pytest.mark.parametrize("line", sorted({line for name in COMMANDS for line in _load(name).example.splitlines()}))
def test_an_example_is_what_its_command_takes(line: str) -> None:
    assert len(line) <= WIDTHS[0] - 3
    program, *words = shlex.split(line)
    name = _command_of(words)
    command: Any = _load(name)
    command.make_context(name, words[len(name.partition(" --")[0].split()) :])
    assert program == "eyetest"


def test_every_command_has_an_example_of_itself() -> None:
    assert set(EXAMPLES) == set(COMMANDS) - set(JOBS[PLUGINS])
    for name in COMMANDS:
        first = _load(name).example.splitlines()[0]
        assert _command_of(shlex.split(first)[1:]) == name
        assert first != f"eyetest {name} --help"


def test_columns_go_from_the_right_and_none_is_cut() -> None:
    columns = [
        Column("model", ["a model of long words", "b"], has_words=True),
        Column("score", ["0.123 [0.100, 0.145]", "1.000 [0.900, 1.000]"]),
        Column("only a", ["1,234", "2"]),
        Column("clusters", ["12,345", "1"]),
    ]
    for width in range(10, 70):
        kept, dropped = fitting(columns, width)
        assert [one for one, _ in kept] + dropped == columns
        assert all(given >= one.narrowest for one, given in kept)
        assert sum(given for _, given in kept) + 2 * (len(kept) - 1) <= width or len(kept) == 2
    assert len(fitting(columns, 60)[0]) == 4
    assert [one.name for one in fitting(columns, 35)[1]] == ["clusters"]
    assert fitting(columns, 60)[0][0][1] == len("a model of long words")


def numbers(text: str) -> set[str]:
    """What stands in a text that has a digit."""
    return {word for word in text.split() if re.search(r"\d", word)}


def test_tables_in_a_narrow_terminal(tmp_path: Path, eyetest: Eyetest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    eyetest("world", "new", "--item-count", 18, "--size", 48, "--to", "w").fine()
    specs = (f"{name}=scripted:right=0.{place + 4},blind=0.3,seed={place}" for place, name in enumerate(MODELS))
    asked = [word for spec in specs for word in ("--model", spec)]
    eyetest("run", "w/benchmark", *asked, "--sight", "image,blind", "--to", "r").fine()
    Path("suite.yaml").write_text("{benchmarks: [w/benchmark], models: ['scripted:right=0.7'], limit: 4}")
    for words in (
        ("compare", "r", "--flips", "2"),
        ("measure", "gain", "r"),
        ("measure", "accuracy", "r", "--by", "core", "--sight", "image"),
        ("status", "r"),
        ("score", "r"),
        ("reconcile", "r", "r", "--rules-b", "mmmu"),
        ("show", "w/benchmark"),
        ("zoo",),
        ("reform", "list"),
        ("recipe", "list"),
        ("suite", "suite.yaml", "--to", "s"),
    ):
        wide = eyetest(*words)
        monkeypatch.setenv("TTY_COMPATIBLE", "1")
        monkeypatch.setenv("NO_COLOR", "1")
        for width in WIDTHS:
            monkeypatch.setattr(out, "_width", width)
            narrow = eyetest(*words)
            shown = re.sub(r"\x1b\[[\d;]*m", "", narrow.out)
            assert numbers(shown) <= numbers(wide.out), (words, width)
            cut = [line for line in shown.splitlines() if "…" in line]
            assert not cut or words[0] in ("show", "reconcile"), cut
            if "more column" in narrow.err:
                (names,) = re.findall(r"more columns? \((.*)\): widen", narrow.err)[:1]
                assert all(word in wide.out for word in names.replace(",", "").split())
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)


def test_measures_and_pages_of_some_sights_and_models(
    tmp_path: Path, eyetest: Eyetest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = [
        "item,model,sight,given",
        *(f"{n},{m},{s},{n % 2}" for n in range(8) for m in "ab" for s in ("image", "blind")),
    ]
    Path("a.csv").write_text("\n".join(table))
    eyetest("import-answers", "a.csv", "--to", "r").fine()
    told = eyetest("measure", "accuracy", "r", "--sight", "blind", "--model", "a", "--csv").out.splitlines()
    assert len(told) == 2
    assert ",blind" in told[1] or "blind," in told[1] or told[1].startswith("a")
    assert 'did you mean "blind"?' in eyetest("measure", "accuracy", "r", "--sight", "blnd").refused()
    eyetest("report", "r", "--sight", "image", "--model", "a", "--page", "p.html", "--resamples", 100).fine()
    page = Path("p.html").read_text()
    assert "sight=image" in page


def test_pictures_are_not_drawn_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(out, "_color_system", ColorSystem.TRUECOLOR)
    monkeypatch.setattr(out, "no_color", False)
    assert can_draw()
    monkeypatch.setattr(out, "no_color", True)
    assert not can_draw()


def test_more_items_than_a_world_has_are_refused() -> None:
    for words in (("world", "new", "--to", "w"), ("demo",)):
        assert "100000" in call(*words, "--item-count", 100_001).refused()
