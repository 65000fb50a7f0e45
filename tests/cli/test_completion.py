"""What a shell is told when somebody presses Tab: right, soon, and nothing that does not belong there."""

import os
import subprocess
import sys

import pytest

from eyetest.cli.catalogue import COMMANDS
from eyetest.cli.commands import _load
from eyetest.cli.completion import flags
from tests.support.command import call

HEAVY = ("altair", "numpy", "polars", "pyarrow", "scipy", "sklearn")


def tab(monkeypatch: pytest.MonkeyPatch, typed: str) -> list[str]:
    """What bash is told may stand where the last word is."""
    monkeypatch.setenv("_EYETEST_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split(" ")) - 1))
    done = call()
    assert (done.code, done.err) == (0, "")
    return done.out.split()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_options_of_a_sketch_are_those_of_the_command(name: str) -> None:
    command = _load(name)
    options = [param for param in command.params if param.param_type_name == "option"]
    known = [spelling for param in options for spelling in (*param.opts, *param.secondary_opts)]
    assert sorted(spelling for one in flags(name) for spelling in one.spellings) == sorted(known)


def test_commands_and_their_second_words(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"audit", "review", "harden", "demo"} < set(tab(monkeypatch, "eyetest "))
    assert tab(monkeypatch, "eyetest import") == ["import-answers", "import"]
    assert tab(monkeypatch, "eyetest harden tw") == ["twins"]
    assert tab(monkeypatch, "eyetest review st") == ["status"]


def test_options(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tab(monkeypatch, "eyetest --vers") == ["--version"]
    assert tab(monkeypatch, "eyetest audit b.tsv --strict --str") == ["--strict"]
    assert tab(monkeypatch, "eyetest review b.tsv --br") == ["--browser"]
    assert "--all-pairs" in tab(monkeypatch, "eyetest compare --")
    assert "--models" in tab(monkeypatch, "eyetest compare --on b --mod")


@pytest.mark.parametrize(
    "typed", ["audit ", "audit my", "audit --thresholds my", "audit --thresholds=my", "harden nosuch --x"]
)
def test_where_we_know_nothing_the_shell_offers_files(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    assert tab(monkeypatch, f"eyetest {typed}") == []
    monkeypatch.setenv("_EYETEST_COMPLETE", "source_bash")
    assert "complete -o default" in call().out
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"eyetest {typed}")
    monkeypatch.setenv("_EYETEST_COMPLETE", "complete_zsh")
    assert call().out.strip() == "_files"
    monkeypatch.setenv("_EYETEST_COMPLETE", "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "is-args")
    assert call().code == 1


def test_zsh_and_fish_are_told_what_each_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "eyetest audit --str")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    for shell in ("zsh", "fish"):
        monkeypatch.setenv("_EYETEST_COMPLETE", f"complete_{shell}")
        told = call().out
        assert "--strict" in told
        assert "Exit with 1 if anything is broken" in told


def test_a_tab_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom eyetest.cli import main\ntry:\n    main()\nfinally:\n"
        f"    print([one for one in {HEAVY} if one in sys.modules], file=sys.stderr)"
    )
    asked = {"_EYETEST_COMPLETE": "complete_bash", "COMP_WORDS": "eyetest audit --str", "COMP_CWORD": "2"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | asked)
    assert (done.stdout.split(), done.stderr) == (["--strict"], "[]\n")
