"""The list as its page shows it: filters with counts, what models score on what is shown, cards, where to go next."""

from collections.abc import Iterable, Iterator, Mapping
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np

from eyetest.measures.results import TAG
from eyetest.pages.item_links import ANSWER_KINDS, AnswerFilter, query_of
from eyetest.pages.page import clip
from eyetest.records import BLIND_SIGHTS
from eyetest.review.app.address import Address
from eyetest.review.app.disclosure import EVERYTHING, Disclosure
from eyetest.review.app.pictures import PictureUrls, served_urls
from eyetest.review.collection import Collection, CollectionView, ItemRow, ModelAccuracy
from eyetest.wording import counted, percent

PAGE_SIZE = 60
IDS_TOLD = 5
"""More ids than that are one filter, which says how many they are."""
_LONGEST_QUESTION = 320
_MOST_VALUES = 60
_OPEN_FACETS = 4
_OPEN_BANDS = ("difficulty", "doubt")
"""What is asked most: what everybody fails, and what may be wrong."""
TELLING = ("benchmark.zip",)
"""Exports that hold golds."""
_EXPORTS = {
    "ids.txt": "Their ids",
    "items.csv": "A table (CSV)",
    "benchmark.zip": "A benchmark of them (a folder, zipped)",
}
BANDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "difficulty": (
        ("everybody is right", "0"),
        ("up to ¼ wrong", "0..0.25"),
        ("¼ to ½ wrong", "0.25..0.5"),
        ("½ to ¾ wrong", "0.5..0.75"),
        ("¾ and more wrong", "0.75..1"),
        ("nobody is right", "1"),
    ),
    "gain": (
        ("the picture hurts", "..-0.01"),
        ("it changes nothing", "-0.01..0.01"),
        ("it helps less than half", "0.01..0.5"),
        ("it helps half and more", "0.5.."),
    ),
    "disagreement": (
        ("all models agree", "0"),
        ("some differ", "0.01..0.4"),
        ("they are split", "0.4.."),
    ),
    "doubt": (
        ("little speaks against it", "..-2"),
        ("some doubt", "-2..0"),
        ("rather flawed than sound", "0.."),
    ),
}
"""Filters for numbers, in words: bounds as an address has them."""
_FACET_NAMES = {
    "gold": "Gold",
    "verdict": "Verdict",
    "stage": "Stage",
    "finding": "Finding",
    "suggested": "Audit suggests",
    "benchmark": "Benchmark",
}
_BAND_NAMES = {"difficulty": "Difficulty", "gain": "What the picture gives", "disagreement": "Disagreement"} | {
    "doubt": "Doubt of the gold"
}


class FacetValue(NamedTuple):
    """A value that somebody may filter by, and where that leads."""

    key: str
    value: str
    label: str
    items: int | None
    """None where counting would keep the page waiting."""
    href: str
    on: bool
    total: int = 0
    """How many there are in all."""


class Facet(NamedTuple):
    """What can be filtered by."""

    name: str
    values: list[FacetValue]
    more: int
    open: bool


def list_page(collection: Collection, address: Address, may: Disclosure = EVERYTHING) -> dict[str, Any]:
    """What the template of the list is filled with."""
    golds = may.golds
    may.refuse_telling(address.query)
    view = collection.view(address.query)
    pages = max(1, ceil(len(view) / PAGE_SIZE))
    page = min(address.page, pages)
    address = Address(address.parts, page=page, layout=address.layout)
    rows = collection.rows(view, (page - 1) * PAGE_SIZE, PAGE_SIZE)
    return {
        "name": collection.name,
        "address": address,
        "home": "",
        "bundle": False,
        "number": len(view),
        "total": len(collection),
        "pages": pages,
        "facets": list(_facets(collection, view, address, may)),
        "filters": list(_filters(address)),
        "notes": [*collection.notes, *(f"no item {name}" for name in view.unknown_ids[:5])],
        "scores": score_rows(collection, view, address) if golds else [],
        "kinds": ANSWER_KINDS,
        "rows": [card(row, address.to(item=row.id, page=page), golds=golds) for row in rows],
        "sorts": list(_sorts(collection, address, may)),
        "exports": [
            {"name": name, "label": label, "href": f"export/{name}{address.to()}"}
            for name, label in _EXPORTS.items()
            if golds or name not in TELLING
        ],
        "other_layout": address.to(page=page, layout="list" if address.layout == "grid" else "grid"),
    }


def card(row: ItemRow, href: str, *, golds: bool = True, urls: PictureUrls = served_urls) -> dict[str, Any]:
    """An item as a card."""
    facts = []
    if golds:
        facts += [f"gold {clip(row.gold, 12)}"] if row.gold else []
        facts += [f"{percent(1 - row.difficulty)} right"] if row.difficulty is not None else []
        facts += [f"{row.blind_right} blind"] if row.blind_right else []
        facts += [clip(kind, 40) for kind in row.findings[:2]]
    question = " ".join((row.question or "").split())
    return {
        "id": row.id,
        "href": href,
        "picture": urls(row.picture).small if row.picture else "",
        "question": clip(question, _LONGEST_QUESTION)
        if row.question is not None
        else "no benchmark here has this item",
        "verdict": row.verdict if golds else None,
        "facts": facts,
    }


def _facets(collection: Collection, view: CollectionView, address: Address, may: Disclosure) -> Iterator[Facet]:
    golds = may.golds
    told = ("verdict", "stage", "finding", "suggested", "gold") if golds else ()
    named = [(key, _FACET_NAMES[key]) for key in told]
    named += [(TAG + tag, tag) for tag in collection.tags if may.tags is None or tag in may.tags]
    named += [("benchmark", "Benchmark")]
    number, judged = 0, collection.judged_counts(address.query)
    for key, name in named:
        everything = _everything(collection, key)
        if len(everything) < 2 and key not in ("finding", "stage"):
            continue
        if not everything:
            continue
        if key in ("verdict", "stage"):
            counts: Mapping[str, int] = judged[key]
        else:
            counts = _without(collection, view, address, key).counts.get(key, {})
        values = [
            FacetValue(
                key, value, value, counts.get(value, 0), address.toggled(key, value), address.holds(key, value)
            )
            for value in everything
        ]
        shown = sorted(values[:_MOST_VALUES], key=lambda one: not one.on)
        is_open = number < _OPEN_FACETS or any(one.on for one in values)
        yield Facet(name, shown, len(values) - len(shown), is_open)
        number += 1
    for key in BANDS if golds and collection.answers.series else ():
        yield _bands(collection, _without(collection, view, address, key), address, key)


def _everything(collection: Collection, key: str) -> list[str]:
    if key == "stage":
        return list(collection.stages)
    if key == "finding":
        return list(collection.findings)
    if key.startswith(TAG):
        return list(collection.tags[key.removeprefix(TAG)])
    return sorted(value for value in collection.items.get_column(key).unique() if value is not None)


def _without(collection: Collection, view: CollectionView, address: Address, key: str) -> CollectionView:
    """What would be shown without a facet's own filter, so that its other values tell what choosing them gives."""
    kept = [part for part in address.parts if part[0] != key]
    return view if len(kept) == len(address.parts) else collection.view(query_of(kept))


def _bands(collection: Collection, view: CollectionView, address: Address, key: str) -> Facet:
    numbers = collection.numbers(key).to_numpy()[view.positions] if collection.is_known(key) else None
    values = []
    for label, span in BANDS[key]:
        low, high = getattr(query_of([(key, span)]), key)
        count = None if numbers is None else int(np.count_nonzero((numbers >= low) & (numbers <= high)))
        values.append(FacetValue(key, span, label, count, address.toggled(key, span), address.holds(key, span)))
    return Facet(_BAND_NAMES[key], values, 0, key in _OPEN_BANDS or any(one.on for one in values))


def _filters(address: Address) -> Iterator[dict[str, str]]:
    """What is filtered by, each with the way back."""
    ids = [value for key, value in address.parts if key == "id"]
    many = len(ids) > IDS_TOLD
    for key, value in address.parts:
        if key == "sort" or (key == "id" and many):
            continue
        label = f"{key.removeprefix(TAG)}: {value}"
        yield {"key": key, "value": value, "label": label, "href": address.toggled(key, value)}
    if many:
        others = Address(tuple(part for part in address.parts if part[0] != "id"), layout=address.layout)
        yield {"key": "id", "value": "", "label": counted(len(ids), "id"), "href": others.href}


def score_rows(collection: Collection, view: CollectionView, address: Address) -> list[dict[str, Any]]:
    """What each model comes to on the items that are shown, the best first where models saw the picture."""
    whole = {(row.model, row.condition): row for row in collection.everything.accuracy}
    return [
        {
            "series": f"{row.model}\n{row.condition}",
            "model": row.model,
            "condition": row.condition,
            "sightless": row.condition.split()[0] in BLIND_SIGHTS,
            "value": row.value or 0.0,
            "low": 0.0 if row.low is None else row.low,
            "high": 1.0 if row.high is None else row.high,
            "n": row.n,
            "kinds": [_kind(row, kind, whole[row.model, row.condition], address) for kind in ANSWER_KINDS],
        }
        for row in sorted(view.accuracy, key=_rank(view.accuracy))
    ]


def _rank(rows: Iterable[ModelAccuracy]) -> Any:
    best: dict[str, float] = {}
    for row in rows:
        worth = -inf if row.value is None else row.value - 2 * (row.condition.split()[0] in BLIND_SIGHTS)
        best[row.model] = max(best.get(row.model, -inf), worth)
    return lambda row: (-best[row.model], row.model, row.condition.split()[0] in BLIND_SIGHTS, row.condition)


def _kind(row: ModelAccuracy, kind: Any, whole: ModelAccuracy, address: Address) -> FacetValue:
    value = str(AnswerFilter(kind, row.model, row.condition))
    label = f"{kind}: {row.model}, {row.condition}"
    href, on = address.toggled("answer", value), address.holds("answer", value)
    return FacetValue("answer", value, label, row.counts[kind], href, on, whole.counts[kind])


def _sorts(collection: Collection, address: Address, may: Disclosure) -> Iterator[dict[str, Any]]:
    now = address.query.sort
    yield {"value": "", "label": "As written", "on": not now}
    useful = {*(TAG + tag for tag in collection.tags), "id", "question", "benchmark", "pictures"}
    useful |= {*BANDS, "blind_right", "gold"}
    for column in collection.columns:
        if column not in useful or not may.may_sort(column):
            continue
        name = column.removeprefix(TAG).replace("_", " ")
        for value, arrow in ((column, "↑"), (f"-{column}", "↓")):
            yield {"value": value, "label": f"{name} {arrow}", "on": now == value}
