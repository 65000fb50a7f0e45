"""Which item asks what, and which flaw it gets: everything about a world that is decided before anything is drawn."""

from collections import defaultdict
from random import Random

import msgspec

from eyetest.errors import InputError
from eyetest.world.drafting import Draft, draft, rephrased, with_fewer_options
from eyetest.world.facts import fact_kinds
from eyetest.world.flaws import PlannedFlaw, Rates, plan
from eyetest.world.phrasings import phrasings, shuffled
from eyetest.world.posing import AXES, Kind
from eyetest.world.scenes import KINDS

_COPIES = ("exact-duplicate", "near-duplicate")
_TRIES = 200


class Cast(msgspec.Struct, frozen=True):
    """A draft, and the index of the item that it repeats."""

    draft: Draft
    twin: int | None = None


def cast(items: int, seed: int, rates: Rates) -> list[Cast]:
    """All items in their order."""
    rng = Random(f"world/{seed}")
    planned = plan(rates, items)
    copies = [one for one in planned if one and one.flaw in _COPIES]
    originals = [one for one in planned if not (one and one.flaw in _COPIES)]
    if len(copies) > sum(one is None for one in originals):
        raise InputError("more duplicates than items without a flaw to repeat")
    kinds = _kinds(len(originals), rng)
    flaws = _spread(kinds, originals, rng)
    kinds = [_kind_for(kind, flaw, rng) for kind, flaw in zip(kinds, flaws, strict=True)]
    drafts = _drafts(kinds, flaws, seed)
    if rates.options:
        drafts = [with_fewer_options(one, rates.options) for one in drafts]
    drafts = _leak_more(drafts, rates.also_leaked, rng)
    clean = shuffled(rng, [index for index, one in enumerate(drafts) if not one.flaws])
    made: list[tuple[Draft, int | None]] = [(one, None) for one in drafts]
    for copy, index in zip(copies, clean, strict=False):
        source = drafts[index]
        again = msgspec.structs.replace(source, flaws=(copy.flaw,)) if copy.flaw == _COPIES[0] else rephrased(source, rng)  # fmt: skip  # noqa: E501
        made.append((again, index))
    order = shuffled(rng, list(range(len(made))))
    where = {old: new for new, old in enumerate(order)}
    return [Cast(made[old][0], None if (twin := made[old][1]) is None else where[twin]) for old in order]


def _kinds(count: int, rng: Random) -> list[Kind]:
    """As many items of each axis as of the others, and within an axis of each of its kinds."""
    by_axis: dict[str, list[Kind]] = defaultdict(list)
    for kind in KINDS.values():
        by_axis[kind.axis].append(kind)
    kinds = []
    for index in range(count):
        of_axis = by_axis[AXES[index % len(AXES)]]
        kinds.append(of_axis[index // len(AXES) % len(of_axis)])
    return shuffled(rng, kinds)


def _spread(kinds: list[Kind], planned: list[PlannedFlaw | None], rng: Random) -> list[PlannedFlaw | None]:
    """Which item gets which flaw, at random among those that can have it; flaws that few items fit come first."""
    free = shuffled(rng, list(range(len(kinds))))
    flaws: list[PlannedFlaw | None] = [None] * len(kinds)
    wishes = sorted((one for one in planned if one), key=lambda one: _PLEASED.get(one.flaw, 9))
    for one in wishes:
        fits = _FITS.get(one.flaw)
        index = next((index for index in free if fits is None or fits(kinds[index])), free[0])
        free.remove(index)
        flaws[index] = one
    return flaws


def _asks_facts(kind: Kind) -> bool:
    return kind.axis in {fact.axis for fact in fact_kinds().values()}


_FITS = {"two-right-options": lambda kind: kind.several, "answerable-from-facts": _asks_facts}
_PLEASED = {flaw: rank for rank, flaw in enumerate(_FITS)}


def _kind_for(kind: Kind, planned: PlannedFlaw | None, rng: Random) -> Kind:
    """The kind itself, unless its flaw needs another one."""
    flaw = planned.flaw if planned else ""
    if flaw == "answerable-from-facts":
        fitting = [one for one in fact_kinds().values() if one.axis == kind.axis] or list(fact_kinds().values())
        return rng.choice(fitting)
    if flaw == "two-right-options" and not kind.several:
        return rng.choice([one for one in KINDS.values() if one.several])
    return kind


def _drafts(kinds: list[Kind], flaws: list[PlannedFlaw | None], seed: int) -> list[Draft]:
    """Every item from a seed of its own, all ways to ask in turn; no question is asked twice."""
    seen: set[str] = set()
    ways: dict[str, list[int]] = defaultdict(list)
    drafts = []
    for index, (kind, flaw) in enumerate(zip(kinds, flaws, strict=True)):
        if not ways[kind.name]:
            ways[kind.name] = shuffled(Random(f"world/{seed}/ways/{index}"), list(range(len(phrasings()[kind.name]))))
        phrasing = ways[kind.name].pop()
        for attempt in range(_TRIES):
            drawn_from = f"world/{seed}/{index}/{attempt}"
            made = draft(kind, flaw, phrasing, Random(drawn_from))
            if made.question not in seen:
                break
        seen.add(made.question)
        drafts.append(msgspec.structs.replace(made, seed=drawn_from))
    return drafts


def _leak_more(drafts: list[Draft], share: float, rng: Random) -> list[Draft]:
    """Some flawed items leak to language models as well, where the file of rates says so."""
    flawed = [index for index, one in enumerate(drafts) if one.flaws and "text" not in one.leaked_to]
    chosen = set(rng.sample(flawed, round(share * len(flawed))))
    return [
        msgspec.structs.replace(one, flaws=(*one.flaws, "leaked-to-llms"), leaked_to=("text", *one.leaked_to))
        if index in chosen
        else one
        for index, one in enumerate(drafts)
    ]
