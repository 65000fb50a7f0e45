"""Questions that are asked twice, within a benchmark, across its splits, or in another benchmark."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from eyetest.probes.subject import Subject, has_its_pictures, hash_text, no_pictures
from eyetest.probes.words import normalise, overlap, shingles
from eyetest.records import PLACEHOLDER, Finding, Item
from eyetest.wording import counted, listed

Key = tuple[object, ...]
_PERMUTATIONS = 64
_BANDS = 16
_PRIME = np.uint64((1 << 61) - 1)


class DuplicateItems:
    """The probe."""

    name = "duplicate-items"
    summary = "Is anything asked twice?"

    def run(self, subject: Subject) -> Iterator[Finding]:
        """Exact repeats, repeats with another gold, near repeats, and repeats across splits or benchmarks."""
        items = comparable(subject.items)
        yield from _not_compared(subject, len(items))
        same = _grouped(items, question_key)
        yield from _contradicting(same)
        yield from _duplicates(_grouped(items, item_key))
        yield from _across_splits(same)
        yield from _near(subject, items, {item.id for group in same for item in group})
        if subject.against:
            yield from _in_other(items, subject.against)


def comparable(items: Iterable[Item]) -> list[Item]:
    """Items whose pictures are all here. Of others nobody knows what they show, and words alone tell nothing."""
    return [item for item in items if has_its_pictures(item)]


def _not_compared(subject: Subject, compared: int) -> Iterator[Finding]:
    if not compared:
        yield no_pictures(DuplicateItems.name, "repeated questions were not looked for, since pictures may differ")
    elif left := len(subject.items) - compared:
        title = f"{counted(left, 'item')} not compared with others, for lack of pictures"
        yield _finding("not-compared", severity="note", title=title, numbers={"items": left},
                       detail="Two questions of the same words may show different pictures.")  # fmt: skip


def question_key(item: Item, one_of: Mapping[str, str] = MappingProxyType({})) -> Key:
    """Two items with this key in common ask the same of the same pictures, with the same options in any order.

    ``one_of`` names, for pictures that are copies of each other, the one that stands for all.
    """
    options = tuple(sorted(_said(choice.text) for choice in item.choices))
    pictures = tuple(one_of.get(image.sha256, image.sha256) for image in item.images)
    return (_said(item.question), _said(item.hint), options, pictures, item.history)


def _said(text: str) -> str:
    """A text in the spelling in which it is compared: ``<image1>`` and ``<image 1>`` show the same."""
    return normalise(PLACEHOLDER.sub(r"<image \1>", text))


def item_key(item: Item) -> Key:
    """Two items with this key in common are the same item."""
    gold = tuple(sorted(_said(choice.text) for choice in item.choices if choice.correct))
    return (*question_key(item), gold, tuple(sorted(normalise(reference) for reference in item.references)))


def _grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> list[list[Item]]:
    """Items with a key in common, unless they are variations of one question by intent."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return [group for group in groups.values() if len(group) > 1 and len({i.group or i.id for i in group}) > 1]


def _contradicting(same: list[list[Item]]) -> Iterator[Finding]:
    groups = [group for group in same if len({item_key(item) for item in group}) > 1]
    if groups:
        evidence = {item.id: f"gold: {_gold(item)}" for group in groups for item in group}
        yield _finding("contradicting-golds", evidence, groups, severity="bad", verdict="review",
                       title=f"{counted(len(groups), 'question')} asked more than once, with different golds",
                       detail="At most one of the golds can be right.")  # fmt: skip


def _duplicates(groups: list[list[Item]]) -> Iterator[Finding]:
    if groups:
        extra = sum(len(group) - 1 for group in groups)
        evidence = {item.id: f"repeats {group[0].id}" for group in groups for item in group[1:]}
        yield _finding("duplicate-items", evidence, groups, severity="bad", verdict="drop",
                       title=f"{counted(extra, 'repeat')} of another item, in {counted(len(groups), 'group')}",
                       detail="Same question, options, pictures and gold. `--fix` keeps the first.")  # fmt: skip


def repeats_on_copies(items: Iterable[Item], copies: Iterable[Sequence[str]]) -> Iterator[Finding]:
    """The same question, with its options in any order, on pictures of other bytes that show the same."""
    one_of = {picture: group[0] for group in copies for picture in group}
    known = [item for item in comparable(items) if any(image.sha256 in one_of for image in item.images)]
    groups = [
        group
        for group in _grouped(known, lambda item: question_key(item, one_of))
        if len({question_key(item) for item in group}) > 1
    ]
    if groups:
        evidence = {
            item.id: f"asks what {listed(o.id for o in group if o is not item)} asks; gold: {_gold(item)}"
            for group in groups
            for item in group
        }
        yield _finding("repeats-on-copied-images", evidence, groups, severity="bad", verdict="review",
                       probe="duplicate-images",
                       title=f"{counted(len(groups), 'question')} asked again on a copy of the picture",
                       detail="Same words and options, perhaps in another order; the pictures show the same in other "
                       "bytes. `--fix` leaves them, since that pictures show the same is a judgement.")  # fmt: skip


def _across_splits(same: list[list[Item]]) -> Iterator[Finding]:
    groups = [group for group in same if len({str(item.tags.get("split")) for item in group}) > 1]
    if groups:
        evidence = {
            item.id: f"in split {item.tags.get('split')}, also as {listed(o.id for o in group if o is not item)}"
            for group in groups
            for item in group
        }
        yield _finding("questions-across-splits", evidence, groups, severity="bad", verdict="review",
                       title=f"{counted(len(groups), 'question')} in more than one split",
                       detail="A model may have been tuned on them.")  # fmt: skip


def _in_other(items: Sequence[Item], other: Subject) -> Iterator[Finding]:
    known: dict[Key, list[Item]] = {}
    for item in other.items:
        known.setdefault(question_key(item), []).append(item)
    evidence = {
        item.id: f"is {listed(o.id for o in known[key])} of {other.benchmark.manifest.name}"
        for item in items
        if (key := question_key(item)) in known
    }
    if evidence:
        title = f"{counted(len(evidence), 'question')} also in {other.benchmark.manifest.name}"
        yield _finding("questions-also-in-other", evidence, severity="bad", title=title, numbers={},
                       detail="Same question, options and pictures.")  # fmt: skip


def _near(subject: Subject, items: Sequence[Item], exact: set[str]) -> Iterator[Finding]:
    """Nearly the same words about the same picture."""
    level = subject.thresholds.text.near_duplicate
    pairs = []
    for one, other in _candidates(subject, items):
        alike = overlap(_text(one), _text(other))
        varied = (one.group or one.id) == (other.group or other.id)
        if alike >= level and not varied and not {one.id, other.id} <= exact:
            pairs.append((one, other, alike))
    if pairs:
        evidence: dict[str, str] = {}
        for one, other, alike in pairs:
            evidence.setdefault(one.id, f"{alike:.0%} of its words as in {other.id}")
            evidence.setdefault(other.id, f"{alike:.0%} of its words as in {one.id}")
        yield _finding("near-duplicate-questions", evidence, [[one, other] for one, other, _ in pairs],
                       severity="suspect", verdict="review",
                       title=f"{counted(len(pairs), 'pair')} of questions about one picture differ in a word or two",
                       detail=f"At least {level:.0%} of their word triples are the same.")  # fmt: skip


def _candidates(subject: Subject, items: Sequence[Item]) -> Iterator[tuple[Item, Item]]:
    by_picture: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        by_picture.setdefault(tuple(image.sha256 for image in item.images), []).append(item)
    for group in by_picture.values():
        if len(group) > 50:
            yield from _by_words(subject, group)
        else:
            yield from ((one, other) for i, one in enumerate(group) for other in group[i + 1 :])


def _by_words(subject: Subject, items: Sequence[Item]) -> Iterator[tuple[Item, Item]]:
    """Pairs that probably share most of their words (MinHash in bands), so that not all pairs need be compared."""
    if len(items) < 2:
        return
    rng = subject.rng("minhash")
    factor = rng.integers(1, 2**61 - 1, _PERMUTATIONS, dtype=np.uint64) | np.uint64(1)
    shift = rng.integers(0, 2**61 - 1, _PERMUTATIONS, dtype=np.uint64)
    buckets: dict[tuple[int, bytes], list[Item]] = {}
    for item in items:
        hashes = np.array([hash_text(part) for part in _text(item)] or [0], dtype=np.uint64)
        with np.errstate(over="ignore"):
            least = ((hashes[:, None] * factor + shift) % _PRIME).min(axis=0)
        for band, part in enumerate(np.split(least, _BANDS)):
            buckets.setdefault((band, part.tobytes()), []).append(item)
    seen: set[tuple[str, str]] = set()
    for group in buckets.values():
        for i, one in enumerate(group[:100]):
            for other in group[i + 1 : 100]:
                if (one.id, other.id) not in seen:
                    seen.add((one.id, other.id))
                    yield one, other


def _text(item: Item) -> frozenset[str]:
    return shingles(item.question).union(*(shingles(choice.text) for choice in item.choices))


def _gold(item: Item) -> str:
    return "; ".join(choice.text for choice in item.choices if choice.correct) or "; ".join(item.references)


def _finding(
    kind: str, evidence: Mapping[str, str] = MappingProxyType({}), groups: Sequence[Sequence[Item]] = (), **rest: Any
) -> Finding:
    fields = {
        "probe": DuplicateItems.name,
        "items": tuple(evidence),
        "groups": tuple(tuple(item.id for item in group) for group in groups),
        "evidence": dict(evidence),
        "numbers": {"groups": len(groups), "items": len(evidence)},
    }
    return Finding(kind=kind, **fields | rest)


PROBE = DuplicateItems()
