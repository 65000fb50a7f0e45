"""Which items of one benchmark are in another, and with another answer: compared by hashes of their contents."""

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import PurePath
from typing import Any, NamedTuple

from eyetest.benchmarks.rows import named_images
from eyetest.records import Item

_MARK = re.compile(r"<(?:image|img)[ _]?\d*>", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_DECIMAL = re.compile(r"[+-]?\d+(?:\.\d+)?")
_NUMBER = re.compile(r"\d{5,}")
DISTINCT = 60
"""Characters from which on a question that is unique in both benchmarks is the same question, whatever its image."""
_IDS = 12


class Print(NamedTuple):
    """What of an item is compared."""

    id: str
    text: str
    """Of the question, what stands before it, and the options in any order."""
    images: tuple[str, ...]
    """Of the bytes of its images, and of their names."""
    answers: tuple[str, ...]
    long: bool
    seen: bool = False
    """Whether the bytes of its images are here."""


def prints(items: Iterable[Item]) -> Iterator[Print]:
    """The hashes of each item."""
    for item in items:
        question = _plain(item.question)
        options = sorted(_plain(choice.text) for choice in item.choices)
        golds = [item.choices[i].text for i in item.gold] if item.choices else list(item.references)
        names = [name for value in named_images(item.tags).values() for name in [_stem(value)] if name]
        images = ["".join(image.sha256 for image in item.images)] if item.images else []
        whole = "\n".join((question, _plain(item.hint), *options))
        yield Print(
            item.id,
            _hash(whole),
            tuple(_hash(image) for image in (*images, *names)),
            tuple(sorted({_hash(_answer(gold)) for gold in golds})),
            len(whole) >= DISTINCT,
            bool(images),
        )


def within(known: list[Print]) -> int:
    """Items that repeat an earlier one: the same text about the same image, by its bytes or name."""
    counts = Counter((row.text, row.images[0]) for row in known if row.images)
    return sum(count - 1 for count in counts.values())


def across(known: Mapping[str, list[Print]]) -> list[dict[str, Any]]:
    """For each pair of benchmarks that share items: how many; of those with the same image, how many have another
    answer, and which.
    """
    texts = {name: Counter(row.text for row in rows) for name, rows in known.items()}
    by_text: dict[str, dict[str, list[Print]]] = defaultdict(lambda: defaultdict(list))
    for name, rows in known.items():
        for row in rows:
            by_text[row.text][name].append(row)
    found: dict[tuple[str, str], list[tuple[Print, Print]]] = defaultdict(list)
    for text, holders in by_text.items():
        for a, b in combinations(holders, 2):
            unique = texts[a][text] == texts[b][text] == 1
            for ours in holders[a]:
                same = [row for row in holders[b] if _is_same(ours, row, unique=unique)]
                if same:
                    found[a, b].append((ours, next((row for row in same if not _differ(ours, row)), same[0])))
    return [_pair(*names, pairs) for names, pairs in sorted(found.items(), key=lambda entry: -len(entry[1]))]


def _pair(a: str, b: str, pairs: list[tuple[Print, Print]]) -> dict[str, Any]:
    by_image = [(ours, theirs) for ours, theirs in pairs if {*ours.images} & {*theirs.images}]
    differ = [(ours.id, theirs.id) for ours, theirs in by_image if _differ(ours, theirs)]
    counts = {"items": len(pairs), "same_image": len(by_image), "differ": len(differ)}
    return {"a": a, "b": b, **counts, "ids": differ[:_IDS]}


def _is_same(ours: Print, theirs: Print, *, unique: bool) -> bool:
    """Whether items of the same text are the same: by their images, or by words that are long and occur once."""
    return bool({*ours.images} & {*theirs.images}) or (unique and ours.long and not (ours.seen and theirs.seen))


def _differ(ours: Print, theirs: Print) -> bool:
    return bool(ours.answers and theirs.answers) and not {*ours.answers} & {*theirs.answers}


def _answer(text: str) -> str:
    """An answer as it is compared: of a number two decimals."""
    return f"{float(text):.2f}" if _DECIMAL.fullmatch(text.strip()) else _plain(text)


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", _MARK.sub(" ", text)).casefold())) or text.strip()


def _stem(name: str) -> str:
    """An image's name without folders and ending; of COCO's names the number."""
    stem = PurePath(name).stem.casefold()
    return number[0].lstrip("0") if (number := _NUMBER.search(stem)) else stem


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
