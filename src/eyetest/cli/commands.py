"""The commands, put together: each is loaded when it is called."""

import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import cache, wraps
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from inspect import Parameter, Signature, getdoc, signature
from pathlib import Path
from textwrap import dedent
from typing import Annotated, Any, get_origin, get_type_hints

import typer
from rich import box
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from eyetest.cli.main import CtrlCError, PipeClosedError
from eyetest.cli.terminal import out
from eyetest.errors import InputError, nearest, short
from eyetest.registry import load_entry_point, owner, refuse_taken
from eyetest.store.files import refuse_special
from eyetest.store.urls import local_path
from eyetest.version import __version__
from eyetest.wording import typed

_UsageError: Any = typer.BadParameter.__mro__[1]  # what typer raises where a command is called in a wrong way
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
        kind = hints.get(name, str)
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
        terminal, options = (importlib.import_module(f"eyetest.cli.{name}") for name in ("terminal", "options"))
        observing = importlib.import_module("eyetest.jobs.opening").observing
        with observing(options.TERMINAL), terminal.timed(f"{ctx.command_path} with {', '.join(names) or 'nothing'}"):
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
        print_listing(ctx.command_path, self.help or "", self.sentences(ctx), options)

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
            terminal = importlib.import_module("eyetest.cli.terminal")
            terminal.begin(verbose=ctx.params["verbose"], file=ctx.params["log"])
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
        if args[0] in GROUPS and args[0] in COMMANDS and " ".join(args[:2]) not in COMMANDS:
            if not ctx.resilient_parsing:
                _refuse_slip(args[:2])
            return args[0], _load(args[0]), args[1:]
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, name: str) -> Any:
        if self.listing:
            return TyperCommand(name, help=summary(name))
        if name in GROUPS:
            return _Group(name=name, help=GROUPS[name], no_args_is_help=True, context_settings=_HELP)
        return _load(name)


class _Group(_ListedCommands):
    """The commands that begin with one word."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name.split()[1] for name in COMMANDS if name.startswith(f"{self.name} ")]

    def get_command(self, ctx: Any, name: str) -> Any:
        whole = f"{self.name} {name}"
        return TyperCommand(name, help=summary(whole)) if self.listing else _load(whole)


def _unknown(words: Sequence[str], known: Iterable[str]) -> InputError:
    if " ".join(words[:2]) in WORLD_COMMANDS or words[0] in WORLD_COMMANDS:
        command = " ".join(words) if words[0] in GROUPS else words[0]
        return InputError(f"eyetest {command} needs the package eyetest-world: pip install 'eyetest[demo]'")
    return InputError(f"there is no command {short(' '.join(words))}; {nearest(words[-1], known)}")


def _refuse_slip(words: Sequence[str]) -> None:
    """Where a command may be followed by a path or by another word: a path that is not there may be a slip."""
    known = [name.split()[1] for name in COMMANDS if name.startswith(f"{words[0]} ")]
    if len(words) > 1 and get_close_matches(words[1], known) and not Path(words[1]).exists():
        raise _unknown(words, known)


def _load(name: str) -> Any:
    """A command, once its module is loaded; None where there is no such command.

    The paragraph "Example:" at the end of a plug-in's docstring, with indented lines, is its example.
    """
    if name not in COMMANDS:
        return None
    if name in PLUGIN_COMMANDS:
        function = load_entry_point(PLUGIN_COMMANDS[name])
    else:
        module, attribute = place_of(name)
        function = getattr(importlib.import_module(module), attribute)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, context_settings=_HELP)
    called = name.rpartition(" ")[2]
    about, _, example = (getdoc(function) or "").partition("\n\nExample:\n")
    alone.command(called, cls=_Command, help=re.sub(r"(?<!\n)\n(?!\n)", " ", about))(flat(function))
    command: Any = typer.main.get_command(alone)
    command.example = EXAMPLES.get(name) or dedent(example).strip() or f"eyetest {name} --help"
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
    allow_env: Annotated[
        list[str] | None,
        typer.Option("--allow-env", metavar="NAME", help="Allow key_env in files to name this variable (repeat it)."),
    ] = None,
) -> None:
    if allow_env:
        importlib.import_module("eyetest.models.openai").allow_variables(allow_env)


JOBS = {
    "Begin": {
        "init": "init:init",
        "doctor": "doctor:doctor",
    },
    "Look at a benchmark": {
        "audit": "audit:audit",
        "show": "show:show",
        "open": "open:open_",
    },
    "Ask models": {
        "run": "run:run",
        "suite": "suite:suite",
        "describe": "curate:describe",
        "status": "look:status",
        "import-answers": "exchange:import_answers_",
        "export-answers": "exchange:export_answers_",
        "models": "exchange:models",
        "merge": "exchange:merge",
    },
    "Judge what they said": {
        "score": "measure:score",
        "measure": "measure:measure",
        "compare": "compare:compare",
        "report": "report:report",
        "explain": "look:explain",
        "read": "measure:read",
        "reconcile": "reconcile:reconcile",
        "estimate": "curate:estimate",
    },
    "Improve a benchmark": {
        "refine": "refine:refine",
        "recipe": "refine:recipe",
        "review": "review:review",
        "review invite": "review:invite",
        "review revoke": "review:revoke",
        "review status": "review:status",
        "review revise": "review:revise",
        "review export": "review_tools:export",
        "review import": "review_tools:import_",
        "reform": "reform:reform",
        "harden options": "harden_options:options",
        "harden screenshot": "harden:screenshot",
        "subset": "curate:subset",
    },
    "Share it": {
        "import": "exchange:import_",
        "export": "exchange:export",
        "card": "curate:card",
    },
}
"""Each command under its job: the module of this folder that holds it, and its function there."""
GROUPS = {
    "harden": "Make a benchmark harder, or new: more options, questions inside pictures, editions.",
    "review": "Let people decide about items in a browser: links for them, how far they are, what they agree on.",
}
"""What the commands of two words are about, by their first, which may be a command itself."""
PLUGINS = "From installed plug-ins"
WORLD_COMMANDS = ("demo", "world", "zoo", "harden renew", "harden twins")
"""Commands of the distribution eyetest-world."""


def _plugin_commands() -> dict[str, EntryPoint]:
    """Commands of other distributions: entry points named ``word``, or ``group.word`` for a group above."""
    taken = {*GROUPS, *(name for commands in JOBS.values() for name in commands)}
    points: dict[str, EntryPoint] = {}
    for point in entry_points(group="eyetest.command"):
        name = point.name.replace(".", " ")
        refuse_taken(name, {*taken, *points}, "command", point)
        if " " in name and name.split()[0] not in GROUPS:
            raise InputError(f'{owner(point)}: command "{name}": two words begin with one of {", ".join(GROUPS)}')
        points[name] = point
    return points


PLUGIN_COMMANDS = _plugin_commands()
JOBS[PLUGINS] = {name: point.value for name, point in PLUGIN_COMMANDS.items()}
COMMANDS = {name: place for commands in JOBS.values() for name, place in commands.items()}


def place_of(name: str) -> tuple[str, str]:
    """The module of a command, and the name of its function."""
    module, _, function = COMMANDS[name].partition(":")
    return (module if name in PLUGIN_COMMANDS else f"eyetest.cli.{module}"), function


def job_of(name: str) -> str:
    """What a command, or the first word of some, is for."""
    return next(job for job, commands in JOBS.items() if any(known.split()[0] == name for known in commands))


def summary(name: str) -> str:
    """The first sentence of a command's help."""
    if name in GROUPS:
        return GROUPS[name]
    module, function = place_of(name)
    said = re.search(rf'^def {function}\(.*?"""(.*?)("""|\n\n)', _source(module), re.DOTALL | re.MULTILINE)
    return " ".join(said[1].split()) if said else ""


@cache
def _source(module: str) -> str:
    """The source of a module that is not imported; nothing where it cannot be found."""
    package, _, inner = module.partition(".")
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return ""
    folder = Path(spec.origin).parent / inner.replace(".", "/")
    files = (folder.with_suffix(".py"), folder / "__init__.py") if inner else (Path(spec.origin),)
    return next((file.read_text(encoding="utf-8") for file in files if file.is_file()), "")


Lines = Sequence[tuple[str, str]]
"""What can be typed, and what it does."""


def print_listing(path: str, about: str, commands: Mapping[str, Lines], options: Lines) -> None:
    """Show commands by the title of their panel, in panels like those of a command's own help."""
    usage = Text.assemble((" Usage: ", "bold yellow"), (f"{path} [OPTIONS] COMMAND [ARGS]...", "bold"))
    out.print("", usage, "", Padding(Text(about), (0, 1, 1, 1)), sep="\n")
    width = max(len(name) for lines in commands.values() for name, _ in lines)
    for title, lines in commands.items():
        out.print(_panel(title, lines, width))
    out.print(_panel("Options", options, max(len(name) for name, _ in options)))


def _panel(title: str, lines: Iterable[tuple[str, str]], width: int) -> Panel:
    table = Table(box=None, show_header=False, pad_edge=False, expand=True, padding=(0, 1))
    table.add_column(style="bold cyan", no_wrap=True, width=width)
    table.add_column(ratio=1)
    for name, what in lines:
        table.add_row(Text(name), Text(what))
    return Panel(table, title=title, title_align="left", border_style="dim", box=box.ROUNDED)


def option_line(option: Any) -> tuple[str, str]:
    """An option as it is typed, and what it does."""
    flags = ", ".join(sorted((*option.opts, *option.secondary_opts), key=len))
    value = "" if option.is_flag or option.param_type_name == "argument" else f" {option.metavar or ''}".rstrip()
    variable = f" Also by {option.envvar}." if isinstance(option.envvar, str) else ""
    return flags + value, f"{option.help or ''}{variable}"


EXAMPLES = {
    "init": "eyetest init mybench.tsv",
    "doctor": "eyetest doctor run --models models.yaml",
    "audit": "eyetest audit mybench.tsv --page audit.html",
    "show": "eyetest show mybench.tsv 17 --sight blind",
    "open": "eyetest open mybench.tsv run --browser",
    "run": (
        "eyetest run mybench.tsv --models models.yaml --sight image,blind --to run\n"
        'eyetest run mybench.tsv --models models.yaml --until "new>old" --to race'
    ),
    "suite": "eyetest suite suite.yaml --to results",
    "describe": "eyetest describe mybench.tsv --model openai:gpt-4o --to described",
    "status": "eyetest status run",
    "models": "eyetest models run --rename gpt4o=openai/gpt-4o --remove test",
    "merge": "eyetest merge run-ann run-ben --to run",
    "import-answers": "eyetest import-answers predictions.xlsx --bench mybench.tsv --to run",
    "export-answers": "eyetest export-answers run --to answers.csv",
    "score": "eyetest score run --rules vlmevalkit",
    "measure": "eyetest measure gain run --sight image,blind",
    "compare": "eyetest compare run --model new,old --flips 5",
    "report": "eyetest report run --page report.html",
    "explain": "eyetest explain run 17 --model new",
    "read": 'eyetest read --options cat dog bird fish --text "A dog" --rules all',
    "reconcile": (
        "eyetest reconcile run run --rules-b mmmu\n"
        "eyetest reconcile gpt4o_MMStar.xlsx run\n"
        "eyetest reconcile run 54.0 --model gpt-4o"
    ),
    "estimate": "eyetest estimate small run",
    "refine": "eyetest refine mybench --recipe chance-aware --models models.yaml --to new",
    "recipe": "eyetest recipe show mmstar",
    "review": (
        "eyetest review mybench run --items 100 --form mmstar --browser\neyetest review invite Ann --on mybench"
    ),
    "review invite": "eyetest review invite Ann --on mybench",
    "review revoke": "eyetest review revoke Ann --on mybench",
    "review status": "eyetest review status mybench",
    "review revise": "eyetest review revise mybench --to mybench-2",
    "review export": "eyetest review export mybench --to studio --tool label-studio",
    "review import": "eyetest review import export.json --on mybench --reviewer 3=Ann",
    "reform": ("eyetest reform list\neyetest reform vqav2 -a annotations --images val2014 --to vqav2"),
    "harden options": ("eyetest harden options mybench --option-count 10 --to mybench-10\neyetest review mybench-10"),
    "harden screenshot": "eyetest harden screenshot mybench --look phone --to screens",
    "subset": "eyetest subset mybench --answers run --share 0.1 --to small",
    "import": "eyetest import mybench.tsv --licence CC-BY-4.0 --to mybench",
    "export": "eyetest export mybench --format vlmevalkit --to mybench.tsv",
    "card": "eyetest card mybench --fact licence=CC-BY-4.0",
}
