"""Which items show the same picture: byte for byte, or re-encoded, resized or slightly cropped.

Charts from one template look alike, so likeness at a glance proves nothing; it only says where to look. Three steps,
each dearer and stricter than the one before:

1. *Neighbours.* Blurred thumbnails are correlated, all with all, and each picture keeps those most like it. The blur
   forgives the shift that a crop makes; a gradient hash does not (on ChartQA, with up to 5 % cropped a side, it put
   another chart before the right one in a quarter of all cases, blurred thumbnails in one of twenty-five, and the
   right one was always among the first six).
2. *Overlay of thumbnails.* To first order, stretching, shifting and brightening a thumbnail moves it within a plane
   of six directions. What of the other thumbnail lies outside that plane cannot be explained by a crop; pairs with
   little left over go on.
3. *Overlay of pictures* (`pictures.likeness`). Both are opened, aligned, and compared in small windows, in colour;
   the worst windows decide. Look-alike charts agree on axes, grid and background but never everywhere: a title, a
   label or the end of a bar gives them away, and one such place is enough. A copy has none.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow

from eyetest.benchmarks import ImageStore
from eyetest.measures.stats.intervals import DisjointSets
from eyetest.probes.duplicate_items import repeats_on_copies
from eyetest.probes.pictures import (
    CLOSE_SIDE,
    UNREADABLE,
    Floats,
    PictureFacts,
    blurred,
    distinct_pictures,
    in_parallel,
    lay_over,
    likeness,
    open_small,
    picture_facts,
)
from eyetest.probes.subject import Subject, no_pictures
from eyetest.records import Finding, ImageRef, Severity

_NAME = "duplicate-images"
_BLOCK = 256
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
        self._places: dict[str, tuple[ImageStore, ImageRef]] = {}
        for side in self._sides():
            self._places |= {sha: (side.benchmark.images, ref) for sha, ref in distinct_pictures(side).items()}

    @cached_property
    def facts(self) -> dict[str, PictureFacts]:
        """What every picture looks like; all of them are opened for it."""
        found: dict[str, PictureFacts] = {}
        for side in self._sides():
            found |= picture_facts(side)
        return found

    def _sides(self) -> list[Subject]:
        return [side for side in (self.subject.against, self.subject) if side]

    def likeness(self, one: str, other: str) -> float | None:
        """How alike two pictures are where they are least alike; none where their thumbnails or files rule it out."""
        place = lay_over(_thumbnail(self.facts[one]), _thumbnail(self.facts[other]))
        if place is None:
            return None
        try:
            return likeness(self._open(one), self._open(other), place)
        except UNREADABLE:
            return None

    def _open(self, picture: str) -> Pillow.Image:
        store, image = self._places[picture]
        return open_small(store.read(image), CLOSE_SIDE)

    def items(self, pictures: Iterable[str]) -> tuple[str, ...]:
        """The benchmark's own items that show any of these pictures, in order."""
        found = {item for picture in pictures for item in self.own.get(picture, ())}
        return tuple(sorted(found, key=self.order.__getitem__))


def _shown_by(subject: Subject) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in subject.items:
        for sha256 in dict.fromkeys(image.sha256 for image in item.images):
            found.setdefault(sha256, []).append(item.id)
    return found


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
    promising = _promising(np.stack([_thumbnail(comparable[name]) for name in names]), gallery) if names else []
    compared = 0
    chosen = promising[: limits.most_pairs]
    for start in range(0, len(chosen), _ROUND):
        pairs = [(names[i], names[j]) for i, j in chosen[start : start + _ROUND]]
        pairs = [pair for pair in pairs if sets.root(pair[0]) != sets.root(pair[1])]
        found = in_parallel(lambda pair: gallery.likeness(*pair), pairs)
        compared += len(pairs)
        for pair, score in zip(pairs, found, strict=True):
            if score is not None and score >= limits.alike:
                sets.join(*pair)
                scores[frozenset(pair)] = score
        gallery.subject.progress("comparing pictures", (start + len(pairs)) / len(chosen))
    return Copies(sets.groups(comparable), scores, compared, len(promising) - len(chosen))


def _thumbnail(facts: PictureFacts) -> npt.NDArray[np.uint8]:
    assert facts.thumbnail is not None
    return facts.thumbnail


def _promising(thumbnails: npt.NDArray[np.uint8], gallery: _Gallery) -> list[tuple[int, int]]:
    """Pairs of pictures that may be copies, the likeliest first."""
    thumbnails = thumbnails.reshape(len(thumbnails), 32, 2, 32, 2).mean(axis=(2, 4)).astype(np.uint8)
    limits = gallery.subject.thresholds.images
    sketches = np.concatenate([_sketches(thumbnails[at : at + _BLOCK]) for at in range(0, len(thumbnails), _BLOCK)])
    rests: dict[tuple[int, int], float] = {}
    for start in range(0, len(thumbnails), _BLOCK):
        near = _nearest(sketches, start, limits.neighbours)
        rest = _unexplained(thumbnails, start, near)
        for row, column in np.argwhere(rest <= limits.overlay_rest):
            one, other = start + int(row), int(near[row, column])
            if one != other:
                pair = (min(one, other), max(one, other))
                rests[pair] = min(rests.get(pair, 1.0), float(rest[row, column]))
        gallery.subject.progress("finding pictures that look alike", start / len(thumbnails))
    return sorted(rests, key=lambda pair: (rests[pair], pair))


def _sketches(thumbnails: npt.NDArray[np.uint8]) -> Floats:
    """Blurred thumbnails, halved, each a row of mean 0 and length 1."""
    soft = blurred(thumbnails.astype(np.float32), 1.0)
    count, side = soft.shape[:2]
    rows = soft.reshape(count, side // 2, 2, side // 2, 2).mean(axis=(2, 4)).reshape(count, -1)
    rows -= rows.mean(axis=1, keepdims=True)
    return np.asarray(rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-6), np.float32)


def _nearest(sketches: Floats, start: int, count: int) -> npt.NDArray[np.intp]:
    """For each picture of a block, the pictures most like it, itself perhaps among them."""
    alike = sketches[start : start + _BLOCK] @ sketches.T
    count = min(count + 1, len(sketches))
    return np.argpartition(-alike, count - 1, axis=1)[:, :count]


def _unexplained(thumbnails: npt.NDArray[np.uint8], start: int, near: npt.NDArray[np.intp]) -> Floats:
    """Share of each neighbour's thumbnail that no stretch, shift or change of light of the block's own explains."""
    soft = blurred(thumbnails[start : start + _BLOCK].astype(np.float32), 1.5)
    down, across = np.gradient(soft, axis=(1, 2))
    grid = np.linspace(-1, 1, soft.shape[1], dtype=np.float32)
    ways = np.stack([np.ones_like(soft), soft, across, across * grid, down, down * grid[:, None]], axis=3)
    plane = np.linalg.qr(_inside(ways).reshape(len(soft), -1, 6))[0]
    used, place = np.unique(near, return_inverse=True)
    others = _inside(blurred(thumbnails[used].astype(np.float32), 1.5))
    others = others.reshape(len(used), -1)
    seen = others - others.mean(axis=1, keepdims=True)
    energy = (seen * seen).sum(axis=1)
    place = place.reshape(near.shape)
    rest = [energy[row] - ((seen[row] @ ways) ** 2).sum(axis=1) for row, ways in zip(place, plane, strict=True)]
    return np.asarray(np.maximum(np.stack(rest), 0) / (energy[place] + 1), np.float32)


def _inside(fields: Floats) -> Floats:
    """Without the outermost pixels, which a crop brings in from nowhere."""
    return fields[:, 2:-2, 2:-2]


def _identical(gallery: _Gallery) -> Iterator[Finding]:
    groups = [tuple(items) for items in gallery.own.values() if len(items) > 1]
    if not groups:
        return
    items = _in_order(gallery, groups)
    yield Finding(
        probe=_NAME,
        kind="identical-images",
        severity="note",
        title=f"{len(groups):,} pictures are shown by more than one item ({len(items):,} items)",
        detail="Equal bytes. Several questions on one picture are normal; they are not independent of each other, so "
        "resample pictures rather than items, and never let one picture lie on both sides of a split.",
        items=items,
        groups=tuple(groups),
        evidence={item: f"same picture as {_named(group, item)}" for group in groups for item in group},
        verdict="keep",
        numbers={"pictures": len(gallery.own), "groups": len(groups), "items": len(items)},
    )


def _near_identical(gallery: _Gallery, copies: Copies) -> Finding:
    found = [[picture for picture in group if picture in gallery.own] for group in copies.groups]
    found = [group for group in found if len(group) > 1 and len(gallery.items(group)) > 1]
    groups = [gallery.items(group) for group in found]
    evidence: dict[str, str] = {}
    for group in found:
        for picture in group:
            partners = gallery.items(other for other in group if other != picture)
            best = max((score for pair, score in copies.scores.items() if picture in pair), default=1.0)
            for item in gallery.own[picture]:
                if named := _named(partners, item):
                    evidence[item] = f"a copy of the picture of {named}; worst spot agrees to {best:.2f}"
    items = tuple(item for item in _in_order(gallery, groups) if item in evidence)
    title = f"{len(groups):,} pictures come back re-encoded, resized or cropped ({len(items):,} items)"
    return Finding(
        probe=_NAME,
        kind="near-identical-images",
        severity="suspect" if groups else "sound",
        title=title if groups else f"None of the {len(gallery.own):,} pictures is a copy of another",
        detail="Pictures that look alike were laid over each other and compared in small windows; only pairs that "
        "agree everywhere are listed. A change smaller than a letter can be missed." + _told_cap(copies),
        items=items,
        groups=tuple(groups),
        evidence=evidence,
        numbers={"groups": len(groups), "pairs_compared": copies.compared, "pairs_left_out": copies.left_out},
    )


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
        for item in group:
            partners = [other for other in group if gallery.splits[other] != gallery.splits[item]]
            evidence[item] = (
                f"{gallery.splits[item]}; also in {gallery.splits[partners[0]]}: {_named(partners, item)}"
            )
    items = _in_order(gallery, groups)
    yield Finding(
        probe=_NAME,
        kind="images-across-splits",
        severity="suspect" if groups else "sound",
        title=f"{len(groups):,} pictures lie in more than one split ({len(items):,} items)"
        if groups
        else "No picture lies in more than one split",
        detail="By the tag `split`; equal and near-identical pictures. Whoever trains or tunes on one split has seen "
        "the pictures of the other." + _told_cap(copies),
        items=items,
        groups=tuple(groups),
        evidence=evidence,
        numbers={"groups": len(groups)},
    )


def _in_other(gallery: _Gallery, copies: Copies, name: str) -> Finding:
    groups: list[tuple[str, ...]] = []
    evidence: dict[str, str] = {}
    for family in _families(gallery, copies):
        theirs = list(dict.fromkeys(item for picture in family for item in gallery.other.get(picture, ())))
        ours = gallery.items(family)
        if ours and theirs:
            groups.append(ours)
            evidence |= {item: f"in {name}: {_named(theirs, '')}" for item in ours}
    items = _in_order(gallery, groups)
    severity: Severity = "bad" if groups else "sound"
    return Finding(
        probe=_NAME,
        kind="images-also-in-other",
        severity=severity,
        title=f"{len(groups):,} pictures are in {name} too ({len(items):,} items)"
        if groups
        else f"No picture is in {name} too",
        detail="Equal and near-identical pictures. Results on the two are not independent, and what was trained on "
        "one has seen part of the other." + _told_cap(copies),
        items=items,
        groups=tuple(groups),
        evidence=evidence,
        numbers={"groups": len(groups), "other": name},
    )


def _in_order(gallery: _Gallery, groups: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(sorted({item for group in groups for item in group}, key=gallery.order.__getitem__))


def _named(items: Iterable[str], but: str) -> str:
    """A few items by name, the one spoken of left out."""
    others = [item for item in items if item != but]
    more = f" and {len(others) - _MOST_NAMED:,} more" if len(others) > _MOST_NAMED else ""
    return ", ".join(others[:_MOST_NAMED]) + more
