"""Which items of a benchmark depend on each other: what they share in words, options, keys and media.

Estimated is a partition of the items for each kind of bond. Items of one cluster may be right or wrong together, by
one preference or one piece of knowledge; clusters count as independent. Options, keys and numbers that more than a
fifth of the items share (yes and no, the letters of pictures) are labels, not facts, and bind nothing; groups, media,
passages and question templates bind however many items share them. Words bind by average linkage
(`eyetest.measures.stats.words`), because a cluster that is too large costs an interval little, one that is too small
its coverage.
Assumed: items that share none of this, and whose answers show no common profile (`eyetest.measures.stats.profiles`),
are independent. Checked with benchmarks drawn by other code, in ``tests/filters/dependent.py``.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eyetest.measures.stats.sets import set_labels
from eyetest.measures.stats.words import word_clusters
from eyetest.records import PLACEHOLDER, Item, tag_word
from eyetest.text import folded

Ints = NDArray[np.int64]

_SLOT = re.compile(
    r"<[^<>]{0,300}>|\"[^\"]{0,300}\"|“[^”]{0,300}”|«[^»]{0,300}»|‘[^’]{0,300}’|(?<!\w)'[^']{0,300}'(?!\w)"
    r"|(?<!\w)[-+]?\d[\d.,:/%]{0,300}(?!\w)"
)
_NAME = re.compile(r"(?<=[^.?!:\s] )[A-Z][\w'-]*(?: [A-Z][\w'-]*)*")
_WORD = re.compile(r"\*|[\w'-]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_FEWEST_WORDS = 3  # of a template, beside its slots; "What is *" would bind unlike questions
_MOST_WORDS = 40  # of a question in which any word may be a slot; each word costs a form as long as the question
_LABEL = 0.2  # a value that a larger share of the items has is a label
_FEWEST_NUMBERS = 2  # different ones, in questions taken for one by their numbers; one number alone recurs by chance
_FEWEST_TRANSLATIONS = 3  # questions about an image whose keys have one place: of two that is often chance


def clusterings(items: Sequence[Item], tag: str = "") -> dict[str, Ints]:
    """The number of each item's cluster, by the kind of what items share (`firm_clusterings`).

    Kinds that bind no two items are left out. Where a ``tag`` is named, its values alone make clusters, and these
    are returned even if they bind no two items.
    """
    if tag:
        return {tag: numbered(tag_word(item.tags.get(tag)) for item in items)}
    return binding(firm_clusterings(items))


def guessed_clusterings(items: Sequence[Item]) -> dict[str, Ints]:
    """Clusters of items that may be about one thing: with their options, one option, key or words in common.

    Items with the same options need not depend on each other: colours are offered for many things. Whether items
    depend on each other is for the answers to show (`share_preferences`).
    """
    kinds = {}
    kinds["options"] = numbered(without_labels([_option_set(item) for item in items]))
    kinds["one option"] = numbered(_recurring_options(items))
    kinds["key"] = numbered(without_labels([_key(item) for item in items]))
    kinds["words"] = word_clusters([_words(item) for item in items])
    return binding(kinds)


def firm_clusterings(items: Sequence[Item]) -> dict[str, Ints]:
    """Clusters of items that are about one thing: a group, medium, passage, question template or fact.

    The kind ``image`` also holds other media. Kinds that bind no two items are not left out.
    """
    return {
        "group": numbered(_groups(items)),
        "image": numbered(_shown(item) for item in items),
        "passage": numbered(item.hint.strip() or None for item in items),
        "fact": numbered(facts(items)),
        "question template": numbered(_templates([item.question for item in items])),
    }


def binding(clusters: Mapping[str, Ints]) -> dict[str, Ints]:
    """The kinds that bind at least two items."""
    return {kind: numbers for kind, numbers in clusters.items() if numbers.max(initial=-1) + 1 < len(numbers)}


def joined_clusters(together: Ints, kinds: Mapping[str, Ints], most: float = 0.5) -> Ints:
    """The clusters ``together``, joined by each of the ``kinds`` in turn, but not where one then has too many items.

    ``most`` is the largest share of the items that a cluster may get by joining.
    """
    places = np.arange(len(together))
    for numbers in kinds.values():
        merged = renumbered(set_labels(len(places), (places, together), (places, numbers)))
        if is_usable(merged, most):
            together = merged
    return together


def fewest_clusters(together: Ints, kinds: Mapping[str, Ints]) -> Ints:
    """The clusters ``together`` joined by the ``kinds``, or one of these kinds alone, whichever has fewer clusters.

    Crossed bonds, such as every template about every image, would join all items.
    """
    candidates = [joined_clusters(together, kinds)]
    candidates += [numbers for numbers in kinds.values() if is_usable(numbers)]
    return min(candidates, key=lambda numbers: len(np.unique(numbers)))


def is_usable(numbers: Ints, most: float = 0.5) -> bool:
    """Whether no cluster has more than ``most`` of the items, as a share (two items are never too many)."""
    return bool(np.bincount(numbers).max(initial=0) <= max(most * len(numbers), 2))


def renumbered(labels: Ints) -> Ints:
    """The same clusters, numbered from 0 on."""
    return np.asarray(np.unique(labels, return_inverse=True)[1], np.int64)


def numbered(keys: Iterable[Hashable | None]) -> Ints:
    """Equal numbers for equal keys; an item without a key is a cluster of its own."""
    number_of: dict[Hashable, int] = {}
    numbers = []
    for index, key in enumerate(keys):
        name = (index,) if key is None else ("", key)
        numbers.append(number_of.setdefault(name, len(number_of)))
    return np.array(numbers, np.int64)


def without_labels(keys: Sequence[Hashable | None]) -> list[Hashable | None]:
    """The keys, None in place of those that more than a fifth of the items, and more than two, have."""
    counts = Counter(keys)
    most = max(2, _LABEL * len(keys))
    return [key if counts[key] <= most else None for key in keys]


def facts(items: Sequence[Item]) -> list[Hashable | None]:
    """For each item the fact that it asks about, equal for its translations and rotations; None where it is alone.

    Items ask about one fact if one of three things holds:

    - They have the same options, and these always have the same key. Options that recur with other keys are classes,
      such as colours.
    - Their questions have the same numbers, two different ones or more, and the key is at one place among as many
      options.
    - They are all questions about an image, three or more, with the key at one place among as many options.
    """
    places = np.arange(len(items))
    bonds = [(places, numbered(keys)) for keys in (_facts_by_options(items), _numbers_of(items), _by_image(items))]
    labels = set_labels(len(items), *bonds)
    sizes = Counter(labels.tolist())
    return [label if sizes[label] > 1 else None for label in labels.tolist()]


def first_of_facts(items: Sequence[Item], benchmark: Sequence[Item]) -> list[int]:
    """The places of items without those that ask about an earlier item's fact and have the key at the same place.

    ``items`` are part of the ``benchmark``, among all of which facts are found, because among a few items a fact may
    look like a label.
    """
    fact_of = dict(zip((item.id for item in benchmark), facts(benchmark), strict=True))
    firsts: dict[Hashable, int] = {}
    for place, item in enumerate(items):
        fact = fact_of[item.id]
        firsts.setdefault((item.id,) if fact is None else (fact, item.gold), place)
    return list(firsts.values())


def _facts_by_options(items: Sequence[Item]) -> list[Hashable | None]:
    """The options of each item; None where they are bare letters, a label, or recur with another key."""
    option_sets = [_option_set(item) for item in items]
    key_of: dict[Hashable, Hashable | None] = {}
    classes = set()
    for options, item in zip(option_sets, items, strict=True):
        key = _key(item)
        if options is not None and key_of.setdefault(options, key) != key:
            classes.add(options)
    return without_labels([None if options in classes else options for options in option_sets])


def _by_image(items: Sequence[Item]) -> list[Hashable | None]:
    """The image of each item, where all of its three or more questions have one number of options and key's place."""
    images = [_shown(item) for item in items]
    key_places: dict[Hashable, list[tuple[int, tuple[int, ...]]]] = {}
    for item, image in zip(items, images, strict=True):
        key_places.setdefault(image, []).append((len(item.choices), item.gold))
    several = {image: places for image, places in key_places.items() if len(places) >= _FEWEST_TRANSLATIONS}
    parallel_images = {image for image, places in several.items() if len(set(places)) == 1}
    return [image if image in parallel_images else None for image in images]


def _numbers_of(items: Sequence[Item]) -> list[Hashable | None]:
    return without_labels([_numbers(item) for item in items])


def _option_set(item: Item) -> Hashable | None:
    texts = frozenset(folded(choice.text) for choice in item.choices)
    return texts if max(map(len, texts), default=0) > 1 else None  # not bare letters


def _recurring_options(items: Sequence[Item]) -> list[str | None]:
    """For each item its option that recurs in most items, labels left out; None where no other option recurs."""
    texts = [sorted({folded(choice.text) for choice in item.choices}) for item in items]
    counts = Counter(text for row in texts for text in row if len(text) > 1)
    most = max(2, _LABEL * len(items))
    recurring = {text for text, count in counts.items() if 1 < count <= most}
    return [max(recurring.intersection(row), key=lambda text: (counts[text], text), default=None) for row in texts]


def _key(item: Item) -> Hashable | None:
    """The texts of the right options; None where they are bare letters."""
    texts = frozenset(folded(item.choices[place].text) for place in item.gold)
    return texts if max(map(len, texts), default=0) > 1 else None


def _numbers(item: Item) -> Hashable | None:
    """The numbers of a question, sorted as texts, with the number of options and the key's place.

    None where the question has fewer than two different numbers.
    """
    numbers = sorted(_NUMBER.findall(PLACEHOLDER.sub(" ", item.question)))
    if len(set(numbers)) < _FEWEST_NUMBERS:
        return None
    return (*numbers, len(item.choices), item.gold)


def _shown(item: Item) -> Hashable | None:
    """The images of an item by content and its other media by reference; None where it has none."""
    media = [(media.kind, media.reference) for media in item.media]
    return (*(image.sha256 for image in item.images), *media) or None


def _groups(items: Sequence[Item]) -> list[Hashable | None]:
    """The group of each item; the item that others vary belongs to their group."""
    heads = {item.group for item in items if item.group}
    return [item.group or (item.id if item.id in heads else None) for item in items]


def _templates(questions: Sequence[str]) -> list[str | None]:
    """For each question its form that most questions have too; None where no other question has one of its forms."""
    forms = [_forms(question) for question in questions]
    counts = Counter(form for question_forms in forms for form in dict.fromkeys(question_forms))
    commonest = [max(question_forms, key=lambda form: counts[form], default="") for question_forms in forms]
    return [form if counts[form] > 1 else None for form in commonest]


def _forms(question: str) -> list[str]:
    """Templates that a question may be made by: numbers, quotations, names and at most one more word are slots."""
    without_quotations = _SLOT.sub("*", question)
    without_names = _NAME.sub("*", without_quotations)
    words = [word.lower() for word in _WORD.findall(without_names)]
    forms = [words]
    if len(words) <= _MOST_WORDS:
        forms += [[*words[:index], "*", *words[index + 1 :]] for index in range(len(words))]
    return [" ".join(form) for form in forms if len(form) - form.count("*") >= _FEWEST_WORDS]


def _words(item: Item) -> list[str]:
    """The words of the question and the options, without whole numbers."""
    texts = [PLACEHOLDER.sub(" ", item.question), *(choice.text for choice in item.choices)]
    return [word.lower() for text in texts for word in _WORD.findall(text) if not word.isdecimal()]
