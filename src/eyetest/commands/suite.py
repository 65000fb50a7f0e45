"""The command ``suite``: ask models about many benchmarks and measure all answers together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Group, RenderableType
from rich.text import Text

from eyetest.commands.base import observer, path_of, several
from eyetest.commands.lazy import pl, printed
from eyetest.commands.options import AnyPath, Words, panel
from eyetest.commands.results import Result, estimates
from eyetest.errors import counted, param, typed

if TYPE_CHECKING:
    from eyetest.measures import Results
    from eyetest.records.recipe import Suite
    from eyetest.reports.report import Material

    AnySuite = Suite | Mapping[str, Any] | str | Path
else:
    AnySuite = Path

_ASKING = panel("Asking", 1)
_BOUNDS = ("_low", "_high")
_SHOWN = {"accuracy-by-dimension": "accuracy", "instability-by-dimension": "instability"}


def suite(
    suite: AnySuite,
    /,
    *,
    to: AnyPath,
    only: Words = (),
    unseen: bool = False,
    dry_run: Annotated[bool, _ASKING] = False,
    retry_failed: Annotated[bool, _ASKING] = False,
    concurrency: Annotated[int, _ASKING] = 64,
    budget: Annotated[Words, _ASKING] = (),
) -> "SuiteResult | Any":
    """Ask models about many benchmarks and measure all answers together.

    A YAML file names benchmarks, models and conditions (docs/suite.md). The folder gets runs/ with the answers,
    tables/ with ReForm-Eval's tables as CSV, and the page report.html. Interrupt it at any moment and run the same
    again. --only and --unseen compute the tables again from the stored answers.

    Args:
        suite: A YAML file with benchmarks, models and conditions.
        to: The folder for answers, tables and the page; an existing one is continued.
        only: Use only these dimensions, tasks or datasets, as TAG=A,B; repeatable.
        unseen: Leave out datasets that a compared model was trained on.
        dry_run: Print the plan of calls and ask nothing.
        retry_failed: Ask again what failed before.
        concurrency: The most calls in flight to a model.
        budget: Stop before this much is spent: calls=100,tokens=1000000,cost=5, or any of them.

    Examples:
        $ eyetest suite suite.yaml --to results

        >>> models = ["scripted:right=0.8"]
        >>> two = {"benchmarks": ["world/benchmark"], "models": models, "perturb": "order", "tests": 2}
        >>> found = et.suite(two, to="suite")
        >>> "accuracy-by-dimension" in found.tables
        True

    """
    from eyetest.commands import suites as job
    from eyetest.commands.asking import exit_code_of, notes_on
    from eyetest.commands.run import PlanResult
    from eyetest.running.limits import INTERRUPTED, limits_of

    folder, limits = path_of(to, "to"), limits_of(concurrency, budget)
    prepared = job.prepare(suite, folder, limits=limits, retry_failed=retry_failed, derive=not dry_run)
    if dry_run:
        return PlanResult({entry.name: asked.estimate(entry.runs[0]) for entry, asked in prepared.sessions()})
    failed, stopped = job.ask(prepared)
    if stopped is not None:
        notes = notes_on(stopped, folder)
        observer().ended(notes, interrupted=stopped.stopped == INTERRUPTED)
        return SuiteResult(notes=notes, exit_code=exit_code_of(stopped) or 130)
    words: list[str] = several(only)
    found = job.measure_suite(prepared, words, unseen_only=unseen)
    named = [part for word in words for part in ("--only", word)] + ["--unseen"] * unseen
    command = typed("eyetest", "suite", suite, "--to", to, *named) if isinstance(suite, str | Path) else ""
    page = job.write_suite(prepared, found, command)
    again = f"count as missing; {param('retry_failed', True)} asks them again"
    missing = [f"{counted(failed, 'call')} failed and {again}"] if failed else []
    observer().ended(missing)
    written = f"{counted(len(found.tables), 'table')} → {folder / job.TABLES}; page → {page}"
    return SuiteResult(found.tables, found.material, found.only, [*found.notes, *missing, written])


@dataclass(frozen=True, repr=False)
class SuiteResult(Result):
    """ReForm-Eval's tables by name, and the scores behind them; without tables where calls are left."""

    tables: "dict[str, pl.DataFrame]" = field(default_factory=dict)
    material: "Material | None" = None
    only: Sequence[str] = ()
    notes: Sequence[str] = ()
    exit_code: int = 0

    @property
    def results(self) -> "Results":
        """The scores, which every measure takes."""
        assert self.material is not None, "calls are left"
        return self.material.results

    @property
    def frame(self) -> "pl.DataFrame":
        """Accuracy by dimension."""
        return self.tables.get(next(iter(_SHOWN)), pl.DataFrame())

    def as_json(self) -> Any:
        """Every table."""
        tables = {name: printed.plain(table).to_dicts() for name, table in self.tables.items()}
        return {"tables": tables, "notes": list(self.notes)}

    def __rich__(self) -> RenderableType:
        """Accuracy and instability by dimension; intervals are in the files."""
        import polars.selectors as cs

        parts: list[RenderableType] = []
        for name, title in _SHOWN.items():
            if name in self.tables:
                parts += [Text(title, "bold"), estimates(self.tables[name].select(~cs.ends_with(*_BOUNDS))), ""]
        return Group(*parts)
