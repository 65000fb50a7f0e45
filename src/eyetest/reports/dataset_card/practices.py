"""How far a benchmark keeps to good practice, scored only where that can be known.

A practice is decided by a person's word in ``card.yaml``, by a check, by what the card says, or not at all: then the
card asks, and the score leaves it out.
"""

from collections.abc import Callable
from typing import NamedTuple

from eyetest.reports.dataset_card.known import Known
from eyetest.reports.dataset_card.statements import Practice, PracticeAnswer, practices
from eyetest.wording import counted

Check = Callable[[Known], tuple[PracticeAnswer, str]]


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
