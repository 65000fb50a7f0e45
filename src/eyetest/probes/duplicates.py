"""Repeated questions and images, within a benchmark, across splits or in another; similar thumbnails only pick the
pairs of images that are aligned and compared (`images.likeness`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from eyetest.benchmarks import ImageStore
from eyetest.benchmarks.folder import distinct_images
from eyetest.errors import counted, listed
from eyetest.measures.stats.sets import DisjointSets
from eyetest.probes.images import ImageFacts, image_facts, in_parallel, overlaid_likeness, promising_pairs
from eyetest.probes.subject import Subject, has_its_images, no_images, probe
from eyetest.records import PLACEHOLDER, Finding, ImageRef, Item
from eyetest.text import folded

Key = tuple[object, ...]
_ROUND = 64
_MOST_NAMED = 3


@probe("duplicate-items", "Is anything asked twice?")
def _duplicate_items(subject: Subject) -> Iterator[Finding]:
    """Exact repeats, repeats with another gold, and repeats across splits or benchmarks."""
    items = [item for item in subject.items if has_its_images(item)]  # else words alone do not decide
    if not items:
        yield no_images(_duplicate_items.name, "repeated questions were not looked for, since images may differ")
    elif left := len(subject.items) - len(items):
        title = f"{counted(left, 'item')} not compared with others, for lack of images"
        yield _finding("not-compared", severity="note", title=title, numbers={"items": left},
                       detail="Two questions of the same words may show different images.")  # fmt: skip
    same, equal = _grouped(items, question_key), _grouped(items, item_key)
    other_golds = [group for group in same if len({item_key(item) for item in group}) > 1]
    yield from _on_groups("contradicting-golds", other_golds, lambda item, group: f"gold: {_gold(item)}",
                   f"{counted(len(other_golds), 'question')} asked more than once, with different golds",
                   detail="At most one of the golds can be right.")  # fmt: skip
    extra = counted(sum(len(group) - 1 for group in equal), "repeat")
    yield from _on_groups("duplicate-items", equal,
                   lambda item, group: f"repeats {group[0].id}" if item is not group[0] else "",
                   f"{extra} of another item, in {counted(len(equal), 'group')}", verdict="drop",
                   detail="Same question, options, images and gold. `--fix` keeps the first.")  # fmt: skip
    parted = [group for group in same if len({str(item.tags.get("split")) for item in group}) > 1]
    yield from _on_groups("questions-across-splits", parted,
                   lambda item, group: f"in split {item.tags.get('split')}, also as {_others(item, group)}",
                   f"{counted(len(parted), 'question')} in more than one split",
                   detail="A model may have been tuned on them.")  # fmt: skip
    if subject.against:
        yield from _in_other(items, subject.against)


def question_key(item: Item, one_of: Mapping[str, str] = MappingProxyType({})) -> Key:
    """Equal for items with the same question, images and set of options; ``one_of`` maps copies to one."""
    options = tuple(sorted(_comparable_text(choice.text) for choice in item.choices))
    images = tuple(one_of.get(image.sha256, image.sha256) for image in item.images)
    return (_comparable_text(item.question), _comparable_text(item.hint), options, images, item.history)


def _comparable_text(text: str) -> str:
    """A text in comparable spelling: ``<image1>`` and ``<image 1>`` are the same."""
    return folded(PLACEHOLDER.sub(r"<image \1>", text) if "<" in text else text)


def item_key(item: Item, question: Key = ()) -> Key:
    """Key that is equal for equal items; ``question``: the key of its question, where that is known."""
    gold = tuple(sorted(_comparable_text(choice.text) for choice in item.choices if choice.correct))
    return (
        *(question or question_key(item)),
        gold,
        tuple(sorted(folded(reference) for reference in item.references)),
    )


def _by_key(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> list[list[Item]]:
    """Items with a key in common, except intended variations of one question."""
    return [group for group in _by_key(items, key).values() if len({item.group or item.id for item in group}) > 1]


def repeats_on_copies(items: Iterable[Item], copies: Iterable[Sequence[str]]) -> Iterator[Finding]:
    """The same question, with its options in any order, on different files that show the same image."""
    one_of = {image: group[0] for group in copies for image in group}
    known = [item for item in items if has_its_images(item) and any(image.sha256 in one_of for image in item.images)]
    groups = _grouped(known, lambda item: question_key(item, one_of))
    groups = [group for group in groups if len({question_key(item) for item in group}) > 1]
    yield from _on_groups("repeats-on-copied-images", groups,
                   lambda item, group: f"asks what {_others(item, group)} asks; gold: {_gold(item)}",
                   f"{counted(len(groups), 'question')} asked again on a copy of the image", probe="duplicate-images",
                   detail="Same words and options, perhaps in another order; the images show the same in other "
                   "bytes. `--fix` leaves them, since that images show the same is a judgement.")  # fmt: skip


def _on_groups(
    kind: str, groups: list[list[Item]], describe: Callable[[Item, list[Item]], str], title: str, **rest: Any
) -> Iterator[Finding]:
    """A finding on groups of items, if there are any; ``describe`` gives the evidence of an item, "" for none."""
    if groups:
        evidence = {item.id: text for group in groups for item in group if (text := describe(item, group))}
        yield _finding(kind, evidence, groups, title=title, **{"severity": "bad", "verdict": "review"} | rest)


def _others(item: Item, group: list[Item]) -> str:
    return listed(other.id for other in group if other is not item)


def _in_other(items: Sequence[Item], other: Subject) -> Iterator[Finding]:
    known = _by_key(other.items, question_key)
    evidence = {
        item.id: f"is {listed(o.id for o in known[key])} of {other.benchmark.manifest.name}"
        for item in items
        if (key := question_key(item)) in known
    }
    if evidence:
        title = f"{counted(len(evidence), 'question')} also in {other.benchmark.manifest.name}"
        yield _finding("questions-also-in-other", evidence, severity="bad", title=title, numbers={},
                       detail="Same question, options and images.")  # fmt: skip


def _gold(item: Item) -> str:
    return "; ".join(choice.text for choice in item.choices if choice.correct) or "; ".join(item.references)


def _finding(
    kind: str, evidence: Mapping[str, str] = MappingProxyType({}), groups: Sequence[Sequence[Item]] = (), **rest: Any
) -> Finding:
    fields = {
        "probe": _duplicate_items.name,
        "items": tuple(evidence),
        "groups": tuple(tuple(item.id for item in group) for group in groups),
        "evidence": dict(evidence),
        "numbers": {"groups": len(groups), "items": len(evidence)},
    }
    return Finding(kind=kind, **fields | rest)


@probe("duplicate-images", "Do items show the same image, or a copy of it?")
def duplicate_images(subject: Subject) -> Iterator[Finding]:
    """Identical and near-identical images, within the benchmark, across its splits and with another one."""
    gallery = _Gallery(subject)
    if not gallery.own:
        yield no_images(duplicate_images.name, "copies of images were not looked for")
        return
    copies = find_copies(gallery)
    yield from _identical(gallery)
    yield _near_identical(gallery, copies)
    yield from repeats_on_copies(subject.items, copies.groups)
    yield from _images_across_splits(gallery, copies)
    if subject.against:
        yield _images_in_other(gallery, copies, subject.against.benchmark.manifest.name)


class _Gallery:
    """The images of a benchmark and of the one it is compared with, and the items that show them."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.own = _shown_by(subject)
        self.other = _shown_by(subject.against) if subject.against else {}
        self.order = {item.id: number for number, item in enumerate(subject.items)}
        self.splits = {item.id: str(item.tags["split"]) for item in subject.items if item.tags.get("split")}
        self._stored: dict[str, tuple[ImageStore, ImageRef]] = {}
        for side in self._sides():
            self._stored |= {sha: (side.benchmark.images, ref) for sha, ref in distinct_images(side.items).items()}

    @cached_property
    def facts(self) -> dict[str, ImageFacts]:
        """The facts of every image, all of which are opened."""
        facts: dict[str, ImageFacts] = {}
        for side in self._sides():
            facts |= image_facts(side)
        return facts

    def _sides(self) -> list[Subject]:
        return [side for side in (self.subject.against, self.subject) if side]

    def likeness(self, one: str, other: str) -> float | None:
        """Similarity of two images where they differ most; none where their thumbnails or files rule it out."""
        return overlaid_likeness(self._bytes(one), self._bytes(other))

    def _bytes(self, sha256: str) -> Callable[[], bytes]:
        store, image = self._stored[sha256]
        return lambda: store.read(image)

    def items(self, images: Iterable[str]) -> tuple[str, ...]:
        """The benchmark's own items that show any of these images, in order."""
        ids = {item for image in images for item in self.own.get(image, ())}
        return tuple(sorted(ids, key=self.order.__getitem__))

    def finding(
        self, kind: str, groups: Sequence[Sequence[str]], evidence: dict[str, str], title: str, **rest: Any
    ) -> Finding:
        """A finding on items that show the same, suspect by default; ``none`` is its title without groups."""
        none = rest.pop("none", "")
        fields = {"severity": "suspect" if groups else "sound", "numbers": {"groups": len(groups)}} | rest
        return Finding(
            probe=duplicate_images.name,
            kind=kind,
            title=f"{len(groups):,} images {title} ({len(evidence):,} items)" if groups else none,
            items=tuple(sorted(evidence, key=self.order.__getitem__)),
            groups=tuple(map(tuple, groups)),
            evidence=evidence,
            **fields,
        )


def _shown_by(subject: Subject) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = {}
    for item in subject.items:
        for sha256 in dict.fromkeys(image.sha256 for image in item.images):
            shown.setdefault(sha256, []).append(item.id)
    return shown


class Copies(NamedTuple):
    """Groups of images that show the same, and how they were found."""

    groups: list[list[str]]  # every image that has a copy in other bytes, with its copies
    scores: dict[frozenset[str], float]
    compared: int
    left_out: int  # promising pairs that were not compared, because there were too many

    @property
    def limit(self) -> str:
        """How many pairs the limit left out, for the end of a detail; empty where it left out none."""
        words = " {:,} more pairs looked alike and were not compared, which images.most_pairs allows for; the {:,} "
        return (words + "likeliest were.").format(self.left_out, self.compared) if self.left_out else ""


def find_copies(gallery: _Gallery) -> Copies:
    """All groups of images that differ in bytes but show the same."""
    limits = gallery.subject.thresholds.images
    comparable = {sha256: facts for sha256, facts in gallery.facts.items() if facts.comparable}
    sets = DisjointSets[str]()
    scores: dict[frozenset[str], float] = {}
    by_pixels: dict[bytes, str] = {}
    for sha256, facts in comparable.items():
        twin = by_pixels.setdefault(facts.pixels, sha256)
        if twin != sha256:
            sets.join(twin, sha256)
            scores[frozenset((twin, sha256))] = 1.0
    names = list(by_pixels.values())
    promising = promising_pairs(
        [thumbnail for name in names if (thumbnail := comparable[name].thumbnail) is not None],
        limits.neighbours,
        limits.overlay_rest,
        lambda share: gallery.subject.progress("finding similar images", share),
    )
    compared = 0
    chosen = promising[: limits.most_pairs].tolist()
    for start in range(0, len(chosen), _ROUND):
        pairs = [(names[i], names[j]) for i, j in chosen[start : start + _ROUND]]
        pairs = [pair for pair in pairs if sets.root(pair[0]) != sets.root(pair[1])]
        likenesses = in_parallel(lambda pair: gallery.likeness(*pair), pairs)
        compared += len(pairs)
        for pair, score in zip(pairs, likenesses, strict=True):
            if score is not None and score >= limits.alike:
                sets.join(*pair)
                scores[frozenset(pair)] = score
        gallery.subject.progress("comparing images", (start + len(pairs)) / len(chosen))
    return Copies(sets.groups(comparable), scores, compared, len(promising) - len(chosen))


def _identical(gallery: _Gallery) -> Iterator[Finding]:
    groups = [tuple(items) for items in gallery.own.values() if len(items) > 1]
    if groups:
        evidence = {
            item: f"same image as {_named(group, item, len(group) - 1)}" for group in groups for item in group
        }
        detail = (
            "Equal bytes. Several questions on one image are normal; they are not independent of each other, so "
            "resample images rather than items, and never let one image lie on both sides of a split."
        )
        numbers = {"images": len(gallery.own), "groups": len(groups), "items": len(evidence)}
        what = {"severity": "note", "verdict": "keep", "detail": detail, "numbers": numbers}
        yield gallery.finding("identical-images", groups, evidence, "are shown by more than one item", **what)


def _near_identical(gallery: _Gallery, copies: Copies) -> Finding:
    copied = [[image for image in group if image in gallery.own] for group in copies.groups]
    copied = [group for group in copied if len(group) > 1 and len(gallery.items(group)) > 1]
    groups = [gallery.items(group) for group in copied]
    best: dict[str, float] = {}
    for pair, score in copies.scores.items():
        best |= {image: max(score, best.get(image, 0.0)) for image in pair}
    evidence: dict[str, str] = {}
    for group, items in zip(copied, groups, strict=True):
        for image in group:
            agreement = f"worst spot agrees to {best.get(image, 1.0):.2f}"
            for item in gallery.own[image]:
                evidence[item] = f"a copy of the image of {_named(items, item, len(items) - 1)}; {agreement}"
    detail = (
        "Images that look alike were laid over each other and compared in small windows; only pairs that agree "
        "everywhere are listed. A change smaller than a letter can be missed."
    )
    none = f"None of the {len(gallery.own):,} images is a copy of another"
    numbers = {"groups": len(groups), "pairs_compared": copies.compared, "pairs_left_out": copies.left_out}
    what = {"none": none, "detail": detail + copies.limit, "numbers": numbers}
    return gallery.finding(
        "near-identical-images", groups, evidence, "come back re-encoded, resized or cropped", **what
    )


def _families(gallery: _Gallery, copies: Copies) -> list[list[str]]:
    grouped = {image for group in copies.groups for image in group}
    return [*copies.groups, *([image] for image in gallery.own if image not in grouped)]


def _images_across_splits(gallery: _Gallery, copies: Copies) -> Iterator[Finding]:
    if len(set(gallery.splits.values())) < 2:
        return
    groups: list[tuple[str, ...]] = []
    evidence: dict[str, str] = {}
    for family in _families(gallery, copies):
        group = tuple(item for item in gallery.items(family) if item in gallery.splits)
        splits = {gallery.splits[item] for item in group}
        if len(splits) > 1:
            groups.append(group)
            for split in splits:
                others = [item for item in group if gallery.splits[item] != split]
                text = f"{split}; also in {gallery.splits[others[0]]}: {_named(others, '', len(others))}"
                evidence |= {item: text for item in group if gallery.splits[item] == split}
    detail = (
        "By the tag `split`; equal and near-identical images. A model that is trained or tuned on one "
        "split has seen the images of the other."
    )
    what = {"none": "No image lies in more than one split", "detail": detail + copies.limit}
    yield gallery.finding("images-across-splits", groups, evidence, "lie in more than one split", **what)


def _images_in_other(gallery: _Gallery, copies: Copies, name: str) -> Finding:
    groups: list[tuple[str, ...]] = []
    evidence: dict[str, str] = {}
    for family in _families(gallery, copies):
        theirs = list(dict.fromkeys(item for image in family for item in gallery.other.get(image, ())))
        ours = gallery.items(family)
        if ours and theirs:
            groups.append(ours)
            evidence |= {item: f"in {name}: {_named(theirs, '', len(theirs))}" for item in ours}
    detail = (
        "Equal and near-identical images. Results on the two are not independent, and what was trained on one has "
        "seen part of the other."
    )
    what = {
        "none": f"No image is in {name} too",
        "severity": "bad" if groups else "sound",
        "detail": detail + copies.limit,
        "numbers": {"groups": len(groups), "other": name},
    }
    return gallery.finding("images-also-in-other", groups, evidence, f"are in {name} too", **what)


def _named(items: Iterable[str], without: str, count: int) -> str:
    """The first of some items by name, without one; ``count`` is their number without it."""
    few = list(islice((item for item in items if item != without), _MOST_NAMED))
    return ", ".join(few) + (f" and {count - len(few):,} more" if count > len(few) else "")


PROBE = (_duplicate_items, duplicate_images)
