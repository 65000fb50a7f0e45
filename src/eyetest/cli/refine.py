"""``eyetest refine``: a benchmark through a recipe, into a better one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import README
from eyetest.cli import options
from eyetest.cli.live import watching
from eyetest.cli.run import estimate_table
from eyetest.cli.terminal import err, note, out, print_json, print_table, safe
from eyetest.errors import InputError, short
from eyetest.models import read_models
from eyetest.recipes import Refined, Refining, load_recipe
from eyetest.recipes.panels import Seated, seat, seated_on_answers
from eyetest.recipes.refining import BENCHMARK, REPORT, REVIEW, RUN, refuse_foreign
from eyetest.recipes.sources import Live, Recorded, StoppedEarly
from eyetest.records import Recipe
from eyetest.results.gather import results_of
from eyetest.review import DECISIONS, QUEUE
from eyetest.running import Estimate, Limits
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.wording import counted

_WHO = "Who is asked"
_LIMITS = "How far it may go"


def refine(
    bench: options.BenchArgument,
    recipe: Annotated[
        str,
        typer.Option(
            "--recipe", "-r", metavar="NAME", help="A recipe by name, or a YAML file (eyetest recipe list)."
        ),
    ],
    to: Annotated[
        Path,
        typer.Option("--to", metavar="DIR", help="The folder of the refinement; again to go on where it stopped."),
    ],
    models: Annotated[
        Path | None,
        typer.Option(
            "--models",
            metavar="FILE",
            help="models.yaml: who can be asked; with --answers, what is known of them.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    answers: Annotated[
        list[Path] | None,
        typer.Option(
            "--answers",
            metavar="RUN",
            help="Recorded answers instead of models; nothing is asked.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    panel: Annotated[
        list[str] | None,
        typer.Option(
            "--panel", metavar="NAME=A,B", help="Who sits on a panel, in the order of asking.", rich_help_panel=_WHO
        ),
    ] = None,
    hold_out: Annotated[
        list[str] | None,
        typer.Option("--hold-out", metavar="A,B", help="Models that answer but have no say.", rich_help_panel=_WHO),
    ] = None,
    rules: Annotated[str, typer.Option("--rules", metavar="NAME", help="Whose reading rules.")] = "eyetest",
    skip_review: Annotated[
        bool, typer.Option("--skip-review", help="Let items pass that no person has looked at yet.")
    ] = False,
    ask_everything: Annotated[
        bool,
        typer.Option("--ask-everything", help="Do not stop early; verdicts are the same.", rich_help_panel=_LIMITS),
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again what failed before.", rich_help_panel=_LIMITS)
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be asked at most, and ask nothing.", rich_help_panel=_LIMITS),
    ] = False,
    concurrency: Annotated[
        int, typer.Option(min=1, help="The most calls in flight to a model.", rich_help_panel=_LIMITS)
    ] = 64,
    max_calls: Annotated[
        int | None,
        typer.Option(min=1, help="Stop after so many calls, all stages together.", rich_help_panel=_LIMITS),
    ] = None,
    max_total_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Stop before all stages together pass them.", rich_help_panel=_LIMITS),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            min=0, help="Stop before all stages together pass it (prices: --models).", rich_help_panel=_LIMITS
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the funnel as JSON.")] = False,
    format_name: options.FormatOption = None,
    fields: options.MapOption = None,
    images: options.ImagesOption = None,
    drop: options.DropOption = None,
) -> None:
    """Take a benchmark through a recipe: panels screen it, people review it, a balanced selection comes out.

    Every item gets a verdict at every stage it reaches (DIR/verdicts.parquet). Kill it at any moment and run the same
    command again. What waits for people is in DIR/review/queue.csv; put their decisions beside it and run it again.
    """
    chosen = load_recipe(recipe)
    refuse_foreign(to)
    read = options.read_options(format_name, fields, images, None, drop, allow_missing_gold=False)
    benchmark = options.open_with_bar(bench, read)
    scorer = Scorer(rules)
    if answers and dry_run:
        raise InputError("--dry-run: recorded answers are not asked for, so there is nothing to estimate")
    if not models and not answers:
        raise InputError("who answers? --models FILE to ask them, or --answers RUN for what was recorded")
    named, out_ = _named(panel or []), [word.strip() for words in hold_out or [] for word in words.split(",")]
    limits = Limits(concurrency=concurrency, calls=max_calls, tokens=max_total_tokens, money=max_cost)
    if answers:
        runs = [Run(run) for run in answers]
        found = results_of(runs, scorer, models=read_models(models) if models else None)
        panels = seated_on_answers(chosen, found, named, out_)
        source: Live | Recorded = Recorded(found, runs, scorer)
    else:
        assert models is not None
        entries = read_models(models)
        if max_cost is not None and not any(entry.price for entry in entries.values()):
            raise InputError("--max-cost needs prices: give models a price in --models, in money per million tokens")
        panels = seat(chosen, entries, named, out_)
        source = Live(benchmark, entries, to / RUN, scorer, limits, seed=chosen.seed, ask_everything=ask_everything)
        source.watch, source.planned, source.retry_failed = watching, _announce, retry_failed
        if dry_run:
            _estimate(chosen, panels, source, benchmark)
            return
    refining = Refining(benchmark, chosen, panels, source, to, skip_review)
    try:
        result = refining.run()
    except StoppedEarly as stop:
        note(f"{stop}; {counted(stop.progress.left, 'call')} left. The same command goes on from here.")
        raise typer.Exit(2 if stop.progress.abandoned else 130) from None
    steps = [step for step in refining.funnel(result) if not step.tag]
    if as_json:
        print_json({"funnel": [step._asdict() for step in steps], "kept": len(result.kept), "paused": result.paused})
        return
    _report(result, steps, to, source)


def _named(words: Sequence[str]) -> dict[str, list[str]]:
    found = {}
    for word in words:
        name, equals, members = word.partition("=")
        if not equals or not members.strip(","):
            raise InputError(f"--panel: found {short(word)}, expected NAME=MODEL,MODEL")
        found[name] = [member.strip() for member in members.split(",") if member.strip()]
    return found


def _announce(stage: str, estimate: Estimate) -> None:
    if estimate.calls:
        err.print(Text(stage, "bold"))
        err.print(estimate_table(estimate))


def _estimate(recipe: Recipe, panels: dict[str, Seated], source: Live, benchmark: Benchmark) -> None:
    """What each stage would ask if no item fell before it and nothing stopped early."""
    items = list(benchmark)
    for stage in recipe.stages:
        if stage.panel:
            seated = panels[stage.panel]
            session = source.session(seated, [one.model for one in seated.everybody], items, stage, None)
            out.print(Text(f"{stage.title}, at most", "bold"))
            out.print(estimate_table(session.estimate(source.to)))


def _report(result: Refined, steps: Sequence[object], to: Path, source: Live | Recorded) -> None:
    """The funnel, what is still answered blind, and what to do next."""
    print_table(_funnel_table(steps))
    if result.residuals:
        out.print()
        print_table(_residual_table(result))
    for line in result.notes:
        note(line)
    if isinstance(source, Live) and source.saved:
        note(f"{counted(source.saved, 'call')} saved by stopping early")
    if result.waiting:
        where = f"{to / REVIEW / QUEUE}; decisions go to {to / REVIEW / DECISIONS}"
        note(f"{counted(len(result.waiting), 'item')} for people: {where}, then the same command again")
    if result.paused:
        note(f"nothing after {result.paused} was done yet (--skip-review goes on without people)")
    elif result.kept:
        place = to / BENCHMARK
        out.print(Text(f"{counted(len(result.kept), 'item')} → {safe(str(place))}", "bold"), soft_wrap=True)
        note(f"page → {to / REPORT}; card → {place / README}")
    else:
        note("no item is left, so no benchmark was written")


def _funnel_table(steps: Sequence[object]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("stage")
    names = ("into", "keep", "drop", "fix", "review")
    for name in names:
        table.add_column("in" if name == "into" else name, justify="right")
    for step in steps:
        table.add_row(safe(str(getattr(step, "stage"))), *(f"{getattr(step, name):,}" for name in names))  # noqa: B009
    return table


def _residual_table(result: Refined) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, title="answered blind", title_justify="left")
    for name in ("panel", "who", "models", "answers", "items", "accuracy"):
        table.add_column(name, justify="left" if name in ("panel", "who") else "right", no_wrap=True)
    for one in result.residuals:
        share = one.accuracy
        told = "–" if share.value is None else f"{share.value:.3f} [{share.low or 0:.3f}, {share.high or 1:.3f}]"
        answers = str(one.answers) if one.answers == one.asked else f"{one.answers} of {one.asked}"
        table.add_row(safe(one.panel), f"{one.who}, {one.when}", str(one.models), answers, f"{share.n:,}", told)
    return table
