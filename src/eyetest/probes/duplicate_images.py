"""Which items show the same picture: byte for byte, or re-encoded, resized or slightly cropped.

Charts from one template look alike, so likeness at a glance proves nothing; it only says where to look
(`lookalikes`). Promising pairs are then opened, aligned, and compared in small windows, in colour; the worst windows
decide (`pictures.likeness`). Look-alike charts agree on axes, grid and background but never everywhere: a title, a
label or the end of a bar gives them away, and one such place is enough. A copy has none.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from PIL import Image as Pillow

from eyetest.benchmarks import ImageStore
from eyetest.measures.stats.sets import DisjointSets
from eyetest.probes.duplicate_items import repeats_on_copies
from eyetest.probes.lookalikes import promising_pairs
from eyetest.probes.pictures import (
    CLOSE_SIDE,
    LOOK_SIDE,
    UNREADABLE,
    PictureFacts,
    distinct_pictures,
    grey_thumbnail,
    in_parallel,
    lay_over,
    likeness,
    open_small,
    picture_facts,
)
from eyetest.probes.subject import Subject, no_pictures
from eyetest.records import Finding, ImageRef

_NAME = "duplicate-images"
_ROUND = 64
_MOST_NAMED = 3


class DuplicateImages:
    """Looks for pictures that a benchmark shows more than once, or shares with another."""

    name = _NAME
    summary = "Do items show the same picture, or a copy of it?"

    def run(self, subject: Subject) -> Iterable[Finding]:
        """Identical and near-identical pictures, within the benchmark, across its splits and with another one."""
        gallery = _Gallery(subject)
        if not gallery.own:
            yield no_pictures(_NAME, "copies of pictures were not looked for")
            return
        copies = find_copies(gallery)
        yield from _identical(gallery)
        yield _near_identical(gallery, copies)
        yield from repeats_on_copies(subject.items, copies.groups)
        yield from _across_splits(gallery, copies)
        if subject.against:
            yield _in_other(gallery, copies, subject.against.benchmark.manifest.name)


PROBE = DuplicateImages()


def identical_pictures(subject: Subject) -> Iterator[Finding]:
    """Only the pictures of equal bytes, for which no picture has to be opened."""
    return _identical(_Gallery(subject))


class _Gallery:
    """The pictures of a benchmark and of the one it is held against, and who shows them."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.own = _shown_by(subject)
        self.other = _shown_by(subject.against) if subject.against else {}
        self.order = {item.id: number for number, item in enumerate(subject.items)}
        self.splits = {item.id: str(item.tags["split"]) for item in subject.items if item.tags.get("split")}
        self._stored: dict[str, tuple[ImageStore, ImageRef]] = {}
        for side in self._sides():
            self._stored |= {sha: (side.benchmark.images, ref) for sha, ref in distinct_pictures(side).items()}

    @cached_property
    def facts(self) -> dict[str, PictureFacts]:
        """What every picture looks like; all of them are opened for it."""
        facts: dict[str, PictureFacts] = {}
        for side in self._sides():
            facts |= picture_facts(side)
        return facts

    def _sides(self) -> list[Subject]:
        return [side for side in (self.subject.against, self.subject) if side]

    def likeness(self, one: str, other: str) -> float | None:
        """How alike two pictures are where they are least alike; none where their thumbnails or files rule it out."""
        try:
            placement = lay_over(*(grey_thumbnail(self._open(picture, LOOK_SIDE)) for picture in (one, other)))
            if placement is None:
                return None
            return likeness(self._open(one, CLOSE_SIDE), self._open(other, CLOSE_SIDE), placement)
        except UNREADABLE:
            return None

    def _open(self, picture: str, side: int) -> Pillow.Image:
        store, image = self._stored[picture]
        return open_small(store.read(image), side)

    def items(self, pictures: Iterable[str]) -> tuple[str, ...]:
        """The benchmark's own items that show any of these pictures, in order."""
        ids = {item for picture in pictures for item in self.own.get(picture, ())}
        return tuple(sorted(ids, key=self.order.__getitem__))


def _shown_by(subject: Subject) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = {}
    for item in subject.items:
        for sha256 in dict.fromkeys(image.sha256 for image in item.images):
            shown.setdefault(sha256, []).append(item.id)
    return shown


class Copies(NamedTuple):
    """Groups of pictures that are one picture, and how they were found."""

    groups: list[list[str]]
    """Every picture that has a copy in other bytes, with its copies."""
    scores: dict[frozenset[str], float]
    compared: int
    left_out: int
    """Pairs that looked promising and were not compared, for there were too many."""


def find_copies(gallery: _Gallery) -> Copies:
    """All groups of pictures that differ in bytes but show the same."""
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
        lambda share: gallery.subject.progress("finding pictures that look alike", share),
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
        gallery.subject.progress("comparing pictures", (start + len(pairs)) / len(chosen))
    return Copies(sets.groups(comparable), scores, compared, len(promising) - len(chosen))


class _Seen(NamedTuple):
    """Items that show the same pictures, and how a finding says so; ``none`` is its title where there are no such."""

    kind: str
    groups: Sequence[Sequence[str]]
    evidence: dict[str, str]
    what: str
    none: str = ""

    def finding(self, gallery: _Gallery, **rest: Any) -> Finding:
        """The finding: a suspicion with figures, unless ``rest`` says otherwise."""
        items = tuple(sorted(self.evidence, key=gallery.order.__getitem__))
        title = f"{len(self.groups):,} pictures {self.what} ({len(items):,} items)" if self.groups else self.none
        fields = {"severity": "suspect" if self.groups else "sound", "numbers": {"groups": len(self.groups)}} | rest
        groups = tuple(map(tuple, self.groups))
        return Finding(
            probe=_NAME, kind=self.kind, title=title, items=items, groups=groups, evidence=self.evidence, **fields
        )


def _identical(gallery: _Gallery) -> Iterator[Finding]:
    groups = [tuple(items) for items in gallery.own.values() if len(items) > 1]
    if not groups:
        return
    evidence = {item: f"same picture as {_named(group, item, len(group) - 1)}" for group in groups for item in group}
    numbers = {"pictures": len(gallery.own), "groups": len(groups), "items": len(evidence)}
    detail = (
        "Equal bytes. Several questions on one picture are normal; they are not independent of each other, so "
        "resample pictures rather than items, and never let one picture lie on both sides of a split."
    )
    seen = _Seen("identical-images", groups, evidence, "are shown by more than one item")
    yield seen.finding(gallery, severity="note", verdict="keep", detail=detail, numbers=numbers)


def _near_identical(gallery: _Gallery, copies: Copies) -> Finding:
    copied = [[picture for picture in group if picture in gallery.own] for group in copies.groups]
    copied = [group for group in copied if len(group) > 1 and len(gallery.items(group)) > 1]
    groups = [gallery.items(group) for group in copied]
    best: dict[str, float] = {}
    for pair, score in copies.scores.items():
        best |= {picture: max(score, best.get(picture, 0.0)) for picture in pair}
    evidence: dict[str, str] = {}
    for group, items in zip(copied, groups, strict=True):
        shown = Counter(item for picture in group for item in gallery.own[picture])
        for picture in group:
            alone = {item for item in gallery.own[picture] if shown[item] == 1}
            first = list(islice((item for item in items if item not in alone), _MOST_NAMED + 1))
            for item in gallery.own[picture]:
                if others := len(items) - len(alone) - (item not in alone):
                    said = f"worst spot agrees to {best.get(picture, 1.0):.2f}"
                    evidence[item] = f"a copy of the picture of {_named(first, item, others)}; {said}"
    detail = (
        "Pictures that look alike were laid over each other and compared in small windows; only pairs that agree "
        "everywhere are listed. A change smaller than a letter can be missed."
    )
    none = f"None of the {len(gallery.own):,} pictures is a copy of another"
    numbers = {"groups": len(groups), "pairs_compared": copies.compared, "pairs_left_out": copies.left_out}
    seen = _Seen("near-identical-images", groups, evidence, "come back re-encoded, resized or cropped", none)
    return seen.finding(gallery, detail=detail + _told_cap(copies), numbers=numbers)


def _told_cap(copies: Copies) -> str:
    if not copies.left_out:
        return ""
    return (
        f" {copies.left_out:,} more pairs looked alike and were not compared, which images.most_pairs allows "
        f"for; the {copies.compared:,} likeliest were."
    )


def _families(gallery: _Gallery, copies: Copies) -> list[list[str]]:
    """Every picture with its copies, or alone."""
    grouped = {picture for group in copies.groups for picture in group}
    return [*copies.groups, *([picture] for picture in gallery.own if picture not in grouped)]


def _across_splits(gallery: _Gallery, copies: Copies) -> Iterator[Finding]:
    if len(set(gallery.splits.values())) < 2:
        return
    groups: list[tuple[str, ...]] = []
    evidence: dict[str, str] = {}
    for family in _families(gallery, copies):
        group = tuple(item for item in gallery.items(family) if item in gallery.splits)
        if len({gallery.splits[item] for item in group}) < 2:
            continue
        groups.append(group)
        told: dict[str, str] = {}
        for split in {gallery.splits[item] for item in group}:
            partners = [item for item in group if gallery.splits[item] != split]
            told[split] = f"{split}; also in {gallery.splits[partners[0]]}: {_named(partners, '', len(partners))}"
        evidence |= {item: told[gallery.splits[item]] for item in group}
    detail = (
        "By the tag `split`; equal and near-identical pictures. Whoever trains or tunes on one split has seen the "
        "pictures of the other."
    )
    none = "No picture lies in more than one split"
    seen = _Seen("images-across-splits", groups, evidence, "lie in more than one split", none)
    yield seen.finding(gallery, detail=detail + _told_cap(copies))


def _in_other(gallery: _Gallery, copies: Copies, name: str) -> Finding:
    groups: list[tuple[str, ...]] = []
    evidence: dict[str, str] = {}
    for family in _families(gallery, copies):
        theirs = list(dict.fromkeys(item for picture in family for item in gallery.other.get(picture, ())))
        ours = gallery.items(family)
        if ours and theirs:
            groups.append(ours)
            evidence |= {item: f"in {name}: {_named(theirs, '', len(theirs))}" for item in ours}
    detail = (
        "Equal and near-identical pictures. Results on the two are not independent, and what was trained on one has "
        "seen part of the other."
    )
    seen = _Seen("images-also-in-other", groups, evidence, f"are in {name} too", f"No picture is in {name} too")
    numbers = {"groups": len(groups), "other": name}
    severity = "bad" if groups else "sound"
    return seen.finding(gallery, severity=severity, detail=detail + _told_cap(copies), numbers=numbers)


def _named(items: Iterable[str], but: str, count: int) -> str:
    """The first of some items by name, the one spoken of left out; ``count`` is how many they are without it."""
    few = list(islice((item for item in items if item != but), _MOST_NAMED))
    return ", ".join(few) + (f" and {count - len(few):,} more" if count > len(few) else "")
