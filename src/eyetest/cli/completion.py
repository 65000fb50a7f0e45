"""What a shell is told of a command when somebody presses Tab: its options, read from the source.

Loading a command takes seconds, since it loads what it works with; nobody waits that long for a Tab.
"""

import ast
from collections.abc import Iterator
from functools import cache
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from eyetest.cli.catalogue import COMMANDS

_ROOM = "eyetest.cli"


class Flags(NamedTuple):
    """How an option is typed, and a word about it."""

    spellings: tuple[str, ...]
    about: str


class CommandSketch(TyperCommand):
    """A command with the names of its options and nothing else; whatever was typed so far is let be."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look at nothing, so that no option counts as given: many can be given twice."""
        ctx.args = args
        return args


def sketch(name: str) -> Any:
    """A command as a shell needs to know it; None where there is no such command."""
    if name not in COMMANDS:
        return None
    kinds = {
        f"option_{number}": Annotated[bool, typer.Option(*one.spellings, help=one.about)]
        for number, one in enumerate(flags(name))
    }

    def command(**said: bool) -> None:
        pass

    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(one, Parameter.KEYWORD_ONLY, default=False, annotation=kind) for one, kind in kinds.items()]
    )
    command.__annotations__ = kinds
    alone = typer.Typer(add_completion=False)
    alone.command(cls=CommandSketch)(command)
    return typer.main.get_command(alone)


def flags(name: str) -> Iterator[Flags]:
    """The options of a command, those of its groups in their place."""
    module, _, function = COMMANDS[name].partition(":")
    definition = _definitions(module)[function]
    assert isinstance(definition, ast.FunctionDef)
    for parameter in (*definition.args.args, *definition.args.kwonlyargs):
        assert parameter.annotation is not None
        yield from _of(module, parameter.arg, parameter.annotation)


def _of(module: str, name: str, kind: ast.expr) -> Iterator[Flags]:
    """The options that a parameter of a type stands for: none, one, or those of a group."""
    if isinstance(kind, ast.Subscript) and isinstance(kind.slice, ast.Tuple):
        if isinstance(made := kind.slice.elts[1], ast.Call) and "rgument" not in ast.unparse(made.func):
            yield _read(name, made)
        return
    home, found = _find(module, kind)
    if isinstance(found, ast.expr):
        yield from _of(home, name, found)
    elif isinstance(found, ast.ClassDef):
        for base in found.bases:
            yield from _of(home, name, base)
        for field in found.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                yield from _of(home, field.target.id, field.annotation)


def _read(name: str, made: ast.Call) -> Flags:
    texts = [part.value for part in made.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    spellings = tuple(texts[0].split()) if texts else ()
    return Flags(spellings or (f"--{name.replace('_', '-')}",), texts[1] if len(texts) > 1 else "")


def _find(module: str, kind: ast.expr) -> tuple[str, ast.AST | None]:
    """Where in this folder a type is defined that is written ``Name`` or ``module.Name``, and what it is."""
    match kind:
        case ast.Attribute(value=ast.Name(id=owner), attr=word):
            origin = _definitions(module).get(owner)
            module = origin.name if isinstance(origin, ast.alias) else module
        case ast.Name(id=word):
            origin = _definitions(module).get(word)
            module = origin.name.rpartition(".")[0] if isinstance(origin, ast.alias) else module
        case _:
            return module, None
    return module, _definitions(module).get(word)


@cache
def _definitions(module: str) -> dict[str, ast.AST]:
    """What a module of this folder defines or imports, by name; nothing for modules of other folders."""
    path = Path(__file__).with_name(f"{module}.py")
    named: dict[str, ast.AST] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else ():
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            named[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named[node.targets[0].id] = node.value
        elif isinstance(node, ast.ImportFrom):
            inner = f"{node.module}.".removeprefix(f"{_ROOM}.")
            named |= {one.asname or one.name: ast.alias(f"{inner}{one.name}") for one in node.names}
    return named
