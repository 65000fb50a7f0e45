"""The commands, put together: each is loaded when it is called."""

import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, Signature, getdoc, signature
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from eyetest.cli.catalogue import COMMANDS, GROUPS, job_of, summary
from eyetest.cli.completion import sketch
from eyetest.cli.examples import EXAMPLES
from eyetest.cli.listing import Listing, option_line
from eyetest.cli.main import CtrlCError, PipeClosedError
from eyetest.cli.renamed import command_of, renamed
from eyetest.cli.terminal import note
from eyetest.errors import InputError, nearest, short
from eyetest.store.files import refuse_special
from eyetest.store.urls import local_path
from eyetest.version import __version__
from eyetest.wording import typed

_UsageError: Any = typer.BadParameter.__mro__[1]
"""What typer raises where a command is called in a wrong way."""
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
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # the help was printed
            raise
        words = error.format_message().rstrip(".").replace(". Did", "; did")
        how = typed(*(error.ctx.command_path if error.ctx else "eyetest").split(), "--help")
        raise InputError(f"{words[:1].lower()}{words[1:]}; {how} tells more") from None


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
    """Takes paths in, wherever they lead, and refuses pipes and devices among them; shows an example."""

    example = ""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        lines = "".join(f"   {line}\n" for line in self.example.splitlines())
        typer.echo(f" Example{'s' * (lines.count(chr(10)) > 1)}:\n{lines}")

    def get_help_option(self, ctx: Any) -> Any:
        option: Any = super().get_help_option(ctx)
        option.metavar = ""
        return option

    def invoke(self, ctx: Any) -> Any:
        names = (param.name for param in self.params if ctx.get_parameter_source(param.name).name == "COMMANDLINE")
        log = importlib.import_module("eyetest.cli.log")
        with log.timed(f"{ctx.command_path} with {', '.join(names) or 'nothing'}"):
            return self._invoke(ctx)

    def _invoke(self, ctx: Any) -> Any:
        for name, value in ctx.params.items():
            if isinstance(value, Path):
                ctx.params[name] = _taken(value)
            elif isinstance(value, list | tuple):
                ctx.params[name] = type(value)(_taken(one) if isinstance(one, Path) else one for one in value)
        return super().invoke(ctx)


def _taken(path: Path) -> Path:
    """A path that was given: what lies elsewhere by its mirror here, and no pipe or device."""
    path = local_path(path)
    refuse_special(path)
    return path


class _ListedCommands(TyperGroup):
    """Commands that are loaded when they are called; a list of them loads none."""

    listing = False
    """Whether a shell only asks what there is."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        options = [option_line(one) for one in self.get_params(ctx) if not getattr(one, "hidden", False)]
        Listing(ctx.command_path, self.help or "", self.sentences(ctx), options).print()

    def sentences(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """One about each command, under the titles that they are listed by."""
        return {"Commands": [(name, summary(f"{self.name} {name}")) for name in self.list_commands(ctx)]}

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        self.listing = True
        return super().shell_complete(ctx, incomplete)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if ctx.resilient_parsing:  # a shell asks what could follow; it is told nothing else
            return super().resolve_command(ctx, args)
        if args[0] not in (known := self.list_commands(ctx)) and not args[0].startswith("-"):
            raise _unknown([*ctx.command_path.split()[1:], args[0]], known)
        return super().resolve_command(ctx, args)


class _Commands(_ListedCommands):
    """Everything that can be typed first."""

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        with _told_by_us():
            ctx = super().make_context(*arguments, **settings)
        if not ctx.resilient_parsing:
            log = importlib.import_module("eyetest.cli.log")
            log.begin(verbose=ctx.params["verbose"], file=ctx.params["log"])
        return ctx

    def invoke(self, ctx: Any) -> Any:
        with _told_by_us():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(dict.fromkeys(name.split()[0] for name in COMMANDS))

    def sentences(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """Each command once, under its job."""
        by_job: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            by_job.setdefault(job_of(name), []).append((name, summary(name)))
        return by_job

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if not ctx.resilient_parsing:
            args = _in_todays_words(args)
        if (name := command_of(args)) in COMMANDS and " --" in name:
            return args[0], _wanted(ctx, name), args[1:]
        if args[0] in GROUPS and args[0] in COMMANDS and " ".join(args[:2]) not in COMMANDS:
            if not ctx.resilient_parsing:
                _refuse_slip(args[:2])
            return args[0], _wanted(ctx, args[0]), args[1:]
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, name: str) -> Any:
        if self.listing:
            return TyperCommand(name, help=summary(name))
        if name in GROUPS:
            return _Group(name=name, help=GROUPS[name], no_args_is_help=True, context_settings=_HELP)
        return _wanted(ctx, name)


class _Group(_ListedCommands):
    """The commands that begin with one word."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name.split()[1] for name in COMMANDS if name.startswith(f"{self.name} ")]

    def get_command(self, ctx: Any, name: str) -> Any:
        whole = f"{self.name} {name}"
        return TyperCommand(name, help=summary(whole)) if self.listing else _wanted(ctx, whole)


def _in_todays_words(args: list[str]) -> list[str]:
    """What was typed, with old spellings as they are called today; each is said."""
    args, old = renamed(args)
    for spelling, today in old.items():
        note(f"{spelling} is {today} now; {' '.join(args[: 1 + (args[0] in GROUPS)])} {spelling} still works")
    return args


def _unknown(words: Sequence[str], known: Iterable[str]) -> InputError:
    return InputError(f"there is no command {short(' '.join(words))}; {nearest(words[-1], known)}")


def _refuse_slip(words: Sequence[str]) -> None:
    """Where a command may be followed by a path or by another word: a path that is not there may be a slip."""
    known = [name.split()[1] for name in COMMANDS if name.startswith(f"{words[0]} ")]
    if len(words) > 1 and get_close_matches(words[1], known) and not Path(words[1]).exists():
        raise _unknown(words, known)


def _wanted(ctx: Any, name: str) -> Any:
    """A command to run; a shell that asks what may follow gets a sketch of it."""
    return sketch(name) if ctx.resilient_parsing else _load(name)


def _load(name: str) -> Any:
    """A command, once its module is loaded; None where there is no such command."""
    if name not in COMMANDS:
        return None
    module, _, function = COMMANDS[name].partition(":")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, context_settings=_HELP)
    loaded = importlib.import_module(f"eyetest.cli.{module}")
    called = name.partition(" --")[0].rpartition(" ")[2]
    said = getdoc(called_by := getattr(loaded, function)) or ""
    alone.command(called, cls=_Command, help=re.sub(r"(?<!\n)\n(?!\n)", " ", said))(flat(called_by))
    command: Any = typer.main.get_command(alone)
    command.example = EXAMPLES[name]
    for one in command.params:
        _name_value(one)
    return command


_VALUES = {bool: "", int: "N", float: "X", str: "TEXT", Path: "PATH"}


def _name_value(parameter: Any) -> None:
    """Let help call a value by what it is to a person, and leave out types and ranges: who errs is told those."""
    if parameter.param_type_name == "argument":
        parameter.display_type_rich = lambda ctx: ""
        is_plain = parameter.required or parameter.metavar.startswith("[")
        parameter._usage_display_name = lambda: parameter.metavar if is_plain else f"[{parameter.metavar}]"
    elif parameter.metavar is None:
        parameter.metavar = _VALUES.get(parameter.type_descriptor.annotation)
    parameter._get_number_range_help_str = lambda: None


app = typer.Typer(
    cls=_Commands,
    help="An eye test for vision-language benchmarks and the models that take them.",
    no_args_is_help=True,
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
    verbose: Annotated[bool, typer.Option("--verbose", help="Say on standard error what is done.")] = False,
    log: Annotated[
        Path | None,
        typer.Option("--log", metavar="FILE", envvar="EYETEST_LOG", help="Write down what is done, in detail."),
    ] = None,
) -> None:
    pass
