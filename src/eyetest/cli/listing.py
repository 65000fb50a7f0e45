"""The help of whatever has commands under it: those by their job, one sentence about each, and the options.

Drawn here and not by typer, whose help loads renderers of Markdown and of tracebacks: half the time that ``eyetest
--help`` would take.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rich import box
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from eyetest.cli.terminal import out

Lines = Sequence[tuple[str, str]]
"""What can be typed, and what it does."""


class Listing(NamedTuple):
    """All that is told of some commands."""

    path: str
    """What was typed to get here."""
    help: str
    commands: Mapping[str, Lines]
    """By the title of their panel."""
    options: Lines

    def print(self) -> None:
        """Show it, in panels like those of a command's own help."""
        usage = Text.assemble((" Usage: ", "bold yellow"), (f"{self.path} [OPTIONS] COMMAND [ARGS]...", "bold"))
        out.print("", usage, "", Padding(Text(self.help), (0, 1, 1, 1)), sep="\n")
        width = max(len(name) for lines in self.commands.values() for name, _ in lines)
        for title, lines in self.commands.items():
            out.print(_panel(title, lines, width))
        out.print(_panel("Options", self.options, max(len(name) for name, _ in self.options)))


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
