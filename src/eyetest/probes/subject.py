"""Input of probes: the items of a benchmark in memory, its images on demand, and the thresholds."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.rows import named_images
from eyetest.records import NO_IMAGES, Finding, Item, Severity
from eyetest.store.handwritten import convert, parse_yaml, read_yaml

Progress = Callable[[str, float], None]
_MOST_VALUES = 60  # a tag with more of them names items rather than sorting them


class TextThresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When texts are alike."""

    near_duplicate: float
    shortest_answer: int


class ImageThresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When images show nothing, or the same."""

    one_colour_spread: int
    tiny_side: int
    neighbours: int
    overlay_rest: float
    alike: float
    most_pairs: int


class ShortcutThresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Effort of the search for shortcuts."""

    folds: int
    permutations: int
    tree_permutations: int
    most_items: int
    suspicious: float


class Thresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All thresholds of an audit; ``thresholds.yaml`` says what each is for."""

    level: float
    min_items: int
    text: TextThresholds
    images: ImageThresholds
    shortcuts: ShortcutThresholds


def load_thresholds(path: Path | None = None) -> Thresholds:
    """The thresholds of a file, or the defaults."""
    if path is None:
        text = files("eyetest.probes").joinpath("thresholds.yaml").read_text(encoding="utf-8")
        return convert(parse_yaml(text, "thresholds.yaml"), Thresholds, "thresholds.yaml")
    return convert(read_yaml(path), Thresholds, str(path))


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
        self.thresholds = thresholds or load_thresholds()
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
        words = [self.seed, *(hash_text(str(name)) for name in names)]
        return np.random.default_rng(words)


@dataclass(frozen=True)
class FunctionProbe:
    """A probe made of a function."""

    name: str
    summary: str
    run: Callable[[Subject], Iterator[Finding]]


def probe(name: str, summary: str) -> Callable[[Callable[[Subject], Iterator[Finding]]], FunctionProbe]:
    """Make a probe of a function that yields all findings, including tests that passed."""
    return lambda run: FunctionProbe(name, summary, run)


def hash_text(text: str) -> int:
    """A hash that is the same in every process, unlike Python's own."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def by_option_count(items: Iterable[Item]) -> dict[int, list[Item]]:
    """Items by their number of options."""
    groups: dict[int, list[Item]] = {}
    for item in items:
        groups.setdefault(len(item.choices), []).append(item)
    return dict(sorted(groups.items()))


def by_tags(items: Iterable[Item]) -> dict[str, dict[str, list[Item]]]:
    """Items by the values of each tag that sorts them into a few groups."""
    by_tag: dict[str, dict[str, list[Item]]] = {}
    for item in items:
        for tag, value in item.tags.items():
            if isinstance(value, str) and len(value) <= 80:
                by_tag.setdefault(tag, {}).setdefault(value, []).append(item)
    return {tag: groups for tag, groups in by_tag.items() if 2 <= len(groups) <= _MOST_VALUES}


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
