"""Input of probes: the items of a benchmark in memory, and its images on demand."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.media import MediumNames, medium_names
from eyetest.benchmarks.rows import named_images
from eyetest.records import NO_IMAGES, Finding, Item, Severity

Progress = Callable[[str, float], None]


LEVEL = 0.05  # family-wise: how often a benchmark without flaws may raise any alarm at all
MIN_ITEMS = 30  # a test on fewer items says nothing and is left out


class Subject:
    """A benchmark under audit."""

    def __init__(
        self,
        benchmark: Benchmark,
        *,
        seed: int = 0,
        progress: Progress = lambda what, share: None,
    ) -> None:
        self.benchmark = benchmark
        self.seed = seed
        self.progress = progress
        self.item_scores: dict[str, dict[str, float]] = {}
        """Scores by name and item that probes leave for programs: how well a shortcut predicts each gold."""

    @cached_property
    def items(self) -> list[Item]:
        """All items, in order."""
        return list(self.benchmark)

    @cached_property
    def shows_images(self) -> bool:
        """Whether any image is available."""
        return any(item.images for item in self.items)

    @cached_property
    def medium(self) -> MediumNames:
        """What its sentences call that which the items show."""
        return medium_names(self.benchmark.manifest.counts)

    @cached_property
    def media_items(self) -> list[Item]:
        """Items with a video, a sound or a document, none of which is read."""
        return [item for item in self.items if item.media]

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
    """Whether all images and other media of an item are known; else it is unknown whether two items show the same."""
    return bool(item.images or item.media) and all(1 <= number <= len(item.images) for number in item.image_numbers)


def names_images(item: Item) -> dict[str, str]:
    """How an item without any medium refers to images, by where it does so: a text, or a tag of the source."""
    if item.images or item.media:
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
    here = len(subject.choice_items)
    if not here:
        return no_choices(probe, subject)
    title = f"Too few items to test {probe}: {MIN_ITEMS} {of} are needed"
    return untested(probe, "too-few", title, f"{here:,} items have options and one gold.", n=here, least=MIN_ITEMS)


def no_choices(probe: str, subject: "Subject") -> Finding:
    """Result of an option probe on a benchmark without options."""
    title = f"No item has two options and one gold: {probe} has nothing to test"
    return untested(probe, "no-choices", title, items=len(subject.items))


def no_images(probe: str, what: str) -> Finding:
    """Result of an image probe on a benchmark without available images."""
    return untested(probe, NO_IMAGES, f"No image is here: {what}")
