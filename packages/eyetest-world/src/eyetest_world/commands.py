"""The commands of eyetest-world, each one function for the command line and for Python."""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from eyetest.benchmarks import Benchmark
from eyetest.cli.options import TERMINAL, BenchArgument, OverwriteOption, argument, option, watching
from eyetest.cli.tables import show_table
from eyetest.cli.terminal import advise, fail, note, out, print_json, program, safe
from eyetest.errors import InputError, nearest
from eyetest.jobs.opening import open_bench
from eyetest.measures.stats.intervals import IntervalEstimate
from eyetest.recipes.sources import StoppedEarly, read_verdicts
from eyetest.running.limits import INTERRUPTED
from eyetest.store import refuse_to_lose, replacing_file
from eyetest.store.urls import local_path
from eyetest.wording import counted, typed
from eyetest_world.building import MOST, new_world
from eyetest_world.demo.folder import FEWEST, ITEMS, DemoFolder
from eyetest_world.demo.story import WorldStory
from eyetest_world.drafting import SIZE
from eyetest_world.editions import Editions, EditionSettings, draw_again, load_generator, write_scenes
from eyetest_world.flaws import flaw_names, load_rates, read_truth
from eyetest_world.grading import FlawGrade, calibrations, grade, read_scores
from eyetest_world.toy_models.cards import cards, models_file

_ACTIONS = ("new", "grade")
_new, _grading = partial(option, panel="A new world"), partial(option, panel="Grading")
_habit = partial(option, panel="Habits that they are given")
_SeedOption = Annotated[int, option("--seed", "Random seed: another one, other scenes.", min=0)]
_DataOption = Annotated[
    Path | None, option("--data", "Where the data lie, if not beside BENCH: the folder of a world.", "DIR")
]
_GeneratorOption = Annotated[
    list[Path] | None,
    option("--generator", "A generator of your own, a Python file: it is run; repeatable.", "FILE"),
]
_ScenesOption = Annotated[
    Path | None, option("--scenes", "A table of what every drawn picture shows; it tells the golds.", "FILE")
]


def demo(
    to: Annotated[Path, option("--to", "Where to put it.", "DIR")] = Path("demo"),
    overwrite: OverwriteOption = False,
    item_count: Annotated[
        int, option("--item-count", "How many items; five minutes are for 1,200.", min=FEWEST, max=MOST)
    ] = ITEMS,
) -> None:
    """Draw a benchmark, spoil it on purpose, ask 14 small models, and see which flaws are found.

    Takes about five minutes on two cores, without a network or a key. Everything is left in DIR to play with.

    Example:
        eyetest demo --to demo

    """
    began, folder = time.monotonic(), DemoFolder(to, item_count)
    folder.clear(overwrite=overwrite)
    out.print("An eye test of the eye test: a benchmark whose flaws are known. Are they found?\n")
    folder.draw()
    flawed = sum(bool(truth.flaws) for truth in folder.truths)
    _say(1, f"Drew {counted(len(folder.truths), 'item')} and spoilt {flawed:,} of them on purpose, in eleven ways.")
    blind, sighted = len(folder.models), len(folder.vision_models)
    _say(2, f"Asking {blind} small models: all of them blind, {sighted} with the picture …")
    try:
        answers = folder.ask(watching)
    except StoppedEarly as stop:
        if stop.progress.stopped == INTERRUPTED:
            raise typer.Exit(130) from None
        fail(str(stop))
        raise typer.Exit(2) from None
    _say(3, "Screening: five recipes by themselves, then all together …")
    story = folder.screen(answers)
    _say(4, "Comparing with the truth, drawing the page …")
    folder.tell(story, time.monotonic() - began)
    _conclude(story, folder, time.monotonic() - began)


def _say(step: int, words: str) -> None:
    out.print(Text.assemble((f"{step}  ", "bold"), words), soft_wrap=True)


def _conclude(story: WorldStory, folder: DemoFolder, seconds: float) -> None:
    """Print what came of it, where to look, and what to do next."""
    whole, ranks, leaks = story.graded.overall, story.rankings, story.agreements["leakage"]
    rows = [
        ("planted", f"{whole.planted:,} items"),
        ("found", f"{whole.found:,} of them"),
        ("missed", f"{whole.planted - whole.found:,}"),
        ("removed", f"{whole.flagged:,} items, {whole.flagged - whole.right:,} of them good ones (false alarms)"),
        ("items left", f"{len(story.kept):,}"),
        ("flawless world", f"{story.whole.lost.value or 0:.1%} of {story.flawless_items} would be taken out"),
    ]
    if leaks.value is not None:
        rows.append(("leakage", f"ranks vision models as what truly leaked to them: ρ = {leaks.value:.2f}"))
    rows.append(("ranking", f"τ with true skill: {ranks.spoilt.value:.2f} spoilt, {ranks.refined.value:.2f} refined"))
    _list(rows)
    out.print(f"\nDone in {seconds:.0f} s.", soft_wrap=True)
    _list(
        [
            ("look at it", str(folder.page)),
            ("its items", typed(program(), "open", *folder.places, "--browser")),
            ("your own file", typed(program(), "audit", "mybench.tsv", "--page", "audit.html")),
            ("try a recipe", str(folder.recipes)),
        ]
    )


def _list(rows: Sequence[tuple[str, str]]) -> None:
    out.print()
    for name, value in rows:
        out.print(Text.assemble((f"   {name:<15}", "dim"), safe(value)), soft_wrap=True)


def world(
    action: Annotated[str, argument("new|grade", "What to do.")],
    folder: Annotated[Path | None, argument("WORLD", "grade: the folder of a world.")] = None,
    verdicts: Annotated[
        Path | None, argument("VERDICTS", "grade: a table of verdicts, or the folder of a refinement.")
    ] = None,
    to: Annotated[Path | None, _new("--to", "Where the world goes.", "DIR")] = None,
    item_count: Annotated[int, _new("--item-count", "How many items.", min=1, max=MOST)] = 1200,
    seed: Annotated[int, _new("--seed", "Random seed: another one, another world.")] = 7,
    flaws: Annotated[
        str, _new("--flaws", f"Which flaws, and how many: {', '.join(flaw_names())}, or a file.", "FILE")
    ] = "default",
    size: Annotated[int, _new("--size", "Pixels a side of its pictures.", min=1)] = SIZE,
    overwrite: OverwriteOption = False,
    scores: Annotated[
        Path | None,
        _grading("--scores", "Scores of items (item, score): how well they tell flawed items from others.", "CSV"),
    ] = None,
    as_json: Annotated[bool, _grading("--json", "Print JSON.")] = False,
) -> None:
    """Draw a benchmark whose flaws are known, or grade what a refinement or an audit found of them.

    DIR/benchmark is for everybody. What is true of it lies beside it, in DIR/truth.parquet; grade alone reads it.

    Example:
        eyetest world new --to world --flaws default
        eyetest world grade world refined

    """
    if action not in _ACTIONS:
        raise InputError(f'no such thing as "{action}"; {nearest(action, _ACTIONS)}')
    if action == "new":
        if to is None or folder is not None:
            raise InputError("where does the world go? eyetest world new --to DIR")
        made = new_world(to, load_rates(flaws), items=item_count, seed=seed, size=size, overwrite=overwrite)
        flawed = sum(bool(truth.flaws) for truth in read_truth(to))
        out.print(safe(f"{counted(len(made), 'item')}, {flawed:,} of them with a flaw → {to}"), soft_wrap=True)
        return
    if folder is None or (verdicts is None and scores is None):
        raise InputError("what is graded? eyetest world grade WORLD VERDICTS [--scores CSV]")
    truths = read_truth(folder)
    graded = grade(truths, read_verdicts(verdicts)) if verdicts else None
    aurocs = calibrations(truths, read_scores(scores)) if scores else {}
    if as_json:
        content: dict[str, Any] = {"auroc": {flaw: area._asdict() for flaw, area in aurocs.items()}} if aurocs else {}
        if graded:
            parts = {"flaws": graded.flaws, "stages": graded.stages}
            grades = {name: list(map(_plain, rows)) for name, rows in parts.items()}
            content = {"overall": _plain(graded.overall), **grades, **content}
        print_json(content)
        return
    if graded:
        _show("all stages together", [graded.overall, *graded.flaws])
        for stage in dict.fromkeys(row.stage for row in graded.stages):
            out.print()
            _show(stage, [row for row in graded.stages if row.stage == stage])
    if aurocs:
        show_table(["flaw"], ["AUROC"], [(flaw, _share(area)) for flaw, area in aurocs.items()], "scores of items")
    if not any(truth.flaws for truth in truths):
        note("this world has no flaws: whatever was flagged was flagged wrongly")


def _plain(row: FlawGrade) -> dict[str, Any]:
    return row._asdict() | {"recall": row.recall._asdict(), "precision": row.precision._asdict()}


def _show(title: str, grades: Sequence[FlawGrade]) -> None:
    rows = [
        (
            *(row.flaw, f"{row.planted:,}", f"{row.reached:,}", f"{row.found:,}", _share(row.recall)),
            *(f"{row.flagged:,}", f"{row.right:,}", _share(row.precision)),
        )
        for row in grades
    ]
    names = ("planted", "reached", "found", "recall", "flagged", "right", "precision")
    show_table(["flaw"], names, rows, safe(title))


def _share(estimate: IntervalEstimate) -> str:
    if estimate.value is None:
        return "–"
    return f"{estimate.value:.3f} [{estimate.low or 0:.3f}, {1 if estimate.high is None else estimate.high:.3f}]"


def zoo(
    to: Annotated[Path | None, option("--to", "Write them down as a models.yaml for --models.", "FILE")] = None,
    taste: Annotated[
        float, _habit("--taste", "How strongly each likes some answers: a deviation of logits.", min=0)
    ] = 0.0,
    belief: Annotated[
        float, _habit("--belief", "On which share of questions all believe the same.", min=0, max=1)
    ] = 0.0,
    leaks: Annotated[
        Path | None, _habit("--leaks", "What leaked of a world (its leaks.jsonl): they remember it.", "FILE")
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """List the small models that come with eyetest.

    They know the drawn world of `eyetest world` and nothing else. Ask one with --model embedded:NAME, or all of them
    with the file that --to writes. What leaked to each is known exactly: that is what they are for.

    Example:
        eyetest zoo --to models.yaml

    """
    if to is None and (taste or belief or leaks):
        raise InputError("habits are written down for --models: give --to FILE as well")
    if leaks is not None and not leaks.is_file():
        raise InputError(f"{leaks} does not exist")
    if to is not None:
        refuse_to_lose(to, overwrite=overwrite, ours=None)
        with replacing_file(to, overwrite=overwrite) as file:
            file.write_text(models_file(taste, belief, str(leaks) if leaks else ""), encoding="utf-8")
    rows = [
        (
            *(f"embedded:{card.name}", card.base, card.style, f"{card.leaked:.0%}" if card.sees else ""),
            *(f"{card.parameters:,}", f"{card.resolution} px" if card.sees else ""),
            *(f"{card.scenes_seen:,}" if card.sees else "", f"{card.texts_read:,}"),
        )
        for card in cards().values()
    ]
    show_table(["model", "built on", "replies"], ["leaked to it", "weights", "sees", "scenes", "texts"], rows)
    out.print()
    note("leaked to it: items of the default world that were in its training, with picture and answer")
    card = next(iter(cards().values()))
    note(f"all of them read {card.leaked_texts:.0%} of its items as text, and all {card.facts} invented facts")


def renew(
    bench: BenchArgument,
    to: Annotated[Path | None, option("--to", "The benchmark folder of the new edition.", "DIR")] = None,
    seed: _SeedOption = 0,
    data: _DataOption = None,
    generator: _GeneratorOption = None,
    scenes: _ScenesOption = None,
    overwrite: OverwriteOption = False,
) -> Benchmark:
    """Draw a new edition: the same kinds of questions about new scenes, with golds computed again.

    For items whose picture and gold follow from data: the drawn world, charts with their tables, puzzles with their
    captions, and whatever a generator of your own knows. Items keep their ids; what cannot be drawn is left out and
    counted.

    Example:
        eyetest harden renew world/benchmark --seed 1 --to edition-1

    """
    settings = EditionSettings(seed=seed, data=str(data or ""))
    done = _drawn(bench, to, settings, generator, scenes, overwrite)
    _finish(done, typed(program(), "audit", done.benchmark.path))
    return done.benchmark


def twins(
    bench: BenchArgument,
    to: Annotated[Path | None, option("--to", "The folder for originals and twins.", "DIR")] = None,
    twins: Annotated[int, option("--twins", "How many of an item, each with another answer.", min=1)] = 3,
    seed: _SeedOption = 0,
    fresh: Annotated[bool, option("--fresh", "Beside the twins also an item of a new edition.")] = False,
    data: _DataOption = None,
    generator: _GeneratorOption = None,
    scenes: _ScenesOption = None,
    overwrite: OverwriteOption = False,
) -> Benchmark:
    """Draw answer-changing twins: the same question about pictures in which other answers are right.

    Originals and twins lie in one benchmark, so that one run asks all. eyetest measure leak-by-twin compares them:
    whoever knows the test by heart gives the old answer to all. An item has no more twins than wrong options.

    Example:
        eyetest harden twins world/benchmark --to twins

    """
    settings = EditionSettings(seed=seed, data=str(data or ""), twins=twins, fresh=fresh)
    done = _drawn(bench, to, settings, generator, scenes, overwrite)
    _finish(done, f"{typed(program(), 'run', done.benchmark.path)} --model SPEC --to RUN")
    note("then leak-by-twin measures RUN")
    return done.benchmark


def _drawn(
    bench: Path,
    to: Path | None,
    settings: EditionSettings,
    generator: Sequence[Path] | None,
    scenes: Path | None,
    overwrite: bool,
) -> Editions:
    if to is None:
        raise InputError("--to DIR is missing: where is the benchmark to be written?")
    benchmark = open_bench(bench)
    own = [load_generator(local_path(path)) for path in generator or ()]
    if scenes is not None:
        refuse_to_lose(local_path(scenes), overwrite=overwrite, ours=None)
    title = "drawing twins" if settings.twins else "drawing a new edition"
    with TERMINAL.steps(title) as step:

        def tell(done: int) -> None:
            step(f"{title}: {done:,} items", done / max(len(benchmark), 1))

        editions = draw_again(benchmark, local_path(to), settings, own=own, overwrite=overwrite, step=tell)
    if scenes is not None:
        write_scenes(editions, local_path(scenes), overwrite=overwrite)
    return editions


def _finish(done: Editions, after: str) -> None:
    drawn = f"{done.items:,} of {counted(done.of, 'item')} drawn again → {safe(str(done.benchmark.path))}"
    out.print(Text(drawn, "bold"), soft_wrap=True)
    for reason, count in done.refused.items():
        note(f"not drawn again: {reason} ({count:,})")
    advise("next", after)
