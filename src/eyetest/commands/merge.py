"""The command ``merge``: combine runs about one benchmark, rename models or remove them."""

import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType

from eyetest.commands.base import observer, open_runs, path_of, several
from eyetest.commands.lazy import msgspec, pl
from eyetest.commands.options import AnyPath, Pairs, Runs, Words
from eyetest.commands.results import Lines, Result, estimates
from eyetest.errors import InputError, counted, heading, param, short

if TYPE_CHECKING:
    from eyetest.runs import Run
    from eyetest.runs.merging import MergedRuns


def merge(
    runs: Runs,
    /,
    *,
    to: AnyPath | None = None,
    prefer: str | None = None,
    rename: Pairs = (),
    remove: Words = (),
) -> "MergeResult":
    """Combine runs about one benchmark into one run; rename or remove its models.

    Runs that answered the same question differently are refused, unless --prefer says which answer counts; only a
    failed call gives way to an answer by itself. One run without --to is changed in place. Answers of a removed model
    stay in responses/, and scores are computed again when they are next needed.

    Args:
        runs: Run folders about one benchmark.
        to: The run to write; an existing run is added to.
        prefer: Where runs differ: the answer of the first run, or the newest.
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
        >>> et.merge("both", rename={"seer": "eye"}).frame.rows()
        [('eye', 3)]

    """
    from eyetest.results.joining import merge_into
    from eyetest.runs import Run, is_run
    from eyetest.runs.models import change_models, check_changes, models_of

    opened, merged = open_runs(runs), None
    removed: list[str] = several(remove)
    has_changes = bool(rename or remove)
    if to is None and (len(opened) > 1 or not has_changes):
        repair = f"name the merged run with {param('to', 'RUN')}" if len(opened) > 1 else "name another run"
        raise InputError(f"nothing to merge: {repair}, or change one run with {param('rename')} or {param('remove')}")
    target = opened[0].path if to is None else path_of(to, "to")
    is_new = not is_run(target)
    everything = opened if is_new else [*opened, Run(target)]
    known = {name: calls for run in everything for name, calls in models_of(run).items()}
    renamed = _renamed(rename, known)
    check_changes(known, renamed, removed)
    if not has_changes or any(run.path.resolve() != target.resolve() for run in opened):
        merged = merge_into(opened, target, prefer, 1 if has_changes else 2, observer().note)
    if has_changes:
        try:
            change_models(target, renamed, removed)
        except InputError:
            if is_new:
                shutil.rmtree(target)
            raise
    return MergeResult(Run(target), list(models_of(Run(target)).items()), merged, prefer)


def _renamed(rename: Pairs, known: Mapping[str, int]) -> dict[str, str]:
    """Old names with new ones; in a word OLD=NEW, OLD is a model of the run, which may hold ``=`` itself."""
    if isinstance(rename, Mapping):
        return dict(rename)
    pairs: dict[str, str] = {}
    words: list[str] = several(rename)
    for word in words:
        cuts = [at for at, character in enumerate(word) if character == "="]
        if not cuts:
            raise InputError(f"{heading('rename')}: found {short(word)}, expected OLD=NEW")
        cut = next((at for at in cuts if word[:at] in known), cuts[0])
        pairs[word[:cut]] = word[cut + 1 :]
    return pairs


class MergeResult(Result):
    """A run, its models with their planned calls, and what each merged run contributed."""

    def __init__(
        self, run: "Run", planned: list[tuple[str, int]], merged: "MergedRuns | None", prefer: str | None
    ) -> None:
        self.run, self.merged = run, merged
        gave_way, decided = (merged.gave_way, merged.decided) if merged else (0, 0)
        self.notes = [f"{counted(gave_way, 'failure')} gave way to an answer"] if gave_way else []
        self.notes += [f"{counted(decided, 'answer')} differed; the {prefer} was taken"] if decided else []
        self.frame = pl.DataFrame(planned, schema={"model": pl.String, "planned": pl.Int64}, orient="row")

    def as_json(self) -> Any:
        """What came from which run, and the models."""
        counts = msgspec.to_builtins(self.merged) if self.merged else {}
        return counts | {"run": str(self.run.path)} | super().as_json()

    def __rich__(self) -> RenderableType:
        merged, path = self.merged, self.run.path
        if merged is None:
            return Group(estimates(self.frame), Lines(f"{counted(len(self.frame), 'model')} → {path}"))
        brought = [Lines(f"{answers:>9,}  answers of {run}") for run, answers in merged.brought.items()]
        about = f"{counted(merged.planned, 'planned call')} of {counted(merged.models, 'model')}"
        return Group(*brought, Lines(f"{about} → {path}" if merged.new else f"{path} had all of it already"))
