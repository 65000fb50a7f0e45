"""The command ``merge``: combine runs about one benchmark, rename models or remove them."""

from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType

from eyetest.commands.base import new_path, observer, open_runs, several
from eyetest.commands.gathering import pairs
from eyetest.commands.lazy import msgspec, pl
from eyetest.commands.options import AnyPath, Pairs, Runs, Words
from eyetest.commands.results import Lines, Result, Written
from eyetest.errors import InputError, counted, heading, listed, param

if TYPE_CHECKING:
    from eyetest.runs import Run
    from eyetest.runs.merging import MergedRuns


def merge(
    runs: Runs,
    /,
    *,
    to: AnyPath | None = None,
    prefer_first: bool = False,
    rename: Pairs = (),
    remove: Words = (),
) -> "MergeResult | Written":
    """Combine runs about one benchmark into one run; rename or remove the models of a run.

    Runs that answered the same question differently are refused, unless the first is to count; only a failed call
    gives way to an answer by itself. Models are renamed and removed in the run that is named; answers of a removed
    model stay in responses/.

    Args:
        runs: Run folders about one benchmark.
        to: The run to write; an existing run is added to.
        prefer_first: Where runs differ, take the answer of the run that is named first.
        rename: Give a model another name, as OLD=NEW; repeatable.
        remove: Remove this model; repeatable.

    Examples:
        $ eyetest merge run-ann run-ben --to run
        $ eyetest merge run --rename gpt4o=openai/gpt-4o --remove test

        >>> seer = {"seer": "scripted:right=0.9,blind=0.3"}
        >>> part = et.run("world/benchmark", models=seer, item=["q00", "q01"], to="part")
        >>> rest = et.run("world/benchmark", models=seer, item=["q01", "q02"], to="rest")
        >>> both = et.merge([part, rest], to="both")
        >>> both.run.responses().num_rows
        3
        >>> et.merge("both", rename={"seer": "eye"}).facts["models"]
        ['eye']

    """
    from eyetest.results.joining import merge_into
    from eyetest.runs import Run

    opened = open_runs(runs)
    if rename or remove:
        from eyetest.runs.models import change_models

        if to is not None or len(opened) > 1:
            raise InputError(f"{heading('rename' if rename else 'remove')}: changes one run, without {param('to')}")
        path, renamed = opened[0].path, pairs(rename, "rename", "OLD=NEW")
        names = change_models(path, renamed, several(remove))
        return Written(f"models: {listed(names)} → {path}", {"run": str(path), "models": names})
    if to is None:
        either = f"{param('rename')} or {param('remove')}"
        raise InputError(f"{param('to')} is missing: which run is written? ({either} changes one run in place)")
    target = new_path(to, "to")
    merged = merge_into(opened, target, observer().note, prefer_first=prefer_first)
    return MergeResult(Run(target), merged)


class MergeResult(Result):
    """A run, and what each merged run contributed."""

    def __init__(self, run: "Run", merged: "MergedRuns") -> None:
        self.run, self.merged = run, merged
        decided = f"{counted(merged.decided, 'answer')} differed; the first was taken"
        self.notes = [decided] if merged.decided else []
        brought = list(merged.brought.items())
        self.frame = pl.DataFrame(brought, schema={"run": pl.String, "answers": pl.Int64}, orient="row")

    def as_json(self) -> Any:
        """What came from which run."""
        return msgspec.to_builtins(self.merged) | {"run": str(self.run.path), "notes": list(self.notes)}

    def __rich__(self) -> RenderableType:
        merged, path = self.merged, self.run.path
        brought = [Lines(f"{answers:>9,}  answers of {run}") for run, answers in merged.brought.items()]
        about = f"{counted(merged.planned, 'planned call')} of {counted(merged.models, 'model')}"
        return Group(*brought, Lines(f"{about} → {path}" if merged.new else f"{path} had all of it already"))
