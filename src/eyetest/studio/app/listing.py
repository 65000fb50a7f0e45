"""The list of items: which items an address selects, what may be shown, filters with counts, scores and cards."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from math import ceil, inf
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
import numpy as np
import scipy

from eyetest.errors import InputError, percent, short
from eyetest.measures.results import TAG
from eyetest.pages.item_links import ANSWER_KINDS, AnswerFilter, Query, pairs_of, query_of, write_query
from eyetest.pages.page import clip
from eyetest.records import BLIND_MODALITIES, Item
from eyetest.studio.answers import ModelAccuracy
from eyetest.studio.app import whole_number
from eyetest.studio.collection import Collection, CollectionView, ItemRow

_SEVERAL = ("tag.", "finding", "answer", "id")  # several values each; others are replaced
_PLAIN_COLUMNS = ("id", "question", "benchmark", "images")
_PLAIN_FILTERS = ("text", "tags", "benchmark", "ids", "options", "sort")  # these reveal no golds
PAGE_SIZE = 60
_WORD = re.compile(r"\w+")
_MOST_TESTED = 500
_FEWEST_TESTED, _CHANCE = 4, 0.07  # A tag that is hidden by mistake does little harm, so little evidence is enough
MOST_IDS = 5  # more ids are shown as one filter
_LONGEST_QUESTION = 320
_LONGEST_HREF = 2_000  # every link repeats the query, so a page about a longer one has few links
_MOST_VALUES = 60
_OPEN_FACETS, _OPEN_BANDS = 4, ("difficulty", "doubt")
BANDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "difficulty": (
        ("all models are right", "0"),
        ("up to ¼ wrong", "0..0.25"),
        ("¼ to ½ wrong", "0.25..0.5"),
        ("½ to ¾ wrong", "0.5..0.75"),
        ("¾ and more wrong", "0.75..1"),
        ("no model is right", "1"),
    ),
    "gain": (
        ("the image hurts", "..-0.01"),
        ("it changes nothing", "-0.01..0.01"),
        ("it helps less than half", "0.01..0.5"),
        ("it helps half and more", "0.5.."),
    ),
    "disagreement": (
        ("all models agree", "0"),
        ("some differ", "0.01..0.4"),
        ("models are split", "0.4.."),
    ),
    "doubt": (
        ("little evidence against it", "..0"),
        ("some doubt", "0..2"),
        ("votes as with a wrong gold", "2.."),
    ),
}
"""Named filters for numbers: bounds as in an address."""
_BAND_NAMES = {"gain": "What the image gives", "doubt": "Doubt of the gold"}  # others have the name of their column
NUMBERS = (*BANDS, "blind_right")


class ImageUrl(NamedTuple):
    """The address of an image; empty where it is not available."""

    whole: str = ""
    small: str = ""


ImageUrls = Callable[[str], ImageUrl]  # by the hash of an image


def served_urls(sha256: str) -> ImageUrl:
    """The address of an image on the server."""
    return ImageUrl(f"image/{sha256}", f"thumbnail/{sha256}")


class Address(msgspec.Struct, frozen=True, dict=True):
    """The parts of a query in their given order, and the part that is on the screen."""

    parts: tuple[tuple[str, str], ...] = ()
    item: str = ""
    page: int = 1

    @classmethod
    def parse(cls, text: str) -> "Address":
        """The address that a browser requests; unknown keys are refused."""
        parts, own = [], dict[str, str]()
        for key, value in pairs_of(text):
            if key in ("item", "page"):
                own[key] = value
            elif value:
                parts.append((key, value))
        query_of(parts)
        page = whole_number(own.get("page") or "1", "page")
        return cls(tuple(dict.fromkeys(parts)), own.get("item", ""), page)

    @cached_property
    def query(self) -> Query:
        """The query of the address."""
        return query_of(list(self.parts))

    def holds(self, key: str, value: str) -> bool:
        """Whether the query contains this part."""
        return (key, value) in self.parts

    def toggled(self, key: str, value: str) -> str:
        """The address with this part added, or removed if present; starts at the first page."""
        if self.holds(key, value):
            parts = tuple(part for part in self.parts if part != (key, value))
        else:
            kept = self.parts if key.startswith(_SEVERAL) else self.without(key)
            parts = (*kept, (key, value))
        return Address(parts).href

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
    """What may be shown (``tags``: None for all). Without golds, nothing is shown from which a gold follows."""

    golds: bool = True
    tags: frozenset[str] | None = None
    replies: bool = True
    verdicts: bool = True
    findings: bool = True

    def may_sort(self, column: str) -> bool:
        """Whether an order by this column reveals nothing that is hidden."""
        return self.golds or column in _PLAIN_COLUMNS or column in {TAG + tag for tag in self.tags or ()}

    def refuse_revealing(self, query: Query) -> None:
        """Refuse a query whose result would reveal what is hidden."""
        if self.golds:
            return
        revealing = {name for name, _ in query.tags} - (self.tags or frozenset())
        if revealing:
            raise InputError(f"the tag {short(min(revealing))} may reveal golds, which are left out here")
        if Query(**{name: getattr(query, name) for name in _PLAIN_FILTERS}) != query:
            raise InputError(f"{short(write_query(query))} would reveal golds, which are left out here")
        if query.sort and not self.may_sort(query.sort.removeprefix("-")):
            raise InputError(f"an order by {short(query.sort)} may reveal golds, which are left out here")


EVERYTHING = Disclosure()


def without_golds(collection: Collection) -> Disclosure:
    """Everything except golds and what reveals them: scores, verdicts, findings, and some tags."""
    return Disclosure(golds=False, tags=frozenset(safe_tags(collection)), verdicts=False, findings=False)


def safe_tags(collection: Collection) -> set[str]:
    """Tags that repeat, and whose values neither determine the position of the gold nor contain its text."""
    values: dict[str, list[tuple[Item, str]]] = {tag: [] for tag in collection.tags}
    for benchmark in collection.benchmarks.values():
        for item in islice(benchmark, 0, None, ceil(len(benchmark) / _MOST_TESTED) or 1):
            for tag in values.keys() & item.tags.keys():
                if words := _words(str(item.tags[tag])):
                    values[tag].append((item, words))
    repeated = {tag: pairs for tag, pairs in values.items() if 2 * len({words for _, words in pairs}) <= len(pairs)}
    return {tag for tag, pairs in repeated.items() if not (_determines(pairs) or _contains(pairs))}


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _determines(pairs: Sequence[tuple[Item, str]]) -> bool:
    """Whether the golds of the other items with the same value predict an item's gold."""
    by_value: defaultdict[str, Counter[tuple[int, ...]]] = defaultdict(Counter)
    for item, words in pairs:
        if item.choices and item.gold:
            by_value[words][item.gold] += 1
    all_golds, hits, tested = sum(by_value.values(), Counter()), 0, 0
    for golds in by_value.values():
        for gold, number in golds.items():
            if others := golds - Counter([gold]):
                tested += number
                hits += number * (others.most_common(1)[0][0] == gold)
    return _exceeds(hits, tested, max(all_golds.values(), default=0) / max(all_golds.total(), 1))


def _contains(pairs: Sequence[tuple[Item, str]]) -> bool:
    """Whether values contain the gold's text more often than that of a distractor, or of another item's gold."""
    hits, tested, expected = 0, 0, 0.0
    for number, (item, words) in enumerate(pairs):
        golds = item.references or tuple(item.choices[position].text for position in item.gold)
        others = [choice.text for choice in item.choices if not choice.correct]
        others = others or [text for one, _ in pairs[number - 3 : number] for text in one.references]
        found = [f" {_words(text)} " in f" {words} " for text in (*golds, *others)]
        if golds and others and any(found) and not all(found):
            tested, expected = tested + 1, expected + len(golds) / len(found)
            hits += any(found[: len(golds)])
    return _exceeds(hits, tested, expected / max(tested, 1))


def _exceeds(hits: int, tested: int, usual: float) -> bool:
    """Whether hits reach at least half of the way from the usual share to all, and are unlikely by chance."""
    often = tested >= _FEWEST_TESTED and hits > tested * (1 + usual) / 2
    return often and bool(scipy.special.bdtrc(hits - 1, tested, usual) < _CHANCE)


def list_page(collection: Collection, address: Address, may: Disclosure = EVERYTHING) -> dict[str, Any]:
    """The template values of the list."""
    may.refuse_revealing(address.query)
    view = collection.view(address.query)
    pages = max(1, ceil(len(view) / PAGE_SIZE))
    page = min(address.page, pages)
    address = Address(address.parts, page=page)
    rows = collection.rows(view, (page - 1) * PAGE_SIZE, PAGE_SIZE)
    is_long = len(address.href) > _LONGEST_HREF
    useful = {*(TAG + tag for tag in collection.tags), *_PLAIN_COLUMNS, *NUMBERS, "gold"}
    return {
        "name": collection.name,
        "address": address,
        "without_ids": Address(address.without("id")).href,
        "ids": [value for key, value in address.parts if key == "id"],
        "most_ids": MOST_IDS,
        "is_long": is_long,
        "home": "",
        "bundle": False,
        "number": len(view),
        "total": len(collection),
        "pages": pages,
        "facets": [] if is_long else list(_facets(collection, view, address, may)),
        "notes": [*collection.notes, *(f"no item {name}" for name in view.unknown_ids[:5])],
        "scores": _scores(collection, view) if may.golds and not is_long else [],
        "kinds": ANSWER_KINDS,
        "answer": AnswerFilter,
        "blind": BLIND_MODALITIES,
        "rows": [
            card(row, (Address() if is_long else address).to(item=row.id, page=page), golds=may.golds) for row in rows
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
        facts += [f"{percent(1 - row.difficulty)} right"] if row.difficulty is not None else []
        facts += [f"{row.blind_right} blind"] if row.blind_right else []
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
    named = judging if may.golds else []
    named += [(TAG + tag, tag) for tag in collection.tags if may.tags is None or tag in may.tags]
    named += [("benchmark", "Benchmark")]

    def beside(key: str) -> CollectionView:  # so that its other values show the count that choosing them gives
        kept = address.without(key)
        return view if len(kept) == len(address.parts) else collection.view(query_of(list(kept)))

    number, judged = 0, collection.judged_counts(address.query)
    for key, name in named:
        everything = collection.stages if key == "stage" else collection.facets[key][2]
        if len(everything) < (1 if key in ("finding", "stage") else 2):
            continue
        counts = judged[key] if key in judged else beside(key).counts.get(key, {})
        on = {value for own, value in address.parts if own == key}
        shown = sorted(everything[:_MOST_VALUES], key=lambda value: value not in on)
        values = [(value, value, counts.get(value, 0)) for value in shown]
        is_open, number = number < _OPEN_FACETS or bool(on), number + 1
        yield {"key": key, "name": name, "values": values, "more": len(everything) - len(shown), "open": is_open}
    for key, bands in BANDS.items() if may.golds and collection.answers.series else ():
        numbers = collection.numbers(key).to_numpy()[beside(key).positions] if collection.is_known(key) else None
        counted = []
        for label, span in bands:
            low, high = getattr(query_of([(key, span)]), key)
            count = None if numbers is None else int(np.count_nonzero((numbers >= low) & (numbers <= high)))
            counted.append((span, label, count))
        is_open = key in _OPEN_BANDS or any(own == key for own, _ in address.parts)
        yield {"key": key, "name": _BAND_NAMES.get(key, key.title()), "values": counted, "more": 0, "open": is_open}


def _scores(collection: Collection, view: CollectionView) -> list[tuple[ModelAccuracy, ModelAccuracy]]:
    """The accuracy of each model on the items shown and on all, the best first where models saw the image."""

    def is_blind(row: ModelAccuracy) -> bool:
        return row.condition.split()[0] in BLIND_MODALITIES

    best: dict[str, float] = {}
    for row in view.accuracy:
        worth = -inf if row.value is None else row.value - 2 * is_blind(row)
        best[row.model] = max(best.get(row.model, -inf), worth)
    pairs = zip(view.accuracy, collection.everything.accuracy, strict=True)
    return sorted(pairs, key=lambda pair: (-best[pair[0].model], pair[0].model, is_blind(pair[0]), pair[0].condition))
