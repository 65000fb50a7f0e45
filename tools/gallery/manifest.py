"""What is in the gallery, as `manifest.yaml` lists it, and how its commands are carried out."""

import io
import json
import shlex
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Annotated, Any
from unittest.mock import patch

import msgspec

from eyetest.cli import main

FILE = Path(__file__).parent / "manifest.yaml"
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Commit = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{40})?$")]
Repository = Annotated[str, msgspec.Meta(pattern=r"^[\w.-]+/[\w.-]+$")]


class Answers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Recorded answers of models: a file each, imported with the same options."""

    of: dict[str, str]
    """By model, the path of its file."""
    options: str = ""


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A benchmark: where its files are, and the one command that imports it."""

    title: str
    about: str
    year: Annotated[int, msgspec.Meta(ge=2015, le=2030)]
    languages: tuple[str, ...] = ("en",)
    licence: str
    repository: Repository
    commit: Commit = ""
    """Empty: the files are in EYETEST_SHARED, under the names that the commands use."""
    files: dict[str, Sha256] = {}
    folders: tuple[str, ...] = ()
    """Folders of images, pinned by the commit."""
    spec: dict[str, Any] = {}
    """The dataset file for `eyetest reform`, written as NAME.yaml."""
    items: str = ""
    """The command that writes the benchmark NAME; empty where only answers are public, or it needs none."""
    bench: str = ""
    """The benchmark, where it is not NAME."""
    answers: tuple[Answers | str, ...] = ()
    """Answers of models, or whole commands that import them as NAME-run."""
    published: dict[str, str] = {}
    """By model its published score, or a file of published verdicts with options of `eyetest reconcile`; "given": the
    scores that its file of answers brings along.
    """
    golds: str = ""
    """Options of `eyetest measure wrong-golds`."""
    subset: bool = False
    """Whether a subset that keeps the ranking is looked for."""
    errata: dict[str, str] = {}
    """Items whose authors agreed that the gold is wrong, and the thread in which they did."""
    remarks: dict[str, str] = {}
    """By section, what a reader has to know beside the figures."""
    minutes: int = 15
    """The time limit."""

    def commands(self, name: str) -> tuple[list[str], list[str]]:
        """The commands that import the items, and the answers."""
        answers = []
        for part in self.answers:
            if isinstance(part, str):
                answers.append(part)
                continue
            for model, path in part.of.items():
                words = ["eyetest", "import", path, "--bench", self.bench or name, "--model", model]
                more = f" {part.options}" if part.options else ""
                answers.append(f"{shlex.join(words)}{more} --to {name}-run")
        return [self.items] if self.items else [], answers


class Absent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A benchmark that could not be had."""

    title: str
    why: str


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All rows by name, and what could not be had."""

    rows: dict[Annotated[str, msgspec.Meta(pattern="^[a-z0-9-]+$")], Row]
    absent: tuple[Absent, ...] = ()


def read_manifest(file: Path = FILE) -> Manifest:
    """The manifest; a wrong key or value is refused."""
    return msgspec.yaml.decode(file.read_bytes(), type=Manifest)


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
    found: dict[str, Any] = json.loads(carry_out(f"{command} --output json", folder))
    return found
