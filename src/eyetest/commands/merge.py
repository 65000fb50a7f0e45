"""The command ``merge``: combine runs about one benchmark."""

from eyetest.commands.base import new_path, observer, open_runs
from eyetest.commands.lazy import msgspec, pl
from eyetest.commands.options import AnyPath, Runs
from eyetest.commands.results import Written
from eyetest.errors import InputError, counted, param


def merge(runs: Runs, /, *, to: AnyPath | None = None, prefer_first: bool = False) -> Written:
    """Combine runs about one benchmark into one run.

    Runs that answered the same question differently are refused, unless the first is to count; only a failed call
    gives way to an answer by itself.

    Args:
        runs: Run folders about one benchmark.
        to: The run to write.
        prefer_first: Where runs differ, take the answer of the run that is named first.

    Examples:
        $ eyetest merge run-ann run-ben --to run

        >>> seer = {"seer": "scripted:right=0.9,blind=0.3"}
        >>> part = et.run("world/benchmark", models=seer, item=["q00", "q01"], to="part")
        >>> rest = et.run("world/benchmark", models=seer, item=["q01", "q02"], to="rest")
        >>> merged = et.merge([part, rest], to="both")
        >>> et.open_run("both").responses().num_rows
        3

    """
    from eyetest.results.merging import merge_into

    opened = open_runs(runs)
    if to is None:
        raise InputError(f"{param('to')} is missing: which run is written?")
    target = new_path(to, "to")
    merged = merge_into(opened, target, observer().note, prefer_first=prefer_first)
    about = f"{counted(merged.planned, 'planned call')} of {counted(merged.models, 'model')}"
    notes = [f"{counted(merged.decided, 'answer')} differed; the first was taken"] if merged.decided else []
    brought = list(merged.brought.items())
    counts = pl.DataFrame(brought, schema={"run": pl.String, "answers": pl.Int64}, orient="row")
    return Written(f"{about} → {target}", msgspec.to_builtins(merged) | {"run": str(target)}, notes, counts)
