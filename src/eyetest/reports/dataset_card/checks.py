"""Which good practices can be decided from what is known of a benchmark, and how. Where it cannot be known: ask."""

from collections.abc import Callable

from eyetest.reports.dataset_card.known import Known
from eyetest.reports.dataset_card.practices import Answer
from eyetest.wording import counted

Found = tuple[Answer, str]
CHECKS: dict[str, Callable[[Known], Found]] = {}


def _check(name: str) -> Callable[[Callable[[Known], Found]], Callable[[Known], Found]]:
    def add(function: Callable[[Known], Found]) -> Callable[[Known], Found]:
        CHECKS[name] = function
        return function

    return add


@_check("random-level")
def _random_level(known: Known) -> Found:
    return ("yes", "on this card") if known.chance is not None else ("ask", "no item offers options")


@_check("automatic")
def _automatic(known: Known) -> Found:
    missing = known.manifest.counts.items - known.with_gold
    return ("no", f"{counted(missing, 'item')} without a gold") if missing else ("yes", "every item has a gold")


@_check("sensitivity")
def _sensitivity(known: Known) -> Found:
    panels = known.refinement.about.recipe.panels.values() if known.refinement else ()
    orders = max((panel.orders for panel in panels), default=1)
    return ("yes", f"options were put in {orders} orders") if orders > 1 else ("ask", "")


@_check("needs-pictures")
def _needs_pictures(known: Known) -> Found:
    blind = known.refinement.left_blind if known.refinement else []
    return ("yes", "blind accuracy is on this card") if blind else ("ask", "")


@_check("code")
def _code(known: Known) -> Found:
    return "yes", "eyetest run takes this folder"


@_check("services")
def _services(known: Known) -> Found:
    return "yes", "any OpenAI-compatible endpoint, wherever it runs"


@_check("canary")
def _canary(known: Known) -> Found:
    return ("yes", "in benchmark.json and on this card") if known.manifest.canary else ("no", "there is none")


@_check("repeatable")
def _repeatable(known: Known) -> Found:
    return ("yes", "recipe, panels and seed are on this card") if known.refinement else ("ask", "")


@_check("uncertainty")
def _uncertainty(known: Known) -> Found:
    blind = known.refinement.left_blind if known.refinement else []
    if not blind:
        return "ask", ""
    whole = all(one.accuracy.low is not None for one in blind)
    return ("yes", "intervals on this card") if whole else ("no", "a figure on this card has no interval")


@_check("item-checks")
def _item_checks(known: Known) -> Found:
    held = [outcome for outcome in known.refinement.outcomes if outcome.stage.review] if known.refinement else []
    if not held or known.refinement is None:
        return "ask", ""
    unseen = known.refinement.unreviewed
    return ("no", f"{counted(unseen, 'item')} passed unseen") if unseen else ("yes", "a review stage was held")


@_check("quick-start")
def _quick_start(known: Known) -> Found:
    return "yes", "on this card"


@_check("fields")
def _fields(known: Known) -> Found:
    return ("yes", "croissant.json") if known.layout.has_croissant else ("ask", "")


@_check("processing")
def _processing(known: Known) -> Found:
    steps = len(known.manifest.lineage)
    return ("yes", f"{counted(steps, 'step')} of lineage") if steps else ("no", "there is no lineage")


@_check("removals")
def _removals(known: Known) -> Found:
    return ("yes", "on this card") if known.refinement else ("ask", "")


@_check("prompts")
def _prompts(known: Known) -> Found:
    return ("yes", "the recipe names the conditions") if known.refinement else ("ask", "")


@_check("limits")
def _limits(known: Known) -> Found:
    return ("yes", "on this card") if known.refinement else ("ask", "only what can be counted is on this card")


@_check("sources")
def _sources(known: Known) -> Found:
    if known.unlicensed:
        return "no", f"the licence of {counted(len(known.unlicensed), 'source')} is unknown"
    return ("yes", "on this card") if known.sources else ("ask", "no item names a source")


@_check("licence")
def _licence(known: Known) -> Found:
    return ("yes", known.licence.said) if known.licence.is_known else ("no", "nobody has said it")


@_check("versions")
def _versions(known: Known) -> Found:
    return ("yes", "version and fingerprint") if known.manifest.fingerprint else ("no", "there is no fingerprint")
