"""``eyetest world|zoo``: a world with known flaws, how well verdicts found them, and small models that know it."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from eyetest.cli.options import OverwriteOption, argument, option
from eyetest.cli.tables import show_table
from eyetest.cli.terminal import note, out, print_json, safe
from eyetest.errors import InputError, nearest
from eyetest.measures.stats.intervals import IntervalEstimate
from eyetest.models.embedded import cards, models_file
from eyetest.store import refuse_to_lose, replacing_file
from eyetest.wording import counted
from eyetest.world.building import MOST, new_world
from eyetest.world.drafting import SIZE
from eyetest.world.flaws import flaw_names, load_rates, read_truth
from eyetest.world.grading import FlawGrade, Grade, calibrations, grade, read_scores, read_verdicts

_ACTIONS = ("new", "grade")
new, grading = partial(option, panel="A new world"), partial(option, panel="Grading")
habit = partial(option, panel="Habits that they are given")


def world(
    action: Annotated[str, argument("new|grade", "What to do.")],
    folder: Annotated[Path | None, argument("WORLD", "grade: the folder of a world.")] = None,
    verdicts: Annotated[
        Path | None, argument("VERDICTS", "grade: a table of verdicts, or the folder of a refinement.")
    ] = None,
    to: Annotated[Path | None, new("--to", "Where the world goes.", "DIR")] = None,
    item_count: Annotated[int, new("--item-count", "How many items.", min=1, max=MOST)] = 1200,
    seed: Annotated[int, new("--seed", "Random seed: another one, another world.")] = 7,
    flaws: Annotated[
        str, new("--flaws", f"Which flaws, and how many: {', '.join(flaw_names())}, or a file.", "FILE")
    ] = "default",
    size: Annotated[int, new("--size", "Pixels a side of its pictures.", min=1)] = SIZE,
    overwrite: OverwriteOption = False,
    scores: Annotated[
        Path | None,
        grading("--scores", "Scores of items (item, score): how well they tell flawed items from others.", "CSV"),
    ] = None,
    as_json: Annotated[bool, grading("--json", "Print JSON.")] = False,
) -> None:
    """Draw a benchmark whose flaws are known, or grade what a refinement or an audit found of them.

    DIR/benchmark is for everybody. What is true of it lies beside it, in DIR/truth.parquet; grade alone reads it.
    """
    if action not in _ACTIONS:
        raise InputError(f'no such thing as "{action}"; {nearest(action, _ACTIONS)}')
    if action == "new":
        if to is None or folder is not None:
            raise InputError("where does the world go? eyetest world new --to DIR")
        made = new_world(to, load_rates(flaws), items=item_count, seed=seed, size=size, overwrite=overwrite)
        flawed = sum(bool(truth.flaws) for truth in read_truth(to))
        told = f"{counted(len(made), 'item')}, {flawed:,} of them with a flaw → {to}"
        out.print(safe(told), soft_wrap=True)
        return
    if folder is None or (verdicts is None and scores is None):
        raise InputError("what is graded? eyetest world grade WORLD VERDICTS [--scores CSV]")
    truths = read_truth(folder)
    graded = grade(truths, read_verdicts(verdicts)) if verdicts else None
    told_apart = calibrations(truths, read_scores(scores)) if scores else {}
    if as_json:
        print_json(_as_json(graded, told_apart))
        return
    if graded:
        _report(graded)
    if told_apart:
        show_table(["flaw"], ["AUROC"], [(flaw, _share(one)) for flaw, one in told_apart.items()], "scores of items")
    if not any(truth.flaws for truth in truths):
        note("this world has no flaws: whatever was flagged was flagged wrongly")


def _as_json(graded: Grade | None, told_apart: dict[str, IntervalEstimate]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if graded:
        told["overall"] = _plain(graded.overall)
        told["flaws"] = [_plain(one) for one in graded.flaws]
        told["stages"] = [_plain(one) for one in graded.stages]
    if told_apart:
        told["auroc"] = {flaw: one._asdict() for flaw, one in told_apart.items()}
    return told


def _plain(one: FlawGrade) -> dict[str, Any]:
    return one._asdict() | {"recall": one.recall._asdict(), "precision": one.precision._asdict()}


def _report(graded: Grade) -> None:
    _show("all stages together", [graded.overall, *graded.flaws])
    for stage in dict.fromkeys(one.stage for one in graded.stages):
        out.print()
        _show(stage, [one for one in graded.stages if one.stage == stage])


def _show(title: str, flaws: list[FlawGrade]) -> None:
    rows = [
        (
            *(one.flaw, f"{one.planted:,}", f"{one.reached:,}", f"{one.found:,}", _share(one.recall)),
            *(f"{one.flagged:,}", f"{one.right:,}", _share(one.precision)),
        )
        for one in flaws
    ]
    names = ("planted", "reached", "found", "recall", "flagged", "right", "precision")
    show_table(["flaw"], names, rows, safe(title))


def _share(one: IntervalEstimate) -> str:
    if one.value is None:
        return "–"
    return f"{one.value:.3f} [{one.low or 0:.3f}, {1 if one.high is None else one.high:.3f}]"


def zoo(
    to: Annotated[Path | None, option("--to", "Write them down as a models.yaml for --models.", "FILE")] = None,
    taste: Annotated[
        float, habit("--taste", "How strongly each likes some answers: a deviation of logits.", min=0)
    ] = 0.0,
    belief: Annotated[
        float, habit("--belief", "On which share of questions all believe the same.", min=0, max=1)
    ] = 0.0,
    leaks: Annotated[
        Path | None, habit("--leaks", "What leaked of a world (its leaks.jsonl): they remember it.", "FILE")
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """List the small models that come with eyetest.

    They know the drawn world of `eyetest world` and nothing else. Ask one with --model embedded:NAME, or all of them
    with the file that --to writes. What leaked to each is known exactly: that is what they are for.
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
    told = next(iter(cards().values()))
    note(f"all of them read {told.leaked_texts:.0%} of its items as text, and all {told.facts} invented facts")
