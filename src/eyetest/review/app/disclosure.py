"""What of items may be told to whoever looks: everything, nothing from which golds follow, or only what is asked."""

import msgspec

from eyetest.errors import InputError, short
from eyetest.measures.results import TAG
from eyetest.pages.item_links import Query, write_query
from eyetest.records import Item, letter
from eyetest.review.collection import Collection

_PLAIN_COLUMNS = ("id", "question", "benchmark", "pictures")
"""What items can be sorted by without a word about golds."""
_PLAIN_FILTERS = ("text", "tags", "benchmark", "ids", "options", "sort")
"""What they can be filtered by; a filter that is not named here is taken to tell golds."""


class Disclosure(msgspec.Struct, frozen=True, kw_only=True):
    """What may be told. Without golds, nothing is told from which one follows."""

    golds: bool = True
    tags: frozenset[str] | None = None
    """Those that may be told; None for all."""
    replies: bool = True
    verdicts: bool = True
    findings: bool = True
    instead: str = "Golds are left out of this copy."
    """What stands where golds are left out."""

    def may_sort(self, column: str) -> bool:
        """Whether an order by that column tells nothing that is hidden."""
        return self.golds or column in _PLAIN_COLUMNS or column in {TAG + tag for tag in self.tags or ()}

    def refuse_telling(self, query: Query) -> None:
        """Refuse a query whose items would tell what may not be told."""
        if self.golds:
            return
        told = {name for name, _ in query.tags} - (self.tags or frozenset())
        if told:
            raise InputError(f"the tag {short(min(told))} may tell golds, which are left out here")
        if Query(**{name: getattr(query, name) for name in _PLAIN_FILTERS}) != query:
            raise InputError(f"{short(write_query(query))} would tell golds, which are left out here")
        if query.sort and not self.may_sort(query.sort.removeprefix("-")):
            raise InputError(f"an order by {short(query.sort)} may tell golds, which are left out here")


EVERYTHING = Disclosure()
UNSOLVED = Disclosure(
    golds=False,
    tags=frozenset(),
    replies=False,
    verdicts=False,
    findings=False,
    instead="Answer first; then the gold is shown, and all that is known of the item.",
)
"""For somebody who is to find the answer alone."""


def without_golds(collection: Collection) -> Disclosure:
    """Everything but golds and what they follow from: scores, verdicts, findings, and many a tag."""
    return Disclosure(golds=False, tags=frozenset(safe_tags(collection)), verdicts=False, findings=False)


def safe_tags(collection: Collection) -> set[str]:
    """Tags that sort items and never say what the gold is: not its letter, its text, its place, a reference."""
    safe = set(collection.tags)
    places = {start: set(safe) for start in (0, 1)}  # tags that so far always were the gold's number, from there on
    for benchmark in collection.benchmarks.values():
        for item in benchmark:
            golds, words = _gold_words(item), {tag: _bare(item.tags.get(tag)) for tag in safe}
            safe -= {tag for tag, word in words.items() if word in golds}
            for start, tags in places.items():
                numbers = {str(position + start) for position in item.gold}
                tags -= {tag for tag in tags if words.get(tag) and words[tag] not in numbers}
    return safe.difference(*places.values())


def _bare(value: object) -> str:
    """A word without the signs around it, as ``(B)`` is B."""
    return str(value if value is not None else "").strip(" \t\n().[]:'\"").casefold()


def _gold_words(item: Item) -> set[str]:
    words = {_bare(reference) for reference in item.references}
    for position in item.gold:
        words |= {_bare(letter(position)), _bare(item.choices[position].text)}
    return words - {""}
