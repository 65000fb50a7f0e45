"""``eyetest demo``: a benchmark with known flaws, small models that answer it, and whether the flaws are found."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from eyetest.cli import options
from eyetest.cli.live import watching
from eyetest.cli.terminal import fail, out, program, safe
from eyetest.demo.folder import FEWEST, ITEMS, DemoFolder
from eyetest.demo.story import WorldStory
from eyetest.recipes.sources import StoppedEarly
from eyetest.running.session import INTERRUPTED
from eyetest.wording import counted, typed
from eyetest.world.building import MOST


def demo(
    to: Annotated[Path, options.option("--to", "Where to put it.", "DIR")] = Path("demo"),
    overwrite: options.OverwriteOption = False,
    item_count: Annotated[
        int, options.option("--item-count", "How many items; five minutes are for 1,200.", min=FEWEST, max=MOST)
    ] = ITEMS,
) -> None:
    """Draw a benchmark, spoil it on purpose, ask 14 small models, and see which flaws are found.

    Takes about five minutes on two cores, without a network or a key. Everything is left in DIR to play with.
    """
    began = time.monotonic()
    folder = DemoFolder(to, item_count)
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
    """What came of it, where to look, and what to do next."""
    whole, ranks = story.graded.overall, story.rankings
    leaks = story.agreements["leakage"]
    told = [
        ("planted", f"{whole.planted:,} items"),
        ("found", f"{whole.found:,} of them"),
        ("missed", f"{whole.planted - whole.found:,}"),
        ("removed", f"{whole.flagged:,} items, {whole.flagged - whole.right:,} of them good ones (false alarms)"),
        ("items left", f"{len(story.kept):,}"),
        ("flawless world", f"{story.whole.lost.value or 0:.1%} of {story.flawless_items} would be taken out"),
    ]
    if leaks.value is not None:
        told.append(("leakage", f"ranks vision models as what truly leaked to them: ρ = {leaks.value:.2f}"))
    told.append(("ranking", f"τ with true skill: {ranks.spoilt.value:.2f} spoilt, {ranks.refined.value:.2f} refined"))
    _list(told)
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
