"""The commands, put together: each is loaded when it is called."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from eyetest.cli.main import CtrlCError, PipeClosedError
from eyetest.store.files import refuse_special
from eyetest.version import __version__

_COMMANDS = {
    "audit": "audit:audit",
    "import": "exchange:import_",
    "export": "exchange:export",
    "show": "show:show",
    "run": "run:run",
    "status": "look:status",
    "score": "score:score",
    "explain": "look:explain",
    "read": "score:read",
    "measure": "measure:measure",
    "compare": "compare:compare",
    "compare --ask": "race:compare_by_asking",
    "report": "report:report",
    "open": "open:open_",
    "reform": "reform:reform",
    "suite": "suite:suite",
    "refine": "refine:refine",
    "recipe": "refine:recipe",
    "card": "curate:card",
    "world": "world:world",
    "zoo": "world:zoo",
    "describe": "curate:describe",
    "subset": "curate:subset",
    "estimate": "curate:estimate",
    "diff-rules": "score:diff_rules",
    "import-answers": "exchange:import_answers_",
    "export-answers": "exchange:export_answers_",
    "demo": "demo:demo",
    "review": "review:review",
    "review invite": "review:invite",
    "review revoke": "review:revoke",
    "review status": "review:status",
    "review revise": "review:revise",
    "review export": "review_tools:export",
    "review import": "review_tools:import_",
    "harden options": "harden_options:options",
    "harden screenshot": "harden:screenshot",
    "harden page": "harden:page",
    "harden renew": "editions:renew",
    "harden twins": "editions:twins",
}
"""Each command, the module of this folder that holds it, and its function there.

One with an option in its name is what the command means wherever that option is said: it takes other words then.
"""
_GROUPS = {
    "harden": "Make a benchmark harder, or new: more options, questions inside pictures, editions.",
    "review": "Let people decide about items in a browser: links for them, how far they are, what they agree on.",
}
"""What the commands of two words are about, by their first, which may be a command itself."""
_HELP = {"help_option_names": ["-h", "--help"]}


@contextmanager
def _told_by_us() -> Iterator[None]:
    """Takes what typer would end without a word, or with a code of its own, past it."""
    try:
        yield
    except BrokenPipeError as error:
        raise PipeClosedError from error
    except KeyboardInterrupt as error:
        raise CtrlCError from error


def flat(function: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of its groups in their place."""
    groups: dict[str, tuple[Any, list[str]]] = {}
    parameters: list[Parameter] = []
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in signature(function).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind, kind=Parameter.KEYWORD_ONLY))
            continue
        own = get_type_hints(kind, include_extras=True)
        known = [one for one in fields(kind) if get_origin(own[one.name]) is Annotated]
        groups[name] = (kind, [one.name for one in known])
        parameters += [
            Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=own[one.name])
            for one in known
        ]

    @wraps(function)
    def command(**said: Any) -> None:
        made = {name: kind(**{key: said.pop(key) for key in keys}) for name, (kind, keys) in groups.items()}
        function(**said, **made)

    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


class _Command(TyperCommand):
    """Refuses pipes and devices among the paths that it is given, before anybody waits for them."""

    def invoke(self, ctx: Any) -> Any:
        for value in ctx.params.values():
            for path in value if isinstance(value, list | tuple) else (value,):
                if isinstance(path, Path):
                    refuse_special(path)
        return super().invoke(ctx)


class _Commands(TyperGroup):
    """Loads a command's module when the command is called, so that each starts as fast as it can."""

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        with _told_by_us():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        with _told_by_us():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(dict.fromkeys(name.split()[0] for name in _COMMANDS))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        for word in args[1:]:
            if (name := f"{args[0]} {word.partition('=')[0]}") in _COMMANDS and word.startswith("--"):
                return args[0], _load(name), args[1:]
        if args[0] in _GROUPS and args[0] in _COMMANDS and " ".join(args[:2]) not in _COMMANDS:
            return args[0], _load(args[0]), args[1:]
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, name: str) -> Any:
        if name in _GROUPS:
            return _Group(name=name, help=_GROUPS[name], no_args_is_help=True, context_settings=_HELP)
        return _load(name)


class _Group(TyperGroup):
    """The commands that begin with one word."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name.split()[1] for name in _COMMANDS if name.startswith(f"{self.name} ")]

    def get_command(self, ctx: Any, name: str) -> Any:
        return _load(f"{self.name} {name}")


def _load(name: str) -> Any:
    """A command, once its module is loaded; None where there is no such command."""
    if name not in _COMMANDS:
        return None
    module, _, function = _COMMANDS[name].partition(":")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, context_settings=_HELP)
    loaded = importlib.import_module(f"eyetest.cli.{module}")
    alone.command(name.partition(" --")[0].rpartition(" ")[2], cls=_Command)(flat(getattr(loaded, function)))
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=_Commands,
    help="An eye test for vision-language benchmarks and the models that take them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=_HELP,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"eyetest {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
