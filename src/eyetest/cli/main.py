"""Puts the commands together, and turns every error made on purpose into one line and exit code 2."""

import signal
import sys
from typing import Annotated

import typer

from eyetest.cli import audit, demo, export, import_, show
from eyetest.cli.terminal import fail
from eyetest.errors import EyetestError
from eyetest.version import __version__

app = typer.Typer(
    help="An eye test for vision-language benchmarks and the models that take them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("audit")(audit.audit)
app.command("import")(import_.import_)
app.command("export")(export.export)
app.command("show")(show.show)
app.command("demo")(demo.demo)


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


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        app()
    except EyetestError as error:
        fail(str(error))
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        place = f": {error.filename}"[:200] if error.filename else ""
        fail(f"{error.strerror or error}{place}")
        sys.exit(2)
