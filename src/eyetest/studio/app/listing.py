"""The list of items: which items an address selects, what may be shown, filters with counts, scores and cards."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from math import ceil, inf
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
import numpy as np

from eyetest.errors import InputError, short
from eyetest.measures.results import TAG
from eyetest.measures.stats.paired import paired
from eyetest.pages.item_links import ANSWER_KINDS, AnswerFilter, Query, pairs_of, query_of, write_query
from eyetest.pages.page import clip
from eyetest.records import BLIND_MODALITIES
from eyetest.studio.answers import ANSWER_BITS, ModelAccuracy
from eyetest.studio.app.server import whole_number
from eyetest.studio.collection import Collection, CollectionView, ItemRow

COMPARE = "compare"  # a model; two of them are shown side by side
_SEVERAL = ("tag.", "finding", "answer", "id", COMPARE)  # several values each; others are replaced
_PLAIN_COLUMNS = ("id", "question", "benchmark", "images")
_PLAIN_FILTERS = ("text", "benchmark", "ids", "options", "sort")  # these reveal no golds
PAGE_SIZE = 60
MOST_IDS = 5  # more ids are shown as one filter
_LONGEST_QUESTION = 4_000
_LONGEST_HREF = 2_000  # every link repeats the query, so a page about a longer one has few links
_MOST_VALUES = 60
_OPEN_FACETS = 4
BANDS: Mapping[str, Mapping[str, str]] = {
    "difficulty": {
        "0": "all models are right",
        "0<..0.25": "up to ¼ wrong",
        "0.25<..0.5": "¼ to ½ wrong",
        "0.5<..0.75": "½ to ¾ wrong",
        "0.75<..<1": "more than ¾ wrong",
        "1": "no model is right",
    },
    "doubt": {
        "..<0": "votes fit a right gold better",
        "0..<2": "votes fit a wrong gold better",
        "2..": "fit it more than 7 times better",  # e² = 7.4: the doubt is a log likelihood ratio
    },
}
"""Disjoint bins of numbers in the order of their values: bounds as in an address, and their names."""
_BAND_NAMES = {"difficulty": "Difficulty", "doubt": "Doubt of the gold"}
NUMBERS = (*BANDS, "blind_right")


class ImageUrl(NamedTuple):
    """The address of an image; empty where it is not available."""

    whole: str = ""
    small: str = ""


ImageUrls = Callable[[str], ImageUrl]  # by the hash of an image


def served_urls(sha256: str) -> ImageUrl:
    """The address of an image on the server."""
    return ImageUrl(f"image/{sha256}", f"thumbnail/{sha256}")


def _query(parts: Iterable[tuple[str, str]]) -> Query:
    return query_of([part for part in parts if part[0] != COMPARE])


class Address(msgspec.Struct, frozen=True, dict=True):
    """The parts of a query in their given order, the models to compare, and the part that is on the screen."""

    parts: tuple[tuple[str, str], ...] = ()
    item: str = ""
    page: int = 1

    @classmethod
    def parse(cls, text: str) -> "Address":
        """The address that a browser requests; unknown keys are refused."""
        pairs = [pair for pair in pairs_of(text) if pair[1]]
        own = {key: value for key, value in pairs if key in ("item", "page")}
        parts = tuple(dict.fromkeys(pair for pair in pairs if pair[0] not in own))
        _query(parts)
        return cls(parts, own.get("item", ""), whole_number(own.get("page", "1"), "page"))

    @cached_property
    def query(self) -> Query:
        """The query of the address."""
        return _query(self.parts)

    @property
    def compared(self) -> list[str]:
        """The two models that are compared; empty where there are fewer."""
        models = [value for key, value in self.parts if key == COMPARE]
        return models[-2:] if len(models) > 1 else []

    def holds(self, key: str, value: str) -> bool:
        """Whether the query contains this part."""
        return (key, value) in self.parts

    def toggled(self, key: str, value: str) -> str:
        """The address with this part added, or removed if present; starts at the first page."""
        if self.holds(key, value):
            return Address(tuple(part for part in self.parts if part != (key, value))).href
        kept = self.parts if key.startswith(_SEVERAL) else self.without(key)
        if key == COMPARE and self.compared:
            kept = (*self.without(key), (COMPARE, self.compared[-1]))
        return Address((*kept, (key, value))).href

    def without(self, key: str) -> tuple[tuple[str, str], ...]:
        """The parts of the query besides those of a filter."""
        return tuple(part for part in self.parts if part[0] != key)

    def to(self, *, item: str = "", page: int = 1) -> str:
        """The address of another part of the same items."""
        return Address(self.parts, item, page).href

    @property
    def href(self) -> str:
        """The address as a link has it."""
        own = [("page", str(self.page) if self.page > 1 else ""), ("item", self.item)]
        pairs = [*self.parts, *(part for part in own if part[1])]
        return "?" + urlencode(pairs, safe=":@", errors="surrogatepass")


class Disclosure(msgspec.Struct, frozen=True, kw_only=True):
    """What may be shown. Without golds, nothing is shown from which a gold follows, such as a tag."""

    golds: bool = True
    replies: bool = True
    verdicts: bool = True
    findings: bool = True

    def may_sort(self, column: str) -> bool:
        """Whether an order by this column reveals nothing that is hidden."""
        return self.golds or column in _PLAIN_COLUMNS

    def refuse_revealing(self, query: Query) -> None:
        """Refuse a query whose result would reveal what is hidden."""
        if self.golds:
            return
        if Query(**{name: getattr(query, name) for name in _PLAIN_FILTERS}) != query:
            raise InputError(f"{short(write_query(query))} would reveal golds, which are left out here")
        if query.sort and not self.may_sort(query.sort.removeprefix("-")):
            raise InputError(f"an order by {short(query.sort)} may reveal golds, which are left out here")


EVERYTHING = Disclosure()
WITHOUT_GOLDS = Disclosure(golds=False, verdicts=False, findings=False)


def list_page(collection: Collection, address: Address, may: Disclosure = EVERYTHING) -> dict[str, Any]:
    """The template values of the list."""
    may.refuse_revealing(address.query)
    view = collection.view(address.query)
    pages = max(1, ceil(len(view) / PAGE_SIZE))
    page = min(address.page, pages)
    address = Address(address.parts, page=page)
    is_long = len(address.href) > _LONGEST_HREF
    base, scored = Address() if is_long else address, may.golds and not is_long
    useful = {*(TAG + tag for tag in collection.tags), *_PLAIN_COLUMNS, *NUMBERS, "gold"}
    return {
        "name": collection.name,
        "address": address,
        "without_ids": Address(address.without("id")).href,
        "ids": [value for key, value in address.parts if key == "id"],
        "most_ids": MOST_IDS,
        "is_long": is_long,
        "bundle": False,
        "number": len(view),
        "total": len(collection),
        "pages": pages,
        "facets": [] if is_long else list(_facets(collection, view, address, may)),
        "notes": [*collection.notes, *(f"no item {name}" for name in view.unknown_ids[:5])],
        "scores": _scores(collection, view) if scored else [],
        "versus": list(_versus(collection, view, address)) if scored else [],
        "kinds": ANSWER_KINDS,
        "answer": AnswerFilter,
        "blind": BLIND_MODALITIES,
        "rows": [
            card(row, base.to(item=row.id, page=page), golds=may.golds)
            for row in collection.rows(view, (page - 1) * PAGE_SIZE, PAGE_SIZE)
        ],
        "sorts": [column for column in collection.columns if column in useful and may.may_sort(column)],
        "tag": TAG,
        "exports": [],
    }


def card(row: ItemRow, href: str, *, golds: bool = True, urls: ImageUrls = served_urls) -> dict[str, Any]:
    """An item as a card."""
    facts = []
    if golds:
        facts += [f"gold {clip(row.gold, 12)}"] if row.gold else []
        facts += [f"{100 - 100 * row.difficulty:.1f} % right"] if row.difficulty is not None else []
        facts += [f"{row.blind_right} of {row.blind_asked} without image"] if row.blind_right else []
        facts += [clip(kind, 40) for kind in row.findings[:2]]
    return {
        "id": row.id,
        "href": href,
        "image": urls(row.image).small if row.image else "",
        "question": clip(" ".join(row.question.split()), _LONGEST_QUESTION),
        "verdict": row.verdict if golds else None,
        "facts": facts,
    }


def _facets(
    collection: Collection, view: CollectionView, address: Address, may: Disclosure
) -> Iterator[dict[str, Any]]:
    """What items can be filtered by: a key, and values with their labels and numbers of items (None: not counted)."""
    judging = [("verdict", "Verdict"), ("stage", "Stage"), ("finding", "Finding"), ("gold", "Gold")]
    named = [*judging, *((TAG + tag, tag) for tag in collection.tags)] if may.golds else []
    named += [("benchmark", "Benchmark")]
    on = {key: {value for own, value in address.parts if own == key} for key, _ in address.parts}

    def beside(key: str) -> CollectionView:  # so that its other values show the count that choosing them gives
        return collection.view(_query(address.without(key))) if key in on else view

    number, judged = 0, collection.judged_counts(address.query)
    for key, name in named:
        everything = collection.stages if key == "stage" else collection.facets[key][1]
        if len(everything) < (1 if key in ("finding", "stage") else 2):
            continue
        counts = judged[key] if key in judged else beside(key).counts.get(key, {})
        shown = sorted(everything[:_MOST_VALUES], key=lambda value: value not in on.get(key, ()))
        bins = key in collection.binned
        values = [(value, _in_words(value) if bins else value, counts.get(value, 0)) for value in shown]
        several = key in ("stage", "finding") or (key.startswith(TAG) and collection.items.schema[key].is_nested())
        more, is_open, number = len(everything) - len(shown), number < _OPEN_FACETS or key in on, number + 1
        yield {"key": key, "name": name, "values": values, "more": more, "open": is_open, "several": several}
    for key, bands in BANDS.items() if may.golds and collection.answers.series else ():
        numbers = collection.items.get_column(key).to_numpy()[beside(key).positions] if key != "doubt" else None
        counted: list[tuple[str, str, int | None]] = []
        for span, label in bands.items():
            low, high = getattr(query_of([(key, span)]), key)
            inside = None if numbers is None else (numbers >= low) & (numbers <= high)
            counted.append((span, label, None if inside is None else int(np.count_nonzero(inside))))
        yield {"key": key, "name": _BAND_NAMES[key], "values": counted, "more": 0, "open": True, "several": False}


def _in_words(span: str) -> str:
    return span.replace("..<", " to below ").replace("..", " to ")


def _is_blind(condition: str) -> bool:
    return condition.split(maxsplit=1)[0] in BLIND_MODALITIES


def _scores(collection: Collection, view: CollectionView) -> list[tuple[ModelAccuracy, ModelAccuracy]]:
    """The accuracy of each model on the items shown and on all, the best first where models saw the image."""
    best: dict[str, float] = {}
    for row in view.accuracy:
        worth = -inf if row.value is None else row.value - 2 * _is_blind(row.condition)
        best[row.model] = max(best.get(row.model, -inf), worth)
    pairs = zip(view.accuracy, collection.everything.accuracy, strict=True)
    return sorted(
        pairs, key=lambda pair: (-best[pair[0].model], pair[0].model, _is_blind(pair[0].condition), pair[0].condition)
    )


def _versus(collection: Collection, view: CollectionView, address: Address) -> Iterator[dict[str, Any]]:
    """Two models on the items shown, under each condition that both have: who is right where, and the difference."""
    answers, at = collection.answers, view.positions
    names = address.compared
    series = {(one.model, one.condition): number for number, one in enumerate(answers.series)}
    for condition in sorted({how for _, how in series}, key=lambda how: (_is_blind(how), how)) if names else ():
        pair = [series.get((name, condition)) for name in names]
        if None in pair:
            continue
        first, second = (answers.kinds[number][at] for number in pair)
        cells = []
        for kinds in (("right", "right"), ("right", "wrong"), ("wrong", "right"), ("wrong", "wrong")):
            both = (first & ANSWER_BITS[kinds[0]] > 0) & (second & ANSWER_BITS[kinds[1]] > 0)
            wanted = zip(kinds, names, strict=True)
            added = [("answer", str(AnswerFilter(kind, name, condition))) for kind, name in wanted]  # type: ignore[arg-type]
            cells.append((int(both.sum()), Address(tuple(dict.fromkeys((*address.parts, *added)))).href))
        ours, theirs = (answers.scores[number][at] for number in pair)
        difference = paired(ours, theirs, answers.clusters[at]) if len(at) else None
        yield {"condition": condition, "names": names, "cells": cells, "difference": difference}
