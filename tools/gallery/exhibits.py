"""What hangs in the gallery, as `exhibits.yaml` says it, and how its commands are carried out."""

import io
import json
import shlex
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from eyetest.cli import main

FILE = Path(__file__).parent / "exhibits.yaml"


class Unasked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question that the data at hand do not allow, and why."""

    no: str


Question = str | Unasked
"""A command that answers it, or why none does."""


class Exhibit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A benchmark, and the commands that look at it."""

    title: str
    about: str
    source: str
    audit: Question
    golds: Question
    blind: Question
    ranks: Question
    spread: str = ""
    """How many pairs of models differ, where there are ranks."""
    prepare: tuple[str, ...] = ()
    """Commands that bring items and answers in before anything is asked."""
    run: str = ""
    board: str = ""
    """The run whose models are ranked by a small part."""
    splits: int = 12
    """How often models are held out of drawing a part: as often as `eyetest subset` does it."""
    errata: dict[str, str] = {}
    """Items whose authors agreed that the gold is wrong, and the thread in which they did."""
    remarks: dict[str, str] = {}
    """By section, what a reader has to know beside the figures."""


def read_exhibits(file: Path = FILE) -> dict[str, Exhibit]:
    """Every exhibit by its name, in the order in which they hang."""
    return msgspec.yaml.decode(file.read_bytes(), type=dict[str, Exhibit])


def carry_out(command: str, folder: Path) -> str:
    """What a command prints, given in a folder; its errors are ours."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    code: object = None
    try:
        words = patch.object(sys, "argv", shlex.split(command))
        with chdir(folder), words, redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as stop:
        code = stop.code
    for stream in (out, err):
        stream.flush()
    printed, errors = (stream.buffer.getvalue().decode() for stream in (out, err))
    if code not in (0, None):
        raise RuntimeError(f"{command}\n{errors}")
    return printed


def asked(command: str, folder: Path) -> dict[str, Any]:
    """What a command with ``--output json`` prints."""
    found: dict[str, Any] = json.loads(carry_out(command, folder))
    return found
