"""The command ``refine``: take a benchmark through a recipe into a better one."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.text import Text

from eyetest.commands.base import (
    model_entries,
    new_path,
    observer,
    open_bench,
    open_runs,
    place_of,
    several,
    tag_maps,
)
from eyetest.commands.gathering import pairs
from eyetest.commands.lazy import layout, pl
from eyetest.commands.options import AnyPath, Benches, Models, Pairs, Runs, Words, panel
from eyetest.commands.results import Found, Lines, estimates
from eyetest.errors import InputError, counted, heading, param, typed
from eyetest.grammar import read_names, refuse_idle

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark
    from eyetest.prompts.sets import Prompts
    from eyetest.recipes.panels import Live
    from eyetest.recipes.refining import Refined, Refining
    from eyetest.records import Recipe
    from eyetest.running import Estimate

    AnyRecipe = str | Path | Recipe
else:
    AnyRecipe = str

_WHO = panel("Who answers", 1)
_CONCURRENCY = 64
_LIMITS = panel("How far it may go", 2)


def refine(
    bench: Benches,
    /,
    *,
    recipe: Annotated[AnyRecipe, Parameter(alias="-r")],
    to: AnyPath,
    set: Pairs = (),  # noqa: A002 (the name of the option)
    map_tags: Pairs = (),
    skip_review: bool = False,
    models: Annotated[Models | None, _WHO] = None,
    answers: Annotated[Runs, _WHO] = (),
    panel: Annotated[Pairs, _WHO] = (),
    hold_out: Annotated[Words, _WHO] = (),
    prompts: Annotated[str | None, _WHO] = None,
    ask_everything: Annotated[bool, _LIMITS] = False,
    retry_failed: Annotated[bool, _LIMITS] = False,
    dry_run: Annotated[bool, _LIMITS] = False,
    concurrency: Annotated[int, _LIMITS] = _CONCURRENCY,
    budget: Annotated[Words, _LIMITS] = (),
) -> "RefineResult | Any":
    """Take a benchmark through a recipe: panels filter it, people review it, a selection comes out.

    Every item gets a verdict at every stage it reaches (DIR/verdicts.parquet). It may be killed at any moment; the
    same command goes on. People decide about what waits for them with eyetest review DIR; then run it again.

    Args:
        bench: A benchmark folder, or any file that eyetest can import; several are pooled (eyetest pool).
        recipe: A recipe by name, or a YAML file (eyetest show recipes).
        to: Folder of the refinement.
        set: A value of the recipe, by stage or panel: select.count=50; repeatable.
        map_tags: Tags that the recipe needs, made of others: core=category, or as in eyetest pool; repeatable.
        skip_review: Let items pass that no person has reviewed yet.
        models: models.yaml: the models to ask; with answers, what is known about them.
        answers: Recorded answers instead of models; repeatable.
        panel: Models of a panel in the order of asking: NAME=A,B; repeatable.
        hold_out: Models that answer but have no vote: A,B.
        prompts: What they are asked: a prompt set by name, or a YAML file (eyetest show prompts).
        ask_everything: Do not stop early; verdicts are the same.
        retry_failed: Ask again where calls failed before.
        dry_run: Print the most that would be asked, and ask nothing.
        concurrency: The most calls in flight to a model.
        budget: Stop when this much is spent: calls=100, cost=5, or both.

    Examples:
        $ eyetest refine mybench -r chance-aware --models models.yaml --to new
        $ eyetest refine mybench -r mmstar --set select.count=50 --to new

        >>> refined = et.refine("world/benchmark", recipe="chance-aware", models="models.yaml", to="better")
        >>> refined.verdicts["item"].n_unique(), refined.page.name
        (60, 'report.html')
        >>> len(refined.benchmark) == refined.frame["keep"][-1]
        True

    """
    from eyetest.benchmarks import ReadOptions
    from eyetest.commands.run import PlanResult
    from eyetest.pages.item_links import items_at
    from eyetest.recipes.panels import Live, Recorded, StoppedEarly, seat, seated_on_answers
    from eyetest.recipes.refining import Refining, refuse_foreign
    from eyetest.results.gather import pool_keys, results_of
    from eyetest.running.limits import INTERRUPTED, limits_of, refuse_unpriced
    from eyetest.scoring import Scorer

    folder, limits = new_path(to, "to"), limits_of(budget, concurrency)
    chosen, texts = _read_recipe(recipe, set, prompts)
    refuse_foreign(folder)
    if answers and dry_run:
        raise InputError(f"{heading('dry_run')}: recorded answers are not asked for, so there is nothing to estimate")
    if answers:
        about_asking = {"ask_everything": ask_everything, "retry_failed": retry_failed, "prompts": prompts}
        limits_given = {"budget": budget, "concurrency": concurrency != _CONCURRENCY}
        refuse_idle(about_asking | limits_given, "recorded answers are read, and no model is asked")
    benchmark, recorded, scorer = open_bench(bench, ReadOptions()), open_runs(answers), Scorer()
    manifest, seats, held_out = benchmark.manifest, _seats(panel), read_names(several(hold_out), "hold_out")
    entries = {} if models is None else model_entries(models)
    source: Live | Recorded
    if recorded:
        keys = pool_keys(recorded, benchmark)
        found = results_of(recorded, scorer, "auto", keys, entries or None, observer().busy)
        panels = seated_on_answers(chosen, found, seats, held_out)
        source = Recorded(found)
    else:
        if models is None and chosen.panels:
            ask, read = param("models", "FILE"), param("answers", "RUN")
            raise InputError(f"the recipe needs answers: {ask} asks models, {read} takes recorded ones")
        refuse_unpriced(limits, entries)
        panels = seat(chosen, entries, seats, held_out)
        source = Live(benchmark, entries, folder / layout.RUN, scorer, limits, seed=chosen.seed)
        source.watch, source.planned = observer().watch, observer().planned
        source.ask_everything, source.retry_failed, source.prompts = ask_everything, retry_failed, texts
    refining = Refining(benchmark, chosen, panels, source, folder, skip_review, prompts=texts)
    refining.tags = tag_maps(map_tags, [pooled.name for pooled in manifest.sources] or [manifest.name])
    if dry_run and isinstance(source, Live):
        return PlanResult(dict(_estimates(refining, source)))
    places = [place_of(bench, benchmark), *(run.path for run in recorded), folder]
    refining.items_at = items_at(None, folder / layout.REPORT, places)
    try:
        outcome = refining.run()
    except StoppedEarly as stop:
        left = f"{counted(stop.progress.left, 'call')} left; the same command goes on from here"
        if stop.progress.stopped == INTERRUPTED:
            observer().note(f"{stop}; {left}")
            raise KeyboardInterrupt(left) from None
        stop.args = (f"{stop}; {left}",)
        raise
    return RefineResult(folder, outcome, source.saved if isinstance(source, Live) else 0)


def _read_recipe(recipe: "AnyRecipe", given: Pairs, prompts: str | None) -> "tuple[Recipe, Prompts]":
    """The recipe with a user's settings, checked, and the prompts of its panels."""
    from eyetest.recipes import loading
    from eyetest.records import Recipe

    settings = pairs(given, "set", "STAGE.KEY=VALUE, such as select.count=50")
    plain = recipe if isinstance(recipe, Recipe) else loading.load_recipe(str(recipe))
    return loading.with_prompts(loading.with_settings(plain, settings), prompts)


def _seats(panel: Pairs) -> dict[str, list[str]]:
    named = pairs(panel, "panel", "NAME=MODEL,MODEL, such as vision=a,b")
    return {name: read_names(models, "panel") for name, models in named.items()}


def _estimates(refining: "Refining", source: "Live") -> "Iterator[tuple[str, Estimate]]":
    """The calls of each stage if every item reached it and nothing stopped early."""
    items = list(refining.benchmark)
    for stage in refining.recipe.stages:
        if stage.panel:
            seated = refining.panels[stage.panel]
            session = source.session(seated, seated.models, items, stage, None)
            yield stage.title, session.estimate(source.to)


class RefineResult(Found):
    """The result of a refinement, whose files and page are in its folder: a row a stage, with how many items reached
    it and their verdicts; and what waits for people.
    """

    def __init__(self, path: Path, outcome: "Refined", saved: int = 0) -> None:
        from eyetest.benchmarks.folder import README
        from eyetest.recipes.refining import funnel

        self.path, self.outcome, self.saved, self.page = path, outcome, saved, path / layout.REPORT
        notes = [*outcome.notes, *([f"{counted(saved, 'call')} saved by stopping early"] if saved else [])]
        if outcome.waiting:
            how, waiting = typed("eyetest", "review", path), counted(len(outcome.waiting), "item")
            notes.append(f"{waiting} for people ({how}); then run the same command again")
        if outcome.paused:
            skip = param("skip_review", True)
            notes.append(f"nothing after {outcome.paused} was done yet ({skip} goes on without people)")
        elif outcome.kept:
            notes.append(f"page → {self.page}; card → {path / layout.BENCHMARK / README}")
        else:
            notes.append("no item is left, so no benchmark was written")
        frame = pl.DataFrame(funnel(outcome.stages))
        super().__init__(f"{counted(len(outcome.kept), 'item')} left", frame, notes)

    @property
    def benchmark(self) -> "Benchmark":
        """The refined benchmark."""
        from eyetest.benchmarks import Benchmark

        if self.outcome.paused or not self.outcome.kept:
            raise InputError(f"{self.path}: there is no benchmark: {self.notes[-1]}")
        return Benchmark(self.path / layout.BENCHMARK)

    @cached_property
    def verdicts(self) -> "pl.DataFrame":
        """A verdict on every item at every stage that it reached, with its evidence."""
        from eyetest.runs.stored import scan_table

        return scan_table(self.path / layout.VERDICTS, "run eyetest refine again").collect()

    @cached_property
    def blind(self) -> "pl.DataFrame":
        """Accuracy without images before and after, of panels and of models without a vote."""
        rows = [
            {"panel": row.panel, "who": row.who, "when": row.when, "models": row.models, "answers": row.answers}
            | {"asked": row.asked, "items": row.accuracy.n, "accuracy": row.accuracy.value}
            | {"accuracy_low": row.accuracy.low, "accuracy_high": row.accuracy.high}
            for row in self.outcome.residuals
        ]
        return pl.DataFrame(rows)

    def as_json(self) -> Any:
        """The funnel, the number of items left, the accuracy without images, and notes."""
        left: dict[str, Any] = {"kept": len(self.outcome.kept), "paused": self.outcome.paused, "saved": self.saved}
        waiting = [verdict.item for verdict in self.outcome.waiting]
        blind = self.blind.to_dicts()
        return {"funnel": self.frame.to_dicts(), **left, "waiting": waiting, "blind": blind, "notes": self.notes}

    def __rich__(self) -> RenderableType:
        parts: list[RenderableType] = [estimates(self.frame)]
        if self.outcome.residuals:
            parts += [Text("\naccuracy without images", "italic"), estimates(self.blind)]
        if self.outcome.kept and not self.outcome.paused:
            parts.append(Lines(Text(f"{counted(len(self.outcome.kept), 'item')} → {self.benchmark.path}")))
        return Group(*parts)
