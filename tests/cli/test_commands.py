"""The command line as a whole: lists, help, examples, errors, and how little of it is loaded."""

import re
import shlex
import subprocess
import sys

import pytest

from eyetest.cli.app import (
    COMMANDS,
    GROUPS,
    _global_options,
    all_commands,
    application,
    asked,
    examples,
    load,
    summary,
)
from eyetest.cli.terminal import out
from tests.support.command import call
from tools import commands as reference
from tools.commands import options_of
from tools.size import EXCLUDED_WORDS

NAMES = sorted(all_commands())
HEAVY = {"polars", "numpy", "scipy", "sklearn", "altair", "PIL", "pyarrow", "aiohttp", "rich.markdown"}


def test_help_lists_every_command_under_its_group() -> None:
    text = call("--help").out
    for name, command in COMMANDS.items():
        panel = text.partition(f" {command.group} ")[2].partition("╰")[0]
        first = name.split()[0]
        assert f"│ {first} " in panel or first in GROUPS, name


@pytest.mark.parametrize("words", [(), ("harden",), ("review",)], ids=str)
def test_a_list_of_commands_fits_and_breaks_no_word(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (80, 60):
        monkeypatch.setattr(out, "_width", width)
        text = call(*words, "--help").out
        assert max(map(len, text.splitlines())) <= width
        inner = [name for name in NAMES if name.split()[: len(words)] == [*words] and len(name.split()) > len(words)]
        known = [summary(name) for name in inner if name.split()[len(words) - 1] not in GROUPS]
        tokens = set(text.replace("│", " ").split())
        if not words:
            known = [s for s, name in zip(known, inner, strict=False) if " " not in name and name not in GROUPS]
        assert {word for sentence in known for word in sentence.split()} <= tokens


@pytest.mark.parametrize("name", NAMES)
def test_help_is_short_and_plain_and_has_examples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "_width", 80)
    text = call(*name.split(), "--help").out
    assert len(text.rstrip().splitlines()) <= 60
    assert max(map(len, text.splitlines())) <= 80
    assert set(options_of(name)) <= set(re.split(r"[\s│]+", text))
    assert not EXCLUDED_WORDS.findall(text)
    first = summary(name)
    assert first.endswith(".")
    assert len(first) <= 100
    lines = examples(load(name))
    assert lines
    assert all(f"  {line}\n" in text for line in lines)
    assert all(text for text in options_of(name).values()), "every option is described"


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_parsed(name: str) -> None:
    for line in examples(load(name)):
        program, *words = shlex.split(line)
        assert program == "eyetest"
        assert asked(words, all_commands()).split()[0] == name.split()[0]
        app = application(words)
        _global_options(app, shown=False)
        _, bound, _ = app.meta.parse_args(words, exit_on_error=False, print_error=False)
        app.parse_args(bound.args, exit_on_error=False, print_error=False)


def test_the_reference_is_up_to_date() -> None:
    assert reference.PAGE.read_text("utf-8") == reference.page(), "python -m tools.commands"


def test_help_loads_nothing_heavy() -> None:
    """One process gives all help: what no command has loaded in the end, none loads by itself."""
    code = "import sys\nfrom eyetest.cli import main\n"
    code += f"for name in {['', *NAMES]!r}:\n    sys.argv = ['eyetest', *name.split(), '--help']\n"
    code += "    try:\n        main()\n    except SystemExit:\n        print('loaded', name, *sys.modules, sep='|')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = [line.split("|")[1:] for line in done.stdout.splitlines() if line.startswith("loaded|")]
    assert [name for name, *_ in loaded] == ["", *NAMES]
    for name, *modules in loaded:
        assert not HEAVY.intersection(modules), name


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("reveiw",), 'there is no command "reveiw"; did you mean "review"?'),
        (("harden", "optoins"), 'there is no command "harden optoins"; did you mean "options"?'),
        (("audit",), "BENCH"),
        (("run", "b", "--modles", "m"), "--models"),
        (("run", "b", "--samples", "x"), "see eyetest run --help"),
    ],
)
def test_a_typing_error_is_one_line(words: tuple[str, ...], message: str) -> None:
    assert message in call(*words).refused()


def test_python_m_eyetest() -> None:
    done = subprocess.run([sys.executable, "-m", "eyetest", "--version"], capture_output=True, text=True, check=True)
    assert re.match(r"(eyetest )?\d+\.", done.stdout)
