"""What a reader has to know before trusting a figure: one sentence a limit, each from what is on record."""

from collections import Counter
from collections.abc import Iterator

from eyetest.measures.stats.intervals import mean
from eyetest.probes.subject import percent
from eyetest.reports.dataset_card.known import Known
from eyetest.reports.refinements import RefinementHistory, Residual
from eyetest.wording import counted, listed

SMALL_GROUP = 30
_MOST_TAGS = 6
_GOLDS = ("wrong-gold", "zero-pass")
_BLIND = ("blind-hits", "blind-majority", "blind-count", "chance-aware")


def limits(known: Known) -> Iterator[str]:
    """All that is known to be weak, the gravest first."""
    yield from _blind(known)
    yield from _people(known)
    yield from _unseen(known)
    yield from _small(known)
    if without := known.manifest.counts.items - known.with_gold:
        yield f"{counted(without, 'item')} without a gold answer: whoever scores them needs it from elsewhere."
    if known.refinement is not None:
        if known.refinement.about.recorded:
            yield "The verdicts rest on recorded answers; nobody was asked anew, and no judge was asked at all."
        yield from (f"Noted while it was made: {note}." for note in known.refinement.about.notes)


def share(one: Residual) -> str:
    """A share with its interval: ``38 % (95 % interval 11 % to 64 %)``."""
    told = one.accuracy
    assert told.value is not None
    if told.low is None or told.high is None:
        return f"{percent(told.value)} (too few items for an interval)"
    return f"{percent(told.value)} (95 % interval {percent(told.low)} to {percent(told.high)})"


def _blind(known: Known) -> Iterator[str]:
    left = known.left_blind
    if not left and known.with_pictures:
        yield "Nobody has measured how many of these items can be answered without their pictures."
    chance = f" Choosing at random gives {percent(known.chance)} on the choice items." if known.chance else ""
    for one in left:
        who = "that had no say" if one.who == "held out" else "that screened it, to whom it looks cleaner than it is,"
        yield (
            f"Without the picture, {counted(one.models, 'model')} {who} (panel {one.panel}) still answered "
            f"{share(one)} of {counted(one.accuracy.n, 'item')}.{chance}"
        )
    if left and all(one.who != "held out" for one in left):
        yield "No model was held out, so what a new model answers blind is not known; expect more than the panel's."


def _people(known: Known) -> Iterator[str]:
    made = known.refinement
    if made is None:
        yield "It is not on record that any person has checked the items."
        return
    if made.unreviewed:
        yield f"{counted(made.unreviewed, 'item')} passed a review stage without a person having looked at them."
    elif not any(outcome.stage.review for outcome in made.outcomes):
        yield "No stage had people look at every item: only what a screen doubted went to them."
    if made.waiting:
        yield f"{counted(made.waiting, 'item')} still wait for people. They are left out, so the benchmark may grow."


def _unseen(known: Known) -> Iterator[str]:
    """What the stages that were carried out could not have found."""
    made = known.refinement
    names = _screens(made) if made else set()
    if names & {*_BLIND, "leak-hits"}:
        yield "A blind screen finds what its panel can answer without the picture; a stronger model may answer more."
    elif made is not None:
        yield "No stage looked for items that can be answered without the picture."
    looked = "No stage looked" if made else "It is not on record that anybody looked"
    if not names & {*_GOLDS, "review"}:
        yield f"{looked} for wrong gold answers."
    if not any(name.startswith("duplicate") for name in names):
        yield f"{looked} for repeated items or pictures (eyetest audit does)."
    yield "Whether a model has seen these items in training was not tested."


def _screens(made: RefinementHistory) -> set[str]:
    """What was carried out; a review that nobody held was not."""
    stages = [outcome.stage for outcome in made.outcomes if outcome.unreviewed < outcome.into]
    return {name for stage in stages for name in (stage.screen, stage.grade, stage.probe) if name} | {
        stage.kind for stage in stages
    }


def _small(known: Known) -> Iterator[str]:
    items = known.manifest.counts.items
    yield f"A model that gets half of the {counted(items, 'item')} right is known only to within {_margin(items)}."
    thin = {tag: small for tag, counts in sorted(known.groups.items()) if (small := _thin(counts))}
    for tag, small in list(thin.items())[:_MOST_TAGS]:
        told = listed([f"{value}: {count}" for count, value in small], 4)
        groups = sum(bool(value) for value in known.groups[tag])
        yield f"By {tag}, {len(small)} of {groups} groups have fewer than {SMALL_GROUP} items ({told})."
    if rest := list(thin)[_MOST_TAGS:]:
        yield f"There are groups of fewer than {SMALL_GROUP} items by {listed(rest, 8)}, too."


def _thin(counts: Counter[str]) -> list[tuple[int, str]]:
    return sorted((count, value) for value, count in counts.items() if value and count < SMALL_GROUP)


def _margin(items: int) -> str:
    """Half the interval of a score of one half."""
    told = mean([1.0] * (items // 2) + [0.0] * (items - items // 2))
    if items < 2 or told.low is None or told.high is None:
        return "nothing at all"
    return f"± {100 * (told.high - told.low) / 2:.1f} points (95 %)"
