"""The command ``merge``: combine runs about one benchmark, rename models or remove them."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType

from eyetest.commands.base import AnyPath, Runs, Words, observer, open_runs, path_of, several
from eyetest.commands.results import Result, Sentence, estimates
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.wording import counted

if TYPE_CHECKING:
    import polars as pl

    from eyetest.records import RunBenchmark
    from eyetest.results.scores import Mend
    from eyetest.runs import Run
    from eyetest.runs.merging import MergedRuns

    Renames = str | Sequence[str] | Mapping[str, str]
else:
    Renames = list[str]


def merge(
    runs: Runs,
    /,
    *,
    to: AnyPath | None = None,
    prefer: str | None = None,
    rename: Renames = (),
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
        merged = merge_into(opened, target, prefer, least=1 if has_changes else 2)
    if has_changes:
        try:
            change_models(target, renamed, removed)
        except InputError:
            if is_new:
                shutil.rmtree(target)
            raise
    return MergeResult(Run(target), merged, prefer)


def _renamed(rename: Renames, known: Mapping[str, int]) -> dict[str, str]:
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


def merge_into(runs: "Sequence[Run]", target: Path, prefer: str | None = None, least: int = 2) -> "MergedRuns":
    """Combine runs in a folder; if that is a run already, it is the first of them."""
    from eyetest.benchmarks import Benchmark, copy_without_images, is_benchmark
    from eyetest.results.scores import write_mends
    from eyetest.runs import BENCHMARK, Run, is_run
    from eyetest.runs.merged_answers import PREFERENCES
    from eyetest.runs.merging import merge_runs

    if prefer is not None and prefer not in PREFERENCES:
        raise InputError(f"{heading('prefer')}: found {short(prefer)}; {nearest(prefer, PREFERENCES)}")
    places = {run.path.resolve(): run for run in runs}
    places.pop(target.resolve(), None)
    every = [*([Run(target)] if is_run(target) else ()), *places.values()]
    if len(every) < least:
        named = f": only {every[0].path} was named" if every else ""
        raise InputError(f"nothing to merge{named}; name another run")
    about, mends = _same_benchmark(every), _same_mends(every)
    for run in every:
        if run.writer and run.path != target:
            observer().note(f"{run.path} is being written by process {run.writer}; later answers are not merged")

    def complete() -> None:
        kept = next((run.path / BENCHMARK for run in every if is_benchmark(run.path / BENCHMARK)), None)
        if kept is not None:
            copy_without_images(Benchmark(kept), target / BENCHMARK)
        if mends:
            write_mends(target, mends)

    return merge_runs(list(places.values()), target, about, prefer, observer().note, complete)


def _same_benchmark(runs: "Sequence[Run]") -> "RunBenchmark | None":
    """The benchmark of all runs, at a path where it can be opened, if there is one."""
    from eyetest.benchmarks import Benchmark, is_benchmark
    from eyetest.runs import BENCHMARK
    from eyetest.store.urls import known_path

    known = [(run, about) for run in runs if (about := run.manifest.benchmark) and about.fingerprint]
    if not known:
        return next((run.manifest.benchmark for run in runs if run.manifest.benchmark), None)
    about = known[0][1]
    if others := [one for one in known if one[1].fingerprint != about.fingerprint]:
        two = (known[0], others[0])
        names = [f"{run.path} ({short(one.name, 40)}, {one.items:,} items)" for run, one in two]
        why = f"{names[0]} and {names[1]} are about different benchmarks, or versions of one"
        for name, (_, one), (run, _) in zip(names, two, two[::-1], strict=True):
            later = Benchmark(run.path / BENCHMARK).manifest if is_benchmark(run.path / BENCHMARK) else None
            if later and one.fingerprint in [revision.fingerprint for revision in later.revisions]:
                why += f": {name} asked an older revision"
        raise InputError(f"{why}; they cannot become one run, but measure and report take several")
    for run in runs:
        if all(run is not one for one, _ in known):
            unknown = f"{run.path} does not say what benchmark it is about"
            observer().note(f"{unknown}; taken to be about {short(about.name)}")
    return next((one for _, one in known if one.path and is_benchmark(known_path(one.path))), about)


def _same_mends(runs: "Sequence[Run]") -> "list[Mend]":
    """Repairs of the items by people, in any of the runs."""
    import msgspec

    from eyetest.results.scores import read_mends

    mends: dict[str, Mend] = {}
    for run in runs:
        for name, mend in read_mends(run.path).items():
            mine = mends.setdefault(name, mend)
            if mine.item != mend.item:
                raise InputError(f"{run.path}: item {short(name)} was repaired differently in another of the runs")
            if mine.requests is not None and mend.requests is not None:
                requests = tuple(sorted({*mine.requests, *mend.requests}))
                mends[name] = msgspec.structs.replace(mine, requests=requests)
    return list(mends.values())


class MergeResult(Result):
    """A run, its models with their planned calls, and what each merged run contributed."""

    def __init__(self, run: "Run", merged: "MergedRuns | None", prefer: str | None) -> None:
        self.run, self.merged = run, merged
        gave_way, decided = (merged.gave_way, merged.decided) if merged else (0, 0)
        self.notes = [f"{counted(gave_way, 'failure')} gave way to an answer"] if gave_way else []
        self.notes += [f"{counted(decided, 'answer')} differed; the {prefer} was taken"] if decided else []

    @property
    def frame(self) -> "pl.DataFrame":
        """One row for each model of the run."""
        import polars as pl

        from eyetest.runs.models import models_of

        types = {"model": pl.String, "planned": pl.Int64}
        return pl.DataFrame(list(models_of(self.run).items()), schema=types, orient="row")

    def as_json(self) -> Any:
        """What came from which run, and the models."""
        import msgspec

        counts = msgspec.to_builtins(self.merged) if self.merged else {}
        return counts | {"run": str(self.run.path)} | super().as_json()

    def __rich__(self) -> RenderableType:
        merged, path = self.merged, self.run.path
        if merged is None:
            return Group(estimates(self.frame), Sentence(f"{counted(len(self.frame), 'model')} → {path}"))
        brought = [Sentence(f"{answers:>9,}  answers of {run}") for run, answers in merged.brought.items()]
        about = f"{counted(merged.planned, 'planned call')} of {counted(merged.models, 'model')}"
        return Group(*brought, Sentence(f"{about} → {path}" if merged.new else f"{path} had all of it already"))
