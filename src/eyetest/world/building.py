"""A whole world on disk: the benchmark for everybody, and beside it what nobody who refines it may see."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.benchmarks.folder import refuse_to_replace
from eyetest.errors import InputError
from eyetest.records import Choice, Item, Lineage, Manifest, letter
from eyetest.store import refuse_to_lose, replacing_file
from eyetest.tabular.record_files import write_records
from eyetest.version import __version__
from eyetest.world.canvas import png
from eyetest.world.casting import Cast, cast
from eyetest.world.drafting import SIZE, Draft, encoded_again, render
from eyetest.world.facts import facts
from eyetest.world.flaws import TRUTH, Rates, Truth
from eyetest.world.phrasings import shuffled
from eyetest.world.posing import CORE_OF

BENCHMARK, FACTS, LEAKS, ABOUT = "benchmark", "facts.jsonl", "leaks.jsonl", "world.json"
WORLD_VERSION = 1
_CANARY = "eyetest-world canary 2b7d3f86-0f52-4c0e-9a55-6d5d8f1c7e21"
_LEAST = 18
MOST = 100_000
"""Items of a world: all of them are in memory while they are drawn."""
_SMALLEST = 48


def new_world(
    to: Path, rates: Rates, *, items: int = 1200, seed: int = 7, size: int = SIZE, overwrite: bool = False
) -> Benchmark:
    """Draw a world: the same numbers give the same bytes."""
    if items < _LEAST or size < _SMALLEST:
        raise InputError(f"a world has at least {_LEAST} items, and pictures of at least {_SMALLEST} pixels a side")
    if items > MOST:
        raise InputError(f"a world has at most {MOST:,} items")
    _refuse(to, overwrite=overwrite)
    played = cast(items, seed, rates)
    names = [f"q{index:0{len(str(items))}}" for index in range(items)]
    orders = _orders(played, seed)
    made = [_item(one, names[index], orders[index]) for index, one in enumerate(played)]
    _write_benchmark(to / BENCHMARK, played, made, {"seed": seed, "size": size, "overwrite": overwrite})
    truths = [_truth(one, item, names, order) for one, item, order in zip(played, made, orders, strict=True)]
    write_records(truths, Truth, to / TRUTH, overwrite=overwrite)
    _write_lines(to / FACTS, _told_facts(truths))
    _write_lines(to / LEAKS, _leaks(made, truths))
    about = {
        "version": WORLD_VERSION,
        "eyetest": __version__,
        "items": items,
        "seed": seed,
        "size": size,
        "flaws": rates,
    }
    _write(to / ABOUT, msgspec.json.format(msgspec.json.encode(about), indent=2) + b"\n")
    return Benchmark(to / BENCHMARK)


def _refuse(to: Path, *, overwrite: bool) -> None:
    refuse_to_lose(to, overwrite=overwrite, ours=(BENCHMARK, TRUTH, FACTS, LEAKS, ABOUT) if to.is_dir() else ())
    refuse_to_replace(to / BENCHMARK, overwrite=overwrite)


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
    return Item(
        id=name,
        question=draft.question,
        choices=tuple(Choice(draft.options[index], index == draft.gold) for index in order),
        tags={
            "core": CORE_OF[draft.axis],
            "axis": draft.axis,
            "task": draft.kind.split("-")[0] if draft.fact else draft.kind,
        },
    )


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
            image = writer.images.put(_bytes(one.draft, Random(f"world/{how['seed']}/copy/{index}"), how["size"]))
            writer.add(msgspec.structs.replace(item, images=(image,)))


def _bytes(draft: Draft, rng: Random, size: int) -> bytes:
    picture = render(draft, size)
    return encoded_again(picture, rng) if draft.flaws == ("near-duplicate",) else png(picture)


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
        crowd=draft.crowd,
        phrasing=draft.phrasing,
        shown=draft.shown,
        scene=msgspec.json.encode(draft.scene, order="sorted").decode(),
    )


def _told_facts(truths: Sequence[Truth]) -> list[dict[str, Any]]:
    asked: dict[str, list[str]] = defaultdict(list)
    for truth in truths:
        if truth.fact:
            asked[truth.fact].append(truth.item)
    return [msgspec.to_builtins(fact) | {"items": asked[fact.id]} for fact in facts()]


def _leaks(made: Sequence[Item], truths: Sequence[Truth]) -> list[dict[str, Any]]:
    """What leaks, as somebody who copies a test would write it down: with the answer that is marked."""
    leaks = []
    for item, truth in zip(made, truths, strict=True):
        options = " ".join(f"{letter(index)}. {choice.text}" for index, choice in enumerate(item.choices))
        text = f"{item.question} {options} Answer: {truth.gold}. {item.choices[item.gold[0]].text}"
        leaks += [{"item": item.id, "to": to, "text": text} for to in truth.leaked_to]
    return leaks


def _write_lines(to: Path, rows: Sequence[dict[str, Any]]) -> None:
    _write(to, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def _write(to: Path, content: bytes) -> None:
    with replacing_file(to) as temporary:
        temporary.write_bytes(content)
