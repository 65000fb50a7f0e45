"""The command ``doctor``: check this machine, folders and model endpoints."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eyetest.commands.base import model_entries, path_of, several
from eyetest.commands.lazy import msgspec, pl
from eyetest.commands.options import AnyPath, Models
from eyetest.commands.results import Result, safe

if TYPE_CHECKING:
    from eyetest.commands.doctor_checks import DoctorLine

    Places = AnyPath | Sequence[AnyPath]
    """Folders, and models by their specs."""
else:
    Places = list[str]

_COLOURS = {"ok": "green", "note": "yellow", "missing": "dim", "wrong": "bold red"}


def doctor(
    places: Places = (),
    /,
    *,
    models: Models | None = None,
    call: bool = False,
) -> "DoctorResult":
    """Check what is installed, which folders are intact, and which model endpoints answer.

    Each problem comes with what to do about it. Keys are checked by the names of their variables and never shown.
    Exits with 1 if something that you named does not work; optional parts that are missing are no error.

    Args:
        places: Runs, benchmarks or other folders to check, and models by their specs.
        models: A models.yaml, whose keys and endpoints are checked.
        call: Send each model two short questions and a request for likelihoods, which may cost a little.

    Examples:
        $ eyetest doctor run --models models.yaml
        $ eyetest doctor openai:qwen@http://127.0.0.1:8000/v1 --call

        >>> et.doctor("run", models={"seer": "scripted:right=0.9"}).ok
        True

    """
    from eyetest.commands.doctor_checks import look_at_machine, look_at_models, look_at_places
    from eyetest.models.specs import is_spec

    named: list[AnyPath] = several(places)
    specs = [place for place in named if isinstance(place, str) and is_spec(place) and not Path(place).exists()]
    folders = [path_of(place, "places") for place in named if place not in specs]
    lines = [*look_at_machine(), *look_at_places(folders)]
    entries = (model_entries(models) if models else {}) | (model_entries(specs) if specs else {})
    if entries:
        lines += look_at_models(entries, call=call)
    return DoctorResult(lines)


class DoctorResult(Result):
    """The checks, a row each; a ``state`` is ok, note, missing or wrong, and ``fix`` says what to do."""

    title = "doctor"

    def __init__(self, lines: "list[DoctorLine]") -> None:
        self.lines = lines
        self.ok = all(line.state != "wrong" for line in lines)
        self.exit_code = int(not self.ok)
        self.frame = pl.DataFrame([msgspec.structs.asdict(line) for line in lines])

    def as_json(self) -> Any:
        """All lines."""
        return {"ok": self.ok, "lines": self.lines}

    def __rich__(self) -> RenderableType:
        parts: list[RenderableType] = []
        for about, lines in groupby(self.lines, lambda line: line.about):
            table = Table.grid(padding=(0, 2))
            for line in lines:
                words = "\n".join(filter(None, (line.found, f"→ {line.fix}" if line.fix else "")))
                table.add_row(Text(line.state, _COLOURS[line.state]), Text(safe(line.name)), Text(safe(words)))
            parts += [Text(about, "bold"), table]
        return Group(*parts)
