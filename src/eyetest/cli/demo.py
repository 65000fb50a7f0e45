"""``eyetest demo``: a benchmark with known flaws, small models that answer it, and whether the flaws are found."""

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from eyetest.benchmarks import Benchmark
from eyetest.cli import options
from eyetest.cli.live import watching
from eyetest.cli.terminal import fail, out, program, safe
from eyetest.demo.page import write_world_page
from eyetest.demo.proving import prove
from eyetest.demo.story import BLIND, SIGHTED, SUBSETS, Tried, WorldStory
from eyetest.models import read_models
from eyetest.models.embedded import cards, models_file
from eyetest.records import Condition, ModelEntry
from eyetest.results.gather import results_of
from eyetest.running import Asking, Progress, Session
from eyetest.running.session import INTERRUPTED
from eyetest.runs import Run
from eyetest.scoring import Scorer, is_hit, looks_refused
from eyetest.store.replacing import refuse_to_lose
from eyetest.wording import counted, typed
from eyetest.world import Truth, load_rates, new_world, read_truth
from eyetest.world.recipes import world_recipes

_ITEMS, _SEED = 1200, 7
"""Of the default world: what leaked to the zoo leaked from there."""
_FRESH_ITEMS, _FRESH_SEED = 300, 1007
_TRIALS, _WARM = 5, 1.0
_WORLD, _FRESH, _RUN, _FRESH_RUN, _TRIED = "world", "fresh", "run", "fresh-run", "tried"
_MODELS, _RECIPES, _PAGE = "models.yaml", "recipes", "report.html"
_OURS = (_WORLD, _FRESH, _RUN, _FRESH_RUN, _TRIED, _MODELS, _RECIPES, _PAGE)
_EARLIER = ("audit.html", "drawn", "exports", "mended", "read-back", "spoilt")
"""What the demo of earlier versions wrote; it may stay."""
_COPIES = ("duplicate-items", "duplicate-images")
_WHOLE = "everything"
_TITLES = {
    "chance-aware": (
        "blind, chance-aware",
        "four language models, five blind answers each; what neither luck nor shared habits give goes",
    ),
    "mmmu-pro": (
        "blind, as MMMU-Pro",
        "three of four language models are right in more than two of five blind trials",
    ),
    "mmstar": ("blind, as MMStar", "two of four language models hit in a single blind trial; luck does that often"),
    "leaks": ("leaks", "three vision models answer blind what their language models do not"),
    "golds": ("doubtful golds", "ten vision models, eyes open, agree against the gold; for people to look at"),
    _WHOLE: ("all together", "duplicates, blind (chance-aware), leaks, doubtful golds, one after the other"),
}
"""Each recipe as the page calls it, and what it does."""


def demo(
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where to put it.")] = Path("demo"),
    overwrite: options.OverwriteOption = False,
    items: Annotated[int, typer.Option("--items", min=60, hidden=True)] = _ITEMS,
) -> None:
    """Draw a benchmark, spoil it on purpose, ask 14 small models, and see which flaws are found.

    Takes about three minutes on two cores, without a network or a key. Everything is left in DIR to play with.
    """
    began = time.monotonic()
    _clear(to, overwrite=overwrite)
    out.print("An eye test of the eye test: a benchmark whose flaws are known. Are they found?\n")
    bench, truths = _draw(to, items)
    progress = _ask(to, bench)
    _say(3, "Screening: five recipes by themselves, then all together …")
    story = _screen(to, bench, truths, progress)
    _say(4, "Comparing with the truth, drawing the page …")
    seconds = time.monotonic() - began
    about = {
        "folder": typed(to),
        "subsets": f"{SUBSETS}",
        "world": f"{items:,} items, seed {_SEED}",
        "fresh world": f"{_FRESH_ITEMS:,} items, seed {_FRESH_SEED}",
        "answers": f"{story.calls:,}",
        "seed of measures": f"{story.seed}",
        "seconds until here": f"{seconds:.0f}",
    }
    write_world_page(story, about, to / _PAGE, overwrite=True)
    _conclude(story, to, time.monotonic() - began)


def _clear(to: Path, *, overwrite: bool) -> None:
    """An empty place; what an earlier demo left there goes, and nothing else."""
    refuse_to_lose(to, overwrite=overwrite, ours=(*_OURS, *_EARLIER))
    for name in _OURS:
        if (to / name).is_dir():
            shutil.rmtree(to / name)
    to.mkdir(parents=True, exist_ok=True)


def _draw(to: Path, items: int) -> tuple[Benchmark, list[Truth]]:
    """The spoilt world, a fresh one, and what a user may want to read or change."""
    bench = new_world(to / _WORLD, load_rates("default"), items=items, seed=_SEED)
    new_world(to / _FRESH, load_rates("none"), items=min(items, _FRESH_ITEMS), seed=_FRESH_SEED)
    truths = read_truth(to / _WORLD)
    flawed = sum(bool(truth.flaws) for truth in truths)
    _say(1, f"Drew {counted(len(bench), 'item')} and spoilt {flawed:,} of them on purpose, in eleven ways.")
    (to / _MODELS).write_text(models_file(), encoding="utf-8")
    (to / _RECIPES).mkdir()
    for name, text in world_recipes().items():
        (to / _RECIPES / f"{name}.yaml").write_text(text, encoding="utf-8")
    return bench, truths


def _ask(to: Path, bench: Benchmark) -> int:
    """Everybody blind, whoever has eyes also with the picture, and with fresh items; how many answers there are."""
    entries = read_models(to / _MODELS)
    birds = {name: entry for name, entry in entries.items() if cards()[name].sees}
    _say(2, f"Asking {len(entries)} small models: all of them blind, {len(birds)} with the picture …")
    blind = Asking(conditions=(Condition(sight=BLIND),), trials=_TRIALS, sampling={"temperature": _WARM})
    seen = Asking(conditions=(Condition(sight=SIGHTED),))
    return (
        _session(bench, entries, blind, to / _RUN)
        + _session(bench, birds, seen, to / _RUN)
        + _session(Benchmark(to / _FRESH / "benchmark"), birds, seen, to / _FRESH_RUN)
    )


def _session(bench: Benchmark, entries: Mapping[str, ModelEntry], asking: Asking, to: Path) -> int:
    progress = Session(bench, dict(entries), asking, hit=is_hit).run(
        to, progress=Progress(looks_refused), watch=watching
    )
    if progress.stopped == INTERRUPTED:
        raise typer.Exit(130)
    for name, why in progress.abandoned.items():
        fail(f"{name} was given up: {why}")
    if progress.abandoned:
        raise typer.Exit(2)
    return progress.done


def _screen(to: Path, bench: Benchmark, truths: Sequence[Truth], calls: int) -> WorldStory:
    """Every recipe on the recorded answers."""
    run, models = Run(to / _RUN), read_models(to / _MODELS)
    results = results_of([run], Scorer(), models=models)
    fresh = results_of([Run(to / _FRESH_RUN)], Scorer(), models=models)
    tried, kept = [], []
    for name, (title, about) in _TITLES.items():
        proof = prove(to / _RECIPES / f"{name}.yaml", bench, results, truths, to / _TRIED / name)
        tried.append(Tried(name, title, about, proof.refined.verdicts, proof.by_luck, world_recipes()[name]))
        kept = [item.id for item in proof.refined.kept]
    copies = [row for row in tried[-1].verdicts if row.stage in _COPIES]
    first = Tried("duplicates", "duplicates", "no model: equal items, and pictures that come back re-encoded", copies)
    return WorldStory(bench, truths, [first, *tried], kept, [run], results, fresh, calls)


def _say(step: int, words: str) -> None:
    out.print(Text.assemble((f"{step}  ", "bold"), words), soft_wrap=True)


def _conclude(story: WorldStory, to: Path, seconds: float) -> None:
    """What came of it, where to look, and what to do next."""
    whole, ranks = story.graded.overall, story.rankings
    leaks = story.agreement(story.birds, "unclipped", "told")
    told = [
        ("planted", f"{whole.planted:,} items"),
        ("found", f"{whole.found:,}"),
        ("missed", f"{whole.planted - whole.found:,}"),
        ("false alarms", f"{whole.flagged - whole.right:,}"),
        ("items left", f"{len(story.kept):,}"),
    ]
    if leaks.value is not None:
        told.append(("leakage", f"ranks vision models as what truly leaked to them: ρ = {leaks.value:.2f}"))
    told.append(("ranking", f"τ with true skill: {ranks.spoilt.value:.2f} spoilt, {ranks.refined.value:.2f} refined"))
    _list(told)
    out.print(f"\nDone in {seconds:.0f} s.", soft_wrap=True)
    _list(
        [
            ("look at it", str(to / _PAGE)),
            ("your own file", typed(program(), "audit", "mybench.tsv", "--html", "audit.html")),
            ("try a recipe", str(to / _RECIPES)),
        ]
    )


def _list(rows: Sequence[tuple[str, str]]) -> None:
    out.print()
    for name, value in rows:
        out.print(Text.assemble((f"   {name:<15}", "dim"), safe(value)), soft_wrap=True)
