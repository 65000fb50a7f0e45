"""Messages name only commands and options that exist: read out of every text in the sources."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from cyclopts import App

from eyetest.cli.app import GROUPS, all_commands, load
from eyetest.cli.main import as_option
from tests.conftest import ROOT

GLOBAL = {"--output", "--overwrite", "--verbose", "--log", "--allow-env", "--help", "--version"}
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "packages/eyetest-world/src").rglob("*.py")])
SPELLERS = ("param", "heading")
OF_OTHERS = {"--upgrade", "--index-url", "--enable-prefix-caching", "--max-logprobs", "--trust-remote-code"}
"""Options of other programs, which messages name with their commands."""


@cache
def options_of(command: str) -> frozenset[str]:
    arguments = App(default_command=load(command)).assemble_argument_collection()
    return frozenset(name for argument in arguments for name in argument.names if name.startswith("-")) | GLOBAL


def every_option() -> set[str]:
    return {option for command in all_commands() for option in options_of(command)}


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text in a module with its line; a value inside of one is ``{}``, a docstring counts as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def named_commands(text: str) -> Iterator[tuple[str, str]]:
    """Commands that a text names as ``eyetest NAME …``, each with the words up to the next one."""
    for match in re.finditer(r"(?<![\w./:-])eyetest ((?:[a-z]+ ?){1,2})((?:(?!eyetest )[^;,()`\n])*)", text):
        words = match[1].split()
        two, one = " ".join(words[:2]), words[0]
        if two in all_commands():
            yield two, match[2]
        elif one in all_commands() or one in GROUPS:
            yield one, " ".join([*words[1:], match[2]])


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_texts_have_the_options_beside_them(path: Path) -> None:
    wrong = []
    for line, text in texts(ast.parse(path.read_text("utf-8"))):
        for command, rest in named_commands(text):
            if command not in all_commands():
                continue
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", rest):
                if option not in options_of(command):
                    wrong.append(f"{path.name}:{line}: eyetest {command} has no {option}")
    assert not wrong, wrong


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_option_that_a_message_names_exists(path: Path) -> None:
    """Parameters are written by ``param`` and ``heading``, which know no command; each is at least one's option."""
    known, wrong = every_option() | OF_OTHERS, []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SPELLERS
        if not is_call or not node.args or not isinstance(node.args[0], ast.Constant):  # type: ignore[attr-defined]
            continue
        option = as_option(str(node.args[0].value), None, False)  # type: ignore[attr-defined]
        if option not in known:
            wrong.append(f"{path.name}:{node.lineno}: {option}")  # type: ignore[attr-defined]
    assert not wrong, wrong


def _commands_module(path: Path) -> list[str]:
    """The commands whose functions stand in a module."""
    return [name for name in all_commands() if Path(load(name).__code__.co_filename) == path]


COMMAND_FILES = sorted({Path(load(name).__code__.co_filename) for name in all_commands()})


@pytest.mark.parametrize("path", COMMAND_FILES, ids=lambda path: path.name)
def test_a_command_that_names_an_option_has_it(path: Path) -> None:
    """Inside a command's own function, an option beside no command's name is one of its own."""
    wrong = []
    tree = ast.parse(path.read_text("utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name in _commands_module(path):
        for node in ast.walk(functions[load(name).__name__]):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SPELLERS
            if is_call and node.args and isinstance(node.args[0], ast.Constant):  # type: ignore[attr-defined]
                option = as_option(str(node.args[0].value), None, False)  # type: ignore[attr-defined]
                if option not in options_of(name):
                    wrong.append(f"{path.name}:{node.lineno}: eyetest {name} has no {option}")  # type: ignore[attr-defined]
    assert not wrong, wrong


def test_every_command_that_a_message_types_exists() -> None:
    """``typed("eyetest", "show", …)`` names a command, and options that it has."""
    wrong = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "typed"):
                continue
            words = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.args]
            if words[:1] != ["eyetest"] or len(words) < 2 or words[1] == "{}":
                continue
            command = " ".join(words[1:3]) if " ".join(words[1:3]) in all_commands() else words[1]
            if command not in all_commands():
                wrong.append(f"{path.name}:{node.lineno}: {' '.join(words)}")
                continue
            for option in (word for word in words if word.startswith("--")):
                if option not in options_of(command):
                    wrong.append(f"{path.name}:{node.lineno}: eyetest {command} has no {option}")
    assert not wrong, wrong
