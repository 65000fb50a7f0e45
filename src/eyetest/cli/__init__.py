"""The command line: one file a command."""

from eyetest.cli.main import main

__all__ = ["main"]
