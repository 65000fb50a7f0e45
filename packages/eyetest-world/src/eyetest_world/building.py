"""A world on disk: which item asks what and has which flaw, the benchmark, and the truth about every item."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.benchmarks.folder import refuse_to_replace
from eyetest.errors import InputError
from eyetest.records import Choice, Item, Lineage, Manifest, letter
from eyetest.store import refuse_to_lose, replacing_file
from eyetest.tabular.record_files import write_records
from eyetest.version import __version__
from eyetest_world.canvas import png
from eyetest_world.drafting import (
    SIZE,
    Draft,
    draft,
    encoded_again,
    fact_kinds,
    facts,
    render,
    rephrased,
    with_fewer_options,
)
from eyetest_world.flaws import TRUTH, PlannedFlaw, Rates, Truth, plan
from eyetest_world.posing import AXES, CORE_OF, Kind, phrasings, shuffled
from eyetest_world.scenes import KINDS

_COPIES = ("exact-duplicate", "near-duplicate")
_TRIES = 200


class Cast(NamedTuple):
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
    flawed = [index for index, made in enumerate(drafts) if made.flaws and "text" not in made.leaked_to]
    for index in rng.sample(flawed, round(rates.also_leaked * len(flawed))):
        flaws_now, leaked_to = (*drafts[index].flaws, "leaked-to-llms"), ("text", *drafts[index].leaked_to)
        drafts[index] = msgspec.structs.replace(drafts[index], flaws=flaws_now, leaked_to=leaked_to)
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
    of_axis = [[kind for kind in KINDS.values() if kind.axis == axis] for axis in AXES]
    turns = (divmod(index, len(AXES)) for index in range(count))
    return shuffled(rng, [of_axis[axis][turn % len(of_axis[axis])] for turn, axis in turns])


def _spread(kinds: list[Kind], planned: list[PlannedFlaw | None], rng: Random) -> list[PlannedFlaw | None]:
    """Which item gets which flaw, at random among those that can have it; flaws that few items fit come first."""
    free = shuffled(rng, list(range(len(kinds))))
    flaws: list[PlannedFlaw | None] = [None] * len(kinds)
    wishes = [wish for wish in planned if wish]
    for wish in sorted(wishes, key=lambda wish: (*_FITS, wish.flaw).index(wish.flaw)):
        fits = _FITS.get(wish.flaw)
        index = next((index for index in free if fits is None or fits(kinds[index])), free[0])
        free.remove(index)
        flaws[index] = wish
    return flaws


_FITS: dict[str, Callable[[Kind], bool]] = {
    "two-right-options": lambda kind: kind.several,
    "answerable-from-facts": lambda kind: kind.axis in {fact.axis for fact in fact_kinds().values()},
}


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


BENCHMARK, FACTS, LEAKS, ABOUT = "benchmark", "facts.jsonl", "leaks.jsonl", "world.json"
_CANARY = "eyetest-world canary 2b7d3f86-0f52-4c0e-9a55-6d5d8f1c7e21"
_FEWEST_ITEMS = 18
MOST = 100_000  # items of a world: all of them are in memory while they are drawn
_SMALLEST = 48


def new_world(
    to: Path, rates: Rates, *, items: int | slice = 1200, seed: int = 7, size: int = SIZE, overwrite: bool = False
) -> Benchmark:
    """Draw a world: the same numbers give the same bytes. ``slice(9, 99)``: the first 9 of 99, and their twins."""
    first, items = (items.start, items.stop) if isinstance(items, slice) else (items, items)
    if not _FEWEST_ITEMS <= items <= MOST or size < _SMALLEST:
        raise InputError(
            f"a world has {_FEWEST_ITEMS} to {MOST} items, and images of at least {_SMALLEST} pixels a side"
        )
    refuse_to_lose(to, overwrite=overwrite, ours=(BENCHMARK, TRUTH, FACTS, LEAKS, ABOUT) if to.is_dir() else ())
    refuse_to_replace(to / BENCHMARK, overwrite=overwrite)
    played = cast(items, seed, rates)
    names = [f"q{index:0{len(str(items))}}" for index in range(items)]
    orders = _orders(played, seed)
    kept = sorted({*range(first), *(one.twin for one in played[:first] if one.twin is not None)})
    played, orders = [played[index] for index in kept], [orders[index] for index in kept]
    made = [_item(one, names[index], order) for index, one, order in zip(kept, played, orders, strict=True)]
    _write_benchmark(to / BENCHMARK, played, made, {"seed": seed, "size": size, "overwrite": overwrite})
    truths = [_truth(one, item, names, order) for one, item, order in zip(played, made, orders, strict=True)]
    write_records(truths, Truth, to / TRUTH, overwrite=overwrite)
    asked = [
        msgspec.to_builtins(fact) | {"items": [truth.item for truth in truths if truth.fact == fact.id]}
        for fact in facts()
    ]
    for name, rows in ((FACTS, asked), (LEAKS, _leaks(made, truths))):
        _write(to / name, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    about = {"version": 1, "eyetest": __version__, "items": items, "seed": seed, "size": size, "flaws": rates}
    _write(to / ABOUT, msgspec.json.format(msgspec.json.encode(about), indent=2) + b"\n")
    return Benchmark(to / BENCHMARK)


def _orders(played: Sequence[Cast], seed: int) -> list[list[int]]:
    """The order of each item's options: with as many options, equally many golds at each position."""
    rng = Random(f"world/{seed}/orders")
    decks: dict[int, list[int]] = defaultdict(list)
    orders: list[list[int]] = []
    for one in played:
        count, gold = len(one.draft.options), one.draft.gold
        if not decks[count]:
            decks[count] = shuffled(rng, list(range(count)))
        order = shuffled(rng, [index for index in range(count) if index != gold])
        order.insert(decks[count].pop(), gold)
        orders.append(order)
    for index, one in enumerate(played):
        if one.twin is not None and one.draft.flaws == ("exact-duplicate",):
            orders[index] = orders[one.twin]
    return orders


def _item(one: Cast, name: str, order: Sequence[int]) -> Item:
    draft = one.draft
    choices = tuple(Choice(draft.options[index], index == draft.gold) for index in order)
    task = draft.kind.split("-")[0] if draft.fact else draft.kind
    tags = {"core": CORE_OF[draft.axis], "axis": draft.axis, "task": task}
    return Item(id=name, question=draft.question, choices=choices, tags=tags)


def _write_benchmark(to: Path, played: Sequence[Cast], made: Sequence[Item], how: dict[str, Any]) -> None:
    manifest = Manifest(
        name=f"world-{how['seed']}",
        licence="CC0-1.0",
        source="drawn by eyetest",
        canary=_CANARY,
        lineage=(Lineage(step="draw", note=f"{len(made)} items", seed=how["seed"]),),
    )
    with BenchmarkWriter(to, manifest, overwrite=how["overwrite"]) as writer:
        for index, (one, item) in enumerate(zip(played, made, strict=True)):
            drawn, rng = render(one.draft, how["size"]), Random(f"world/{how['seed']}/copy/{index}")
            image = encoded_again(drawn, rng) if one.draft.flaws == ("near-duplicate",) else png(drawn)
            writer.add(msgspec.structs.replace(item, images=(writer.images.put(image),)))


def _truth(one: Cast, item: Item, names: Sequence[str], order: Sequence[int]) -> Truth:
    draft, where = one.draft, {index: letter(spot) for spot, index in enumerate(order)}
    return Truth(
        item=item.id,
        flaws=draft.flaws,
        kind=draft.kind,
        axis=draft.axis,
        options=len(order),
        gold=where[draft.gold],
        gold_before=where[draft.before],
        right=tuple(sorted(where[index] for index in draft.right)),
        twin="" if one.twin is None else names[one.twin],
        fact=draft.fact,
        leaked_to=draft.leaked_to,
        clutter=draft.clutter,
        phrasing=draft.phrasing,
        shown=draft.shown,
        scene=msgspec.json.encode(draft.scene, order="sorted").decode(),
    )


def _leaks(made: Sequence[Item], truths: Sequence[Truth]) -> list[dict[str, Any]]:
    """What leaks, as a copy of the test would have it: with the answer that is marked."""
    leaks = []
    for item, truth in zip(made, truths, strict=True):
        options = " ".join(f"{letter(index)}. {choice.text}" for index, choice in enumerate(item.choices))
        text = f"{item.question} {options} Answer: {truth.gold}. {item.choices[item.gold[0]].text}"
        leaks += [{"item": item.id, "to": to, "text": text} for to in truth.leaked_to]
    return leaks


def _write(to: Path, content: bytes) -> None:
    with replacing_file(to) as temporary:
        temporary.write_bytes(content)
