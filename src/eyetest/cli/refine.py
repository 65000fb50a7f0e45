"""``eyetest refine|recipe``: a benchmark through a recipe, into a better one; the recipes there are."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from eyetest.benchmarks.folder import README
from eyetest.cli import options
from eyetest.cli.options import SpendOptions, Words, argument, estimate_table, limits, option, who
from eyetest.cli.tables import show_table
from eyetest.cli.terminal import advise, echo, note, out, print_json, program, safe, say
from eyetest.errors import InputError, nearest, short
from eyetest.jobs import refine as job
from eyetest.jobs.opening import open_bench
from eyetest.pages.item_counts import items_at
from eyetest.recipes import Refined, load_recipe, recipe_names, recipe_text
from eyetest.recipes.loading import parse_map_tags, told_tags
from eyetest.recipes.refining import FunnelRow, Refining
from eyetest.recipes.sources import Live, StoppedEarly
from eyetest.records.recipe import BENCHMARK, REPORT, REVIEW
from eyetest.review import DECISIONS, QUEUE
from eyetest.screens import SCREENS
from eyetest.store import replacing_file
from eyetest.wording import counted, listed, typed

_COUNTS = ("into", "keep", "drop", "fix", "review")


def refine(
    bench: options.BenchArgument,
    recipe: Annotated[str, option("--recipe -r", "A recipe by name, or a YAML file (eyetest recipe list).", "NAME")],
    to: Annotated[Path, option("--to", "The folder of the refinement; again to go on where it stopped.", "DIR")],
    models: Annotated[
        Path | None,
        who("--models", "models.yaml: who can be asked; with --answers, what is known of them.", "FILE"),
    ] = None,
    answers: Annotated[
        list[Path] | None, who("--answers", "Recorded answers instead of models; nothing is asked.", "RUN")
    ] = None,
    panel: Annotated[Words, who("--panel", "Who sits on a panel, in the order of asking.", "NAME=A,B")] = None,
    hold_out: Annotated[Words, who("--hold-out", "Models that answer but have no say.", "A,B")] = None,
    rules: options.RulesOption = "eyetest",
    own_tags: Annotated[
        Words,
        option("--map-tags", "Which of the benchmark's tags the recipe means: core=category.", "TAG=TAG,…"),
    ] = None,
    skip_review: Annotated[bool, option("--skip-review", "Let items pass that no person has looked at yet.")] = False,
    ask_everything: Annotated[bool, limits("--ask-everything", "Do not stop early; verdicts are the same.")] = False,
    retry_failed: Annotated[bool, limits("--retry-failed", "Ask again what failed before.")] = False,
    dry_run: Annotated[bool, limits("--dry-run", "Say what would be asked at most, and ask nothing.")] = False,
    links: options.LinksOption = None,
    as_json: Annotated[bool, option("--json", "Print the funnel as JSON.")] = False,
    *,
    how_far: SpendOptions,
    file: options.FileOptions,
    drop: options.DropOption = None,
) -> None:
    """Take a benchmark through a recipe: panels screen it, people review it, a balanced selection comes out.

    Every item gets a verdict at every stage it reaches (DIR/verdicts.parquet). Kill it at any moment and run the same
    command again. What waits for people they decide with eyetest review DIR; then run it again.
    """
    chosen = job.find_recipe(recipe, to, parse_map_tags(own_tags or ()))
    at = items_at(links, to / REPORT, [bench, *(answers or []), to])
    benchmark = open_bench(bench, file.read(drop=drop, gold_required=True))
    if answers and dry_run:
        raise InputError("--dry-run: recorded answers are not asked for, so there is nothing to estimate")
    held_out = [word.strip() for words in hold_out or [] for word in words.split(",")]
    refining = job.prepare(
        benchmark,
        chosen,
        to,
        job.Who(models, answers or (), _named(panel or []), held_out, rules),
        limits=how_far.limits(),
        ask_everything=ask_everything,
        retry_failed=retry_failed,
        skip_review=skip_review,
    )
    if dry_run:
        for stage, estimate in job.estimates(refining):
            out.print(Text(f"{stage}, at most", "bold"))
            out.print(estimate_table(estimate))
        return
    refining.items_at = at
    refined, steps = _carry_out(refining)
    if as_json:
        funnel = [step._asdict() for step in steps]
        print_json({"funnel": funnel, "kept": len(refined.kept), "paused": refined.paused})
        return
    source = refining.source
    _report(refined, steps, to, source.saved if isinstance(source, Live) else 0)


def _carry_out(refining: Refining) -> tuple[Refined, list[FunnelRow]]:
    """The refinement, or how many calls are left where it had to stop."""
    try:
        return job.carry_out(refining)
    except StoppedEarly as stop:
        note(f"{stop}; {counted(stop.progress.left, 'call')} left. The same command goes on from here.")
        raise typer.Exit(2 if stop.progress.abandoned else 130) from None


def _named(words: Sequence[str]) -> dict[str, list[str]]:
    seats = {}
    for word in words:
        name, equals, members = word.partition("=")
        if not equals or not members.strip(","):
            raise InputError(f"--panel: found {short(word)}, expected NAME=MODEL,MODEL")
        seats[name] = [member.strip() for member in members.split(",") if member.strip()]
    return seats


def _report(refined: Refined, steps: Sequence[FunnelRow], to: Path, saved: int) -> None:
    """The funnel, what is still answered blind, and what to do next."""
    rows = [(step.stage, *(f"{getattr(step, name):,}" for name in _COUNTS)) for step in steps]
    show_table(["stage"], ["in", *_COUNTS[1:]], rows)
    if refined.residuals:
        out.print()
        _show_residuals(refined)
    for line in refined.notes:
        note(line)
    if saved:
        note(f"{counted(saved, 'call')} saved by stopping early")
    if refined.waiting:
        table = f"or as a table, {to / REVIEW / QUEUE}, whose decisions go to {to / REVIEW / DECISIONS}"
        people = f"{counted(len(refined.waiting), 'item')} for people ({table}), then the same command again"
        advise(people, typed(program(), "review", to))
    if refined.paused:
        note(f"nothing after {refined.paused} was done yet (--skip-review goes on without people)")
    elif refined.kept:
        folder = to / BENCHMARK
        out.print(Text(f"{counted(len(refined.kept), 'item')} → {safe(str(folder))}", "bold"), soft_wrap=True)
        note(f"page → {to / REPORT}; card → {folder / README}")
    else:
        note("no item is left, so no benchmark was written")


def _show_residuals(refined: Refined) -> None:
    rows = []
    for one in refined.residuals:
        share = one.accuracy
        told = "–" if share.value is None else f"{share.value:.3f} [{share.low or 0:.3f}, {share.high or 1:.3f}]"
        answers = str(one.answers) if one.answers == one.asked else f"{one.answers} of {one.asked}"
        rows.append((one.panel, f"{one.who}, {one.when}", one.models, answers, f"{share.n:,}", told))
    show_table(["panel", "who"], ["models", "answers", "items", "accuracy"], rows, "answered blind")


_ACTIONS = ("list", "show", "check", "new")


def recipe(
    action: Annotated[str, argument("list|show|check|new", "What to do.")],
    name: Annotated[str | None, argument("NAME", "A recipe by name, or a YAML file.")] = None,
    to: Annotated[Path | None, option("--to", "new: where the copy goes (default: NAME.yaml).", "FILE")] = None,
) -> None:
    """List recipes and screens, show one, check one of your own, or begin a new one from one that is there."""
    if action not in _ACTIONS:
        raise InputError(f'no such thing as "{action}"; {nearest(action, _ACTIONS)}')
    if action == "list":
        _list()
        return
    if name is None:
        raise InputError(f"which recipe? eyetest recipe {action} NAME; there are {', '.join(recipe_names())}")
    text = recipe_text(name)
    if action == "show":
        echo(safe(text, None))
        if tags := told_tags(load_recipe(name)):
            note(f"needs the tags {tags}; refine --map-tags TAG=TAG says which of a benchmark's own are meant")
    elif action == "check":
        chosen = load_recipe(name)
        panels = listed((f"{panel} of {one.size}" for panel, one in chosen.panels.items()), 8)
        stages = " → ".join(stage.title for stage in chosen.stages)
        told = f"{counted(len(chosen.stages), 'stage')} ({stages}); panels: {panels or 'none'}"
        out.print(safe(f"{name}: {told}; tags: {told_tags(chosen) or 'none'}"))
    else:
        load_recipe(name)
        copy = to or Path(f"my-{Path(name).stem}.yaml")
        if copy.exists():
            raise InputError(f"{copy} is there already; choose another name with --to")
        with replacing_file(copy, overwrite=False) as file:
            file.write_text(text, encoding="utf-8")
        out.print(safe(str(copy)), soft_wrap=True)
        advise("change it, then", typed(program(), "recipe", "check", copy))


def _list() -> None:
    width = max(map(len, (*recipe_names(), *SCREENS)))
    out.print("recipes", style="bold")
    for name in recipe_names():
        first = re.split(r"[.;]\s", load_recipe(name).about)[0]
        tags = f"; tags: {needed}" if (needed := told_tags(load_recipe(name))) else ""
        say(f"  {name:<{width}}  {first}{tags}", under=width + 4)
    out.print("screens and grades", style="bold")
    for name in SCREENS:
        say(f"  {name:<{width}}  {SCREENS[name].summary}", under=width + 4)
