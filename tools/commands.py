"""Write docs/commands.md, the reference of all commands, from their functions.

python -m tools.commands            write the page
python -m tools.commands --check    exit with 1 where the page is not what it would write
"""

import argparse
import sys
from pathlib import Path

from eyetest.cli.app import _global_options, all_commands, application, examples, help_text, load

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"
_HEAD = """# Commands

Generated from the commands by `python -m tools.commands`. A command is a Python function of the same name and
parameters: `eyetest audit mybench --limit 50` is `eyetest.audit("mybench", limit=50)`.

In a narrow terminal a table drops its last columns, never digits, and a line names them. Values for options that a
command line leaves out are taken from `eyetest.yaml` in the current folder, where there is one.
"""


def options_of(name: str) -> dict[str, str]:
    """The options of a command and what they do; those of every command under the empty name."""
    app = application(name.split())
    if not name:
        _global_options(app, shown=True)
    own = app.meta if not name else app
    for word in name.split():
        own = own[word]
    arguments = own.assemble_argument_collection(parse_docstring=True)
    named = [argument for argument in arguments if argument.show and argument.name.startswith("-")]
    return {argument.name: str(argument.parameter.help or "") for argument in named}


def page() -> str:
    """The reference as Markdown."""
    commands = all_commands()
    parts = [_HEAD, _section("Options of every command", "", options_of(""))]
    for name in sorted(commands, key=lambda name: [*dict.fromkeys(c.group for c in commands.values())].index(
        commands[name].group)):  # fmt: skip
        function = load(name)
        app = application(name.split())
        for word in name.split():
            app = app[word]
        given = [a.name for a in app.assemble_argument_collection(parse_docstring=True) if a.name.isupper()]
        shell = "\n".join(examples(function))
        about = f"`eyetest {' '.join([name, *given])}`\n\n{help_text(function)}\n\n```sh\n{shell}\n```\n"
        parts.append(_section(f"eyetest {name}", about, options_of(name)))
    return "\n".join(parts)


def _section(title: str, about: str, options: dict[str, str]) -> str:
    rows = [f"| `{name}` | {' '.join(text.split())} |" for name, text in options.items()]
    table = "\n".join(["| option | meaning |", "|---|---|", *rows]) if rows else ""
    return f"## {title}\n\n{about}{chr(10) * bool(about)}{table}\n"


def main() -> None:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = page()
    if not parser.parse_args().check:
        PAGE.write_text(text, "utf-8")
    elif PAGE.read_text("utf-8") != text:
        sys.exit("docs/commands.md is out of date: python -m tools.commands")


if __name__ == "__main__":
    main()
