"""Items that one preference may decide together: of one question template, passage, image or stated tag."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from eyetest.measures.stats.intervals import Ints
from eyetest.records import Item, tag_word

_SLOT = re.compile(r"<[^<>]*>|\"[^\"]*\"|“[^”]*”|«[^»]*»|‘[^’]*’|(?<!\w)'[^']*'(?!\w)|(?<!\w)[-+]?\d[\d.,:/%]*(?!\w)")
_NAME = re.compile(r"(?<=[^.?!:\s] )[A-Z][\w'-]*(?: [A-Z][\w'-]*)*")
_WORD = re.compile(r"\*|[\w'-]+")
_FEWEST_WORDS, _MOST_WORDS = 3, 40  # of a template, beside its slots; of a question in which any word may be a slot


def clusterings(items: Sequence[Item], tag: str = "") -> dict[str, Ints]:
    """By what items share: the number of each item's cluster. Only the values of ``tag`` where one is named."""
    if tag:
        return {tag: _numbered(tag_word(item.tags.get(tag)) for item in items)}
    found = {
        "question template": _numbered(_templates([item.question for item in items])),
        "passage": _numbered(item.hint.strip() or None for item in items),
        "image": _numbered(tuple(image.sha256 for image in item.images) or None for item in items),
        "group": _numbered(item.group or None for item in items),
    }
    return {kind: numbers for kind, numbers in found.items() if numbers.max(initial=-1) + 1 < len(items)}


def _numbered(keys: Iterable[Hashable | None]) -> Ints:
    """Equal numbers for equal keys; an item without a key is a cluster of its own."""
    known: dict[Hashable, int] = {}
    named = [known.setdefault((place,) if key is None else ("", key), len(known)) for place, key in enumerate(keys)]
    return np.array(named, np.int64)


def _templates(questions: Sequence[str]) -> list[str | None]:
    """Templates shared by questions: numbers, quotations, names and one more word are slots."""
    forms = [_forms(question) for question in questions]
    counts = Counter(form for some in forms for form in dict.fromkeys(some))
    best = [max(some, key=lambda form: counts[form], default="") for some in forms]
    return [form if counts[form] > 1 else None for form in best]


def _forms(question: str) -> list[str]:
    words = [word.lower() for word in _WORD.findall(_NAME.sub("*", _SLOT.sub("*", question)))]
    forms = [words]
    if len(words) <= _MOST_WORDS:
        forms += [[*words[:place], "*", *words[place + 1 :]] for place in range(len(words))]
    return [" ".join(form) for form in forms if len(form) - form.count("*") >= _FEWEST_WORDS]
