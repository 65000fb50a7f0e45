"""``eyetest doctor``: what this machine, models and folders can do."""

import textwrap
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from eyetest.cli.options import JsonOption, Words, argument, option
from eyetest.cli.terminal import out, print_json, safe
from eyetest.jobs.doctor import DoctorLine
from eyetest.jobs.doctor import doctor as look
from eyetest.models.specs import parse_models

_COLOURS = {"ok": "green", "note": "yellow", "missing": "dim", "wrong": "bold red"}
_STATE, _NAME = 9, 14
_NARROWEST = 40


def doctor(
    places: Annotated[list[Path] | None, argument("[RUN|BENCH]...", "Folders to look at.")] = None,
    models: Annotated[Path | None, option("--models", "A models.yaml: its keys and endpoints.", "FILE")] = None,
    model: Annotated[Words, option("--model", "Only this one of them, or a spec; repeatable.", "SPEC")] = None,
    call: Annotated[
        bool, option("--call", "Ask each model two short questions and for likelihoods, which may cost a little.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what is installed, what is missing and how to get it, which endpoints answer, and where things lie.

    Keys are told by the names of their variables, and never shown. Ends with code 1 where something that was named
    does not work; what is only missing is no fault.
    """
    entries = parse_models(model or (), models) if model or models else {}
    found = look(places or (), models=entries, call=call)
    if as_json:
        print_json({"ok": found.ok, "lines": found.lines})
    else:
        heading = ""
        for line in found.lines:
            if line.about != heading:
                heading = line.about
                out.print(Text(heading, "bold"))
            _print(line)
    if not found.ok:
        raise typer.Exit(1)


def _print(line: DoctorLine) -> None:
    """The state, what it is about, what was found; under it what to do."""
    name, width = safe(line.name), max(_NARROWEST, out.width) - _STATE - _NAME
    texts = [safe(line.told), f"→ {safe(line.mend)}" if line.mend else ""]
    words = [part for text in texts for part in _wrapped(text, width)]
    first, *rest = words if len(name) < _NAME else ["", *words]
    state = (f"{line.state:<{_STATE}}", _COLOURS[line.state])
    out.print(Text.assemble(state, f"{name:<{_NAME}}", first), soft_wrap=True)
    for part in rest:
        out.print(" " * (_STATE + _NAME) + part, soft_wrap=True)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
