"""What is weak about a benchmark, and how far it keeps to good practice; only what is on record is said.

A limit is one sentence that a reader has to know before trusting a figure. A practice is decided by a person's word
in ``card.yaml``, by a check, by what the card says, or not at all: then the card asks, and the score leaves it out.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from eyetest.measures.stats.intervals import mean
from eyetest.reports.dataset_card.known import Known
from eyetest.reports.dataset_card.statements import Practice, PracticeAnswer, practices
from eyetest.reports.refinements import RefinementHistory, Residual
from eyetest.wording import counted, listed, percent

SMALL_GROUP = 30
_MOST_TAGS = 6
_GOLDS = ("wrong-gold", "zero-pass")
_BLIND = ("blind-hits", "blind-majority", "blind-count", "chance-aware")
Check = Callable[[Known], tuple[PracticeAnswer, str]]


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
    if names & {*_BLIND, "leaks"}:
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


class Kept(NamedTuple):
    """Whether a practice is kept, and how one knows."""

    practice: Practice
    answer: PracticeAnswer
    why: str = ""


class SelfScore(NamedTuple):
    """All practices, by the stage of life."""

    stages: dict[str, list[Kept]]

    def count(self, *answers: PracticeAnswer) -> int:
        """How many practices have one of these answers."""
        return sum(kept.answer in answers for stage in self.stages.values() for kept in stage)


def self_score(known: Known) -> SelfScore:
    """Every practice with its answer."""
    return SelfScore({stage: [_kept(one, known) for one in some] for stage, some in practices().items()})


def _kept(practice: Practice, known: Known) -> Kept:
    if practice.name in known.said.practices:
        return Kept(practice, "yes" if known.said.practices[practice.name] else "no", "a person says so")
    if practice.check:
        return Kept(practice, *CHECKS[practice.check](known))
    if practice.said and getattr(known.said, practice.said):
        return Kept(practice, "yes", "said on this card")
    return Kept(practice, practice.absent, "not on this card" if practice.said else "")


def _always(why: str) -> Check:
    return lambda known: ("yes", why)


def _if_refined(why: str, otherwise: str = "") -> Check:
    return lambda known: ("yes", why) if known.refinement else ("ask", otherwise)


def _automatic(known: Known) -> tuple[PracticeAnswer, str]:
    missing = known.manifest.counts.items - known.with_gold
    return ("no", f"{counted(missing, 'item')} without a gold") if missing else ("yes", "every item has a gold")


def _sensitivity(known: Known) -> tuple[PracticeAnswer, str]:
    panels = known.refinement.about.recipe.panels.values() if known.refinement else ()
    orders = max((panel.orders for panel in panels), default=1)
    return ("yes", f"options were put in {orders} orders") if orders > 1 else ("ask", "")


def _uncertainty(known: Known) -> tuple[PracticeAnswer, str]:
    if not known.left_blind:
        return "ask", ""
    whole = all(one.accuracy.low is not None for one in known.left_blind)
    return ("yes", "intervals on this card") if whole else ("no", "a figure on this card has no interval")


def _item_checks(known: Known) -> tuple[PracticeAnswer, str]:
    made = known.refinement
    if made is None or not any(outcome.stage.review for outcome in made.outcomes):
        return "ask", ""
    unseen = made.unreviewed
    return ("no", f"{counted(unseen, 'item')} passed unseen") if unseen else ("yes", "a review stage was held")


def _processing(known: Known) -> tuple[PracticeAnswer, str]:
    steps = len(known.manifest.lineage)
    return ("yes", f"{counted(steps, 'step')} of lineage") if steps else ("no", "there is no lineage")


def _sources(known: Known) -> tuple[PracticeAnswer, str]:
    if known.unlicensed:
        return "no", f"the licence of {counted(len(known.unlicensed), 'source')} is unknown"
    return ("yes", "on this card") if known.sources else ("ask", "no item names a source")


CHECKS: dict[str, Check] = {
    "random-level": lambda known: (
        ("yes", "on this card") if known.chance is not None else ("ask", "no item offers options")
    ),
    "automatic": _automatic,
    "sensitivity": _sensitivity,
    "needs-pictures": lambda known: ("yes", "blind accuracy is on this card") if known.left_blind else ("ask", ""),
    "code": _always("eyetest run takes this folder"),
    "services": _always("any OpenAI-compatible endpoint, wherever it runs"),
    "canary": lambda known: (
        ("yes", "in benchmark.json and on this card") if known.manifest.canary else ("no", "there is none")
    ),
    "repeatable": _if_refined("recipe, panels and seed are on this card"),
    "uncertainty": _uncertainty,
    "item-checks": _item_checks,
    "quick-start": _always("on this card"),
    "fields": lambda known: ("yes", "croissant.json") if known.layout.has_croissant else ("ask", ""),
    "processing": _processing,
    "removals": _if_refined("on this card"),
    "prompts": _if_refined("the recipe names the conditions"),
    "limits": _if_refined("on this card", "only what can be counted is on this card"),
    "sources": _sources,
    "licence": lambda known: ("yes", known.licence.said) if known.licence.is_known else ("no", "nobody has said it"),
    "versions": lambda known: (
        ("yes", "version and fingerprint") if known.manifest.fingerprint else ("no", "there is no fingerprint")
    ),
}
"""What can be decided from what is known of a benchmark. Where it cannot be known: ask."""
