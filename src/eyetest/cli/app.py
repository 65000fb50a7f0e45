"""The application: which commands there are, how their options are parsed, how their results are printed."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint
from inspect import BoundArguments, getdoc, signature
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, NamedTuple

from cyclopts import App, Group, Parameter
from cyclopts.config import Dict
from cyclopts.exceptions import CycloptsError

from eyetest.errors import InputError
from eyetest.registry import load_entry_point, owner, points_of, refuse_taken
from eyetest.version import __version__

PROJECT = "eyetest.yaml"
"""The project file: values for options that a command line leaves out, and named conditions and column maps."""
_WITH_VALUE = ("--output", "--log", "--allow-env")
"""Global options that take a value and may stand before the command."""
Output = Literal["table", "json", "csv", "latex"]


class Command(NamedTuple):
    """A command: the group it is listed under, and its function as ``module:function``."""

    group: str
    target: str


PLUGINS = "From installed plug-ins"
_GLOBAL = Group("Options of every command", sort_key=9)
_LISTED = {
    "Begin": ("doctor",),
    "Look at a benchmark": ("audit", "show", "open", "similar"),
    "Ask models": ("run", "merge"),
    "Evaluate answers": ("score", "measure", "compare", "leaderboard", "report", "certify", "reconcile"),
    "Improve a benchmark": (
        *("refine", "review", "review invite", "review revise", "review export", "review import"),
        *("reform", "harden options", "harden screenshot", "subset", "pool"),
    ),
    "Exchange files": ("import", "export"),
}
_TARGETS = {
    **{"open": "open:browse", "import": "exchange:import_file", "export": "exchange:export_file"},
    **{"review export": "review:export_review", "review import": "review:import_review"},
    **{"review invite": "review:invite", "review revise": "review:revise"},
    **{"harden options": "harden:harden_options", "harden screenshot": "harden:harden_screenshot"},
}
"""Commands whose function or module has another name."""
COMMANDS = {
    name: Command(group, f"eyetest.commands.{_TARGETS.get(name, f'{name}:{name}')}")
    for group, names in _LISTED.items()
    for name in names
}
"""Commands of this distribution by name; a name of two words belongs to a group below."""
GROUPS = {
    "harden": "Make a benchmark harder: more options, questions inside images, new editions.",
    "review": "Have people decide about items in a browser.",
}
"""First words of commands of two words; a first word may be a command itself."""
_WORLD = ("demo", "world", "harden renew")
"""Commands of the distribution eyetest-world."""


def all_commands() -> dict[str, Command]:
    """Commands of this and of other installed distributions (entry points named ``word`` or ``group.word``)."""
    commands = dict(COMMANDS)
    for name, point in _plugin_points().items():
        commands[name] = Command(PLUGINS, point.value)
    return commands


@cache
def _plugin_points() -> dict[str, EntryPoint]:
    points: dict[str, EntryPoint] = {}
    for point in points_of("command"):
        name = point.name.replace(".", " ")
        refuse_taken(name, {*GROUPS, *COMMANDS, *points}, "command", point)
        if " " in name and name.split()[0] not in GROUPS:
            raise InputError(f'{owner(point)}: command "{name}": two words begin with one of {", ".join(GROUPS)}')
        points[name] = point
    return points


def load(name: str) -> Callable[..., Any]:
    """The function of a command."""
    point = _plugin_points().get(name)
    function: Callable[..., Any] = load_entry_point(point) if point else resolve_name(COMMANDS[name].target)
    return function


def summary(name: str) -> str:
    """The first line of a command's docstring; empty for a plug-in that fails to load, which is listed too."""
    try:
        return help_text(load(name)).partition("\n")[0]
    except InputError:
        return ""


def application(words: Sequence[str]) -> App:
    """The application: the command that the words name, which is imported, or all, which are listed by a summary."""
    from eyetest.cli.terminal import err, out

    commands = all_commands()
    app = App(
        name="eyetest",
        help="Check whether vision-language benchmarks need images, and whether models use them.",
        version=__version__,
        help_format="plaintext",
        default_parameter=Parameter(negative=(), show_default=_shown_default),
        config=_project(),
        result_action="return_value",
        console=out,
        error_console=err,
        group_parameters=Group("Options", sort_key=0),
    )
    panels = {name: Group(name, sort_key=index) for index, name in enumerate((*_LISTED, PLUGINS))}
    for flag in ("--help", "--version"):
        app[flag].group = (_GLOBAL,)
    named = asked(words, commands)
    groups = {name: App(name=name, help=text) for name, text in GROUPS.items()}
    for name, command in commands.items():
        if named and name != named and not name.startswith(f"{named} "):
            continue
        first, _, second = name.partition(" ")
        parent, own = (groups[first], second) if second else (app, first)
        if name == named and name in groups:
            groups[name].default(load(name))
            groups[name].help = help_text(load(name))
            groups[name].help_epilogue = _epilogue(load(name))
        elif name == named:
            function = load(name)
            more = {"help": help_text(function), "help_epilogue": _epilogue(function)}
            parent.command(function, name=own, group=panels[command.group], **more)
        elif name not in groups:
            parent.command(command.target, name=own, help=summary(name), group=panels[command.group])
    for name, group in groups.items():
        inner = commands.get(name) or next((c for n, c in commands.items() if n.startswith(f"{name} ")), None)
        if inner and (not named or name == named.split()[0]):
            group.group = (panels[inner.group],)
            app.command(group)
    return app


def _project() -> Dict:
    """Options from the project file in this folder; a file that is no YAML is an error of one line."""
    content: Any = {}
    if Path(PROJECT).is_file():
        from eyetest.store.handwritten import read_yaml

        content = read_yaml(Path(PROJECT)) or {}
        if not isinstance(content, dict):
            raise InputError(f"{PROJECT}: expected names of options with their values, such as seed: 3")
    known = {str(key): value for key, value in content.items() if not isinstance(value, dict)}
    return Dict(known, source=PROJECT, use_commands_as_keys=False, allow_unknown=True)


def _shown_default(value: Any) -> str | None:
    return None if value is None or value is False or value in ("", (), []) else str(value)


def help_text(function: Callable[..., Any]) -> str:
    """The docstring before its sections, with each paragraph on one line, so that a terminal wraps it."""
    text = re.split(r"\n\n(?:Args|Examples?|Returns|Raises):\n|\n\n>>> ", getdoc(function) or "")[0]
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def asked(words: Sequence[str], commands: dict[str, Command]) -> str:
    """The name of the command that some words call; empty where they call none."""
    plain = _plain_words(words)
    return next((name for name in (" ".join(plain[:2]), *plain[:1]) if name in commands), "")


def _plain_words(words: Sequence[str]) -> list[str]:
    """The words that are no global options and no values of such options."""
    values = {index + 1 for index, word in enumerate(words) if word in _WITH_VALUE}
    return [word for index, word in enumerate(words) if index not in values and not word.startswith("-")]


def examples(function: Callable[..., Any]) -> list[str]:
    """The shell commands among a docstring's examples, which begin with ``$``."""
    return re.findall(r"^ *\$ (.*)$", getdoc(function) or "", re.MULTILINE)


def _epilogue(function: Callable[..., Any]) -> str:
    lines = [f"  {line}" for line in examples(function)]
    heads = [f"Example{'s' * (len(lines) > 1)}:"] if lines else []
    return "\n".join([*heads, *lines, "", "Options of every command, such as --output json: eyetest --help"])


def run(words: Sequence[str]) -> int:
    """Parse a command line, run its command and print the result; the exit code."""
    app = application(words)
    _global_options(app, shown=not asked(words, all_commands()))
    try:
        return app.meta(list(words), exit_on_error=False, print_error=False) or 0
    except CycloptsError as error:
        raise _usage_error(error, words) from None


def _global_options(app: App, *, shown: bool) -> None:
    """Add the options of every command to an application, which then returns the exit code."""
    from eyetest.cli import terminal
    from eyetest.commands.base import observing

    show = Parameter(show=shown)

    @app.meta.default
    def command(  # noqa: D417
        *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
        output: Annotated[Output, show] = "table",
        overwrite: Annotated[bool, show] = False,
        verbose: Annotated[bool, show] = False,
        log: Annotated[Path | None, show, Parameter(env_var="EYETEST_LOG")] = None,
        allow_env: Annotated[list[str] | None, show] = None,
    ) -> int:
        """Run a command.

        Args:
            output: Print the result as a table, or as json, csv or latex.
            overwrite: Replace files and folders that eyetest wrote before.
            verbose: Report each step on standard error.
            log: Write a detailed log to this file.
            allow_env: Allow key_env in files to name this variable; repeatable.

        """
        if allow_env:
            import_module("eyetest.models.openai.connection").allow_variables(allow_env)
        terminal.begin(verbose=verbose, file=log)
        function, bound, _ = app.parse_args(list(tokens), exit_on_error=False, print_error=False)
        if overwrite:
            if "overwrite" not in signature(function).parameters:
                raise InputError("--overwrite: this command replaces nothing")
            bound.arguments["overwrite"] = True
        _take_paths(bound)
        given = ", ".join(bound.arguments) or "nothing"
        named = f"eyetest {getattr(function, '__name__', '')} with {given}"
        with observing(terminal.TERMINAL), terminal.timed(named):
            result = function(*bound.args, **bound.kwargs)
        return terminal.show(result, output)

    app.meta.group_parameters = _GLOBAL
    app.suppress_keyboard_interrupt = app.meta.suppress_keyboard_interrupt = False


def _take_paths(bound: BoundArguments) -> None:
    """Replace remote paths by their local mirrors, and refuse pipes and devices; commands open the hub themselves."""
    from eyetest.commands.base import path_of
    from eyetest.store.files import refuse_special
    from eyetest.store.urls import is_of_hub

    def taken(name: str, value: Any) -> Any:
        if isinstance(value, Path) and not is_of_hub(value):
            value = path_of(value, name)
            refuse_special(value)
        return value

    for name, value in bound.arguments.items():
        many = isinstance(value, list | tuple)
        bound.arguments[name] = type(value)(taken(name, one) for one in value) if many else taken(name, value)


def _usage_error(error: CycloptsError, words: Sequence[str]) -> InputError:
    """One line about a command line that cannot be parsed, and where to look."""
    from eyetest.cli.usage import unknown_command, usage_error

    commands = all_commands()
    plain = _plain_words(words)
    name = asked(words, commands)
    if name or not plain:
        return usage_error(error, name)
    wanted = plain[:2] if plain[0] in GROUPS else plain[:1]
    if " ".join(wanted) in _WORLD:
        return InputError(f"eyetest {' '.join(wanted)} needs the package eyetest-world: pip install 'eyetest[demo]'")
    if plain[0] in GROUPS and len(plain) == 1:
        return usage_error(error, plain[0])
    return unknown_command(wanted, commands)
