"""Input of probes: the items of a benchmark in memory, its images on demand, and the thresholds."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.rows import named_images
from eyetest.records import NO_IMAGES, Finding, Item, Severity

Progress = Callable[[str, float], None]


class TextThresholds(msgspec.Struct, frozen=True):
    """When texts are alike."""

    shortest_answer: int = 3  # a gold of fewer characters is never called "named in the question"


class ImageThresholds(msgspec.Struct, frozen=True):
    """When images show nothing, or the same."""

    one_colour_spread: int = 4  # an image whose grey values all lie within this range shows nothing
    tiny_side: int = 16  # pixels; an image smaller than this shows next to nothing
    neighbours: int = 24  # an image is compared with this many of those most like it
    overlay_rest: float = 0.05  # share of a thumbnail that stretch and shift of another may leave unexplained
    alike: float = 0.4  # agreement of the worst spots of two aligned images (copies: .5 to 1, others: below .3)
    most_pairs: int = 2_000  # pairs opened and compared closely, the likeliest first


class ShortcutThresholds(msgspec.Struct, frozen=True):
    """Effort of the search for shortcuts."""

    folds: int = 5
    permutations: int = 199  # random golds for the null of the linear learner
    tree_permutations: int = 199  # for the random trees
    most_items: int = 4_000  # a larger benchmark is probed on a seeded sample of this size
    suspicious: float = 0.15  # an item is listed when both learners give its gold at least this much above chance


class Thresholds(msgspec.Struct, frozen=True):
    """All thresholds of an audit."""

    level: float = 0.05  # family-wise level: how often a sound benchmark may raise any alarm at all
    min_items: int = 30  # a test on fewer items says nothing and is left out
    text: TextThresholds = TextThresholds()
    images: ImageThresholds = ImageThresholds()
    shortcuts: ShortcutThresholds = ShortcutThresholds()


class Subject:
    """A benchmark under audit."""

    def __init__(
        self,
        benchmark: Benchmark,
        thresholds: Thresholds | None = None,
        *,
        against: Benchmark | None = None,
        seed: int = 0,
        progress: Progress = lambda what, share: None,
    ) -> None:
        self.benchmark = benchmark
        self.thresholds = thresholds or Thresholds()
        self.against = Subject(against, self.thresholds, seed=seed) if against else None
        self.seed = seed
        self.progress = progress
        self.item_scores: dict[str, dict[str, float]] = {}
        """Scores by name and item that probes leave for the report: how well a shortcut predicts each gold."""

    @cached_property
    def items(self) -> list[Item]:
        """All items, in order."""
        return list(self.benchmark)

    @cached_property
    def shows_images(self) -> bool:
        """Whether any image is available."""
        return any(item.images for item in self.items)

    @cached_property
    def choice_items(self) -> list[Item]:
        """Items with two or more options and exactly one gold, for which chance is known."""
        return [item for item in self.items if len(item.choices) > 1 and len(item.gold) == 1]

    def rng(self, *names: object) -> np.random.Generator:
        """A random generator for each purpose, the same at every run."""
        hashes = (hashlib.blake2b(str(name).encode("utf-8", "replace"), digest_size=8) for name in names)
        return np.random.default_rng([self.seed, *(int.from_bytes(one.digest(), "little") for one in hashes)])


@dataclass(frozen=True)
class Probe:
    """Checks one aspect of a benchmark."""

    name: str
    summary: str  # one line: the question it asks
    run: Callable[[Subject], Iterable[Finding]]


def probe(name: str, summary: str) -> Callable[[Callable[[Subject], Iterator[Finding]]], Probe]:
    """Make a probe of a function that yields all findings, including tests that passed."""
    return lambda run: Probe(name, summary, run)


def by_option_count(items: Iterable[Item]) -> dict[int, list[Item]]:
    """Items by their number of options."""
    groups: dict[int, list[Item]] = {}
    for item in items:
        groups.setdefault(len(item.choices), []).append(item)
    return dict(sorted(groups.items()))


def has_its_images(item: Item) -> bool:
    """Whether all images of an item are available; else it is unknown whether two items show the same."""
    return bool(item.images) and all(1 <= number <= len(item.images) for number in item.image_numbers)


def names_images(item: Item) -> dict[str, str]:
    """How an item without images refers to some, by where it does so: a text, or a tag of the source."""
    if item.images:
        return {}
    placed = item.image_numbers or any("<image>" in text for text in item.texts)
    return named_images(item.tags) | ({"placeholders": "<image …>"} if placed else {})


def defects(
    probe: str, kind: str, severity: Severity, seen: dict[str, str], title: str, **more: Any
) -> Iterator[Finding]:
    """A finding on the items that have a defect, with details of each; nothing where none has."""
    if seen:
        what = {"title": title, "items": tuple(seen), "evidence": seen, "numbers": {"items": len(seen)}}
        yield Finding(probe=probe, kind=kind, severity=severity, **what | more)


def untested(probe: str, kind: str, title: str, detail: str = "", **numbers: int) -> Finding:
    """Result of a probe that could not test, so that silence is not taken for soundness."""
    return Finding(probe=probe, kind=kind, severity="untested", title=title, detail=detail, numbers=numbers)


def too_few(probe: str, subject: "Subject", of: str) -> Finding:
    """Result of a probe with too few choice items to test."""
    least, here = subject.thresholds.min_items, len(subject.choice_items)
    if not here:
        return no_choices(probe, subject)
    title = f"Too few items to test {probe}: {least} {of} are needed"
    return untested(probe, "too-few", title, f"{here:,} items have options and one gold.", n=here, least=least)


def no_choices(probe: str, subject: "Subject") -> Finding:
    """Result of an option probe on a benchmark without options."""
    title = f"No item has two options and one gold: {probe} has nothing to test"
    return untested(probe, "no-choices", title, items=len(subject.items))


def no_images(probe: str, what: str) -> Finding:
    """Result of an image probe on a benchmark without available images."""
    return untested(probe, NO_IMAGES, f"No image is here: {what}")
