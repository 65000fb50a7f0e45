"""Repeated questions and images, within a benchmark, across splits or in another; similar thumbnails only pick the
pairs of images that are aligned and compared (`images.likeness`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

from eyetest.benchmarks.folder import distinct_images
from eyetest.errors import counted, listed
from eyetest.measures.stats.sets import DisjointSets
from eyetest.probes.images import ALIKE, MOST_PAIRS, image_facts, in_parallel, overlaid_likeness, promising_pairs
from eyetest.probes.subject import Subject, has_its_images, no_images, probe
from eyetest.records import PLACEHOLDER, Finding, Item
from eyetest.text import folded

Key = tuple[object, ...]
_ROUND = 64


@probe("duplicate-items", "Is anything asked twice?")
def _duplicate_items(subject: Subject) -> Iterator[Finding]:
    """Exact repeats, and repeats with another gold."""
    items = [item for item in subject.items if has_its_images(item)]  # else words alone do not decide
    if not items:
        yield no_images(_duplicate_items.name, "repeated questions were not looked for, since images may differ")
    elif left := len(subject.items) - len(items):
        title = f"{counted(left, 'item')} not compared with others, for lack of {subject.medium.many}"
        yield Finding(
            probe=_duplicate_items.name, kind="not-compared", severity="note", title=title, numbers={"items": left},
            detail=f"Two questions of the same words may show different {subject.medium.many}.",
        )  # fmt: skip
    same, equal = _grouped(items, question_key), _grouped(items, item_key)
    other_golds = [group for group in same if len({item_key(item) for item in group}) > 1]
    yield from _on_groups("contradicting-golds", other_golds, lambda item, group: f"gold: {_gold(item)}",
                   f"{counted(len(other_golds), 'question')} asked more than once, with different golds",
                   detail="At most one of the golds can be right.")  # fmt: skip
    shown = subject.medium.many
    extra = counted(sum(len(group) - 1 for group in equal), "repeat")
    yield from _on_groups("duplicate-items", equal,
                   lambda item, group: f"repeats {group[0].id}" if item is not group[0] else "",
                   f"{extra} of another item, in {counted(len(equal), 'group')}", verdict="drop",
                   detail=f"Same question, options, {shown} and gold. `--fix` keeps the first.")  # fmt: skip


def question_key(item: Item, one_of: Mapping[str, str] = MappingProxyType({})) -> Key:
    """Equal for items with the same question, media and set of options; ``one_of`` maps copies to one."""
    options = tuple(sorted(_comparable_text(choice.text) for choice in item.choices))
    images = tuple(one_of.get(image.sha256, image.sha256) for image in item.images)
    shown = (*images, *item.media)
    return (_comparable_text(item.question), _comparable_text(item.hint), options, shown, item.history)


def _comparable_text(text: str) -> str:
    """A text in comparable spelling: ``<image1>`` and ``<image 1>`` are the same."""
    return folded(PLACEHOLDER.sub(r"<image \1>", text) if "<" in text else text)


def item_key(item: Item, question: Key = ()) -> Key:
    """Key that is equal for equal items; ``question``: the key of its question, where that is known."""
    gold = tuple(sorted(_comparable_text(choice.text) for choice in item.choices if choice.correct))
    return (*(question or question_key(item)), gold, tuple(sorted(map(folded, item.references))))


def _grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> list[list[Item]]:
    """Items with a key in common, except intended variations of one question."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return [group for group in groups.values() if len({item.group or item.id for item in group}) > 1]


def repeats_on_copies(items: Iterable[Item], copies: Iterable[Sequence[str]]) -> Iterator[Finding]:
    """The same question, with its options in any order, on different files that show the same image."""
    one_of = {image: group[0] for group in copies for image in group}
    on_copies = [item for item in items if any(image.sha256 in one_of for image in item.images)]
    known = [item for item in on_copies if has_its_images(item)]
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
        fields = {
            "probe": _duplicate_items.name, "severity": "bad", "items": tuple(evidence),
            "groups": tuple(tuple(item.id for item in group) for group in groups), "evidence": evidence,
            "numbers": {"groups": len(groups), "items": len(evidence)},
        }  # fmt: skip
        yield Finding(kind=kind, title=title, **fields | rest)


def _others(item: Item, group: list[Item]) -> str:
    return listed(other.id for other in group if other is not item)


def _gold(item: Item) -> str:
    return "; ".join(choice.text for choice in item.choices if choice.correct) or "; ".join(item.references)


@probe("duplicate-images", "Do items show the same image, or a copy of it?")
def duplicate_images(subject: Subject) -> Iterator[Finding]:
    """Identical and near-identical images, within the benchmark and across its splits."""
    own: dict[str, list[str]] = {}
    for item in subject.items:
        for sha256 in dict.fromkeys(image.sha256 for image in item.images):
            own.setdefault(sha256, []).append(item.id)
    if not own and subject.media_items:
        return  # said by the probe of malformed items
    if not own:
        yield no_images(duplicate_images.name, "copies of images were not looked for")
        return
    copies = find_copies(subject)
    grouped = {image for group in copies.groups for image in group}
    families = [*copies.groups, *([image] for image in own if image not in grouped)]
    shown = {item.id: number for number, item in enumerate(subject.items)}

    def items_of(images: Iterable[str]) -> tuple[str, ...]:
        """The benchmark's own items that show any of these images, in order."""
        return tuple(sorted({item for image in images for item in own.get(image, ())}, key=shown.__getitem__))

    yield from _identical(own)
    near = [(items, group) for group in copies.groups if len(items := items_of(group)) > 1]
    yield _near_identical(near, copies, len(own))
    yield from repeats_on_copies(subject.items, copies.groups)
    yield from _images_across_splits(subject, map(items_of, families), copies)


class Copies(NamedTuple):
    """Groups of images that show the same, and how they were found."""

    groups: list[list[str]]  # every image that has a copy in other bytes, with its copies
    best: dict[str, float]  # the agreement of each with its likest copy
    compared: int
    left_out: int  # promising pairs that were not compared, because there were too many

    @property
    def limit(self) -> str:
        """How many pairs the limit left out, for the end of a detail; empty where it left out none."""
        words = f" {self.left_out:,} more pairs looked alike; only the {self.compared:,} likeliest were compared."
        return words if self.left_out else ""


def find_copies(subject: Subject) -> Copies:
    """All groups of images that differ in bytes but show the same."""
    comparable = {sha256: facts for sha256, facts in image_facts(subject).items() if facts.comparable}
    images = distinct_images(subject.items)
    read = {sha256: partial(subject.benchmark.images.read, image) for sha256, image in images.items()}
    sets, best = DisjointSets[str](), dict[str, float]()
    by_pixels: dict[bytes, str] = {}
    for sha256, facts in comparable.items():
        twin = by_pixels.setdefault(facts.pixels, sha256)
        if twin != sha256:
            sets.join(twin, sha256)
            best |= {twin: 1.0, sha256: 1.0}
    names = list(by_pixels.values())
    thumbnails = [thumbnail for name in names if (thumbnail := comparable[name].thumbnail) is not None]
    promising = promising_pairs(thumbnails, lambda share: subject.progress("finding similar images", share))
    compared, chosen = 0, promising[:MOST_PAIRS].tolist()
    for start in range(0, len(chosen), _ROUND):
        pairs = [(names[i], names[j]) for i, j in chosen[start : start + _ROUND]]
        pairs = [pair for pair in pairs if sets.root(pair[0]) != sets.root(pair[1])]
        likenesses = in_parallel(lambda pair: overlaid_likeness(read[pair[0]], read[pair[1]]), pairs)
        compared += len(pairs)
        for pair, score in zip(pairs, likenesses, strict=True):
            if score >= ALIKE:
                sets.join(*pair)
                best |= {image: max(score, best.get(image, 0.0)) for image in pair}
        subject.progress("comparing images", (start + len(pairs)) / len(chosen))
    return Copies(sets.groups(comparable), best, compared, len(promising) - len(chosen))


def _shared(kind: str, found: Mapping[tuple[str, ...], str], title: str, none: str, **rest: Any) -> Finding:
    """A finding on groups of items that show the same, each with its evidence; ``none``: its title without any."""
    evidence = {item: text for group, text in found.items() for item in group}
    fields = {"severity": "suspect" if found else "sound", "numbers": {"groups": len(found)}} | rest
    title = f"{len(found):,} images {title} ({len(evidence):,} items)" if found else none
    return Finding(
        probe=duplicate_images.name, kind=kind, title=title, items=tuple(evidence), groups=tuple(found),
        evidence=evidence, **fields,
    )  # fmt: skip


def _identical(own: Mapping[str, list[str]]) -> Iterator[Finding]:
    found = {tuple(items): f"one image, shown by {listed(items)}" for items in own.values() if len(items) > 1}
    if found:
        yield _shared(
            "identical-images", found, "are shown by more than one item", "", severity="note", verdict="keep",
            numbers={"images": len(own), "groups": len(found), "items": len({*chain(*found)})},
            detail="Equal bytes. Several questions on one image are normal; they depend on each other, so resample "
            "images rather than items, and never let one image lie on both sides of a split.",
        )  # fmt: skip


def _near_identical(near: Sequence[tuple[tuple[str, ...], list[str]]], copies: Copies, images: int) -> Finding:
    found = {
        items: f"copies of one image, shown by {listed(items)}; their worst spot agrees to "
        f"{min(copies.best[image] for image in group):.2f}"
        for items, group in near
    }
    return _shared(
        "near-identical-images", found, "come back re-encoded, resized or cropped",
        f"None of the {images:,} images is a copy of another",
        numbers={"groups": len(found), "pairs_compared": copies.compared, "pairs_left_out": copies.left_out},
        detail="Images that look alike were laid over each other and compared in small windows; only pairs that "
        f"agree everywhere are listed. A change smaller than a letter can be missed.{copies.limit}",
    )  # fmt: skip


def _images_across_splits(subject: Subject, groups: Iterable[tuple[str, ...]], copies: Copies) -> Iterator[Finding]:
    splits = {item.id: str(item.tags["split"]) for item in subject.items if item.tags.get("split")}
    if len(set(splits.values())) < 2:
        return
    found: dict[tuple[str, ...], str] = {}
    for group in groups:
        by_split: dict[str, list[str]] = {}
        for item in group:
            by_split.setdefault(splits.get(item, ""), []).append(item)
        by_split.pop("", None)
        if len(by_split) > 1:
            items = tuple(chain(*by_split.values()))
            found[items] = "; ".join(f"{split}: {listed(some)}" for split, some in by_split.items())
    yield _shared(
        "images-across-splits", found, "lie in more than one split", "No image lies in more than one split",
        detail="By the tag `split`; equal and near-identical images. A model that is trained or tuned on one split "
        f"has seen the images of the other.{copies.limit}",
    )  # fmt: skip


PROBE = (_duplicate_items, duplicate_images)
