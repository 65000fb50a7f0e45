"""``python -m tools.gallery.replicating``: findings about a whole benchmark, on items that the audit did not see.

Such a finding says that a rule or a learner without images finds keys more often than chance. The protocol, fixed
before it was run on all benchmarks:

1. Items with options and one key are joined into groups where they share an image (its bytes or its name), an item
   that they vary, a passage, or their words apart from numbers (the question; the question with its options); names,
   passages and words that more than one item in ``COMMON`` shares are the form of the benchmark and join nothing.
   Groups are drawn at random, up to ``MOST`` items, and each is put into one of two halves.
2. ``eyetest audit`` tests half A with its probes that have p-values, so that its correction for many tests is as
   ever. What it calls suspicious are findings; what it tested and did not are controls.
3. Each is tested on half B by other code (``tools.gallery.guessing``), in the direction that half A showed: how much
   more often than chance does the rule, or a learner of another kind trained on half A, find keys? ``p``: signs of
   the groups' sums drawn at random (``DRAWS``), one-sided. It *holds* with p ≤ ``LEVEL``. Fewer than ``FEWEST`` items
   or ``FEWEST_GROUPS`` groups in half B are no test.
4. Flawless: half A again, the key of each item drawn evenly from its options. *Holds* then means that the audit made
   it a finding, a false alarm.

A finding of a benchmark *replicates* if it holds in more than half of the seeds in which it was found and tested; a
kind is demoted where less than half of its benchmarks replicate, by the point estimate. (The code was tried on
PCA-Bench and LogiQA 2.0 in English with seed 0, which is not among those stored.)
"""

import argparse
import csv
import hashlib
import multiprocessing
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

import eyetest as et
from eyetest.benchmarks.folder import BenchmarkWriter
from eyetest.benchmarks.rows import named_images
from eyetest.measures.stats.intervals import one_thread
from eyetest.measures.stats.sets import DisjointSets
from eyetest.records import Finding, Item
from tools.gallery.__main__ import GALLERY, fill
from tools.gallery.guessing import RULES, Question, learnt, own_options, same
from tools.gallery.manifest import read_manifest
from tools.gallery.measuring import import_items
from tools.gallery.replications import CONTROL, FINDING, FLAWLESS, REPLICATED, Replication, read_replications
from tools.gallery.sources import UnavailableError

PROBES = ("frequent-answer", "positions", "named-answer", "surface-cues", "shortcuts")
COMMON = 50
MOST = 2_000
FEWEST, FEWEST_GROUPS = 30, 8
DRAWS = 9_999
LEVEL = 0.05
_LEARNER = re.compile(r"(surface|text)-shortcut-\w+")
_DIGITS = re.compile(r"\d+")


class Stated(NamedTuple):
    """What a finding says."""

    n: int
    effect: float
    """How much more often than chance, by half A."""
    marked: Any = None
    """The letter or the answer that is right too often or too seldom."""


def questions(bench: et.Benchmark) -> tuple[list[Item], list[Question]]:
    """The items with options and one key, and what is compared of them, with a number for each group."""
    items = [item for item in bench if len(item.choices) > 1 and len(item.gold) == 1]
    shared = [[*_shared(item)] for item in items]
    counts = Counter(key for keys in shared for key in keys)
    sets = DisjointSets[object]()
    for number, keys in enumerate(shared):
        for key in keys:
            if counts[key] <= max(2, len(items) / COMMON) or key[0] in ("image", "item"):
                sets.join(key, number)
    groups = {root: n for n, root in enumerate(dict.fromkeys(map(sets.root, range(len(items)))))}
    return items, [
        Question(
            f"{item.hint} {item.question}", tuple(c.text for c in item.choices), item.gold[0], groups[sets.root(n)]
        )
        for n, item in enumerate(items)
    ]


def _shared(item: Item) -> Iterator[tuple[str, ...]]:
    """What another item may share with it that makes them no independent ones."""
    yield from (("image", image.sha256) for image in item.images)
    yield from (("name", name) for name in named_images(item.tags).values())
    yield "item", item.group or item.id
    if item.hint:
        yield "passage", same(item.hint)
    asked = _DIGITS.sub("0", same(item.question))
    yield "asked", asked
    yield "asked", asked, *sorted(_DIGITS.sub("0", same(choice.text)) for choice in item.choices)


def halves(asked: Sequence[Question], seed: int) -> tuple[list[int], list[int]]:
    """Positions of the items of two halves: whole groups, in random order."""
    by_group: dict[int, list[int]] = {}
    for place, question in enumerate(asked):
        by_group.setdefault(question.group, []).append(place)
    groups = [*by_group.values()]
    random.Random(seed).shuffle(groups)
    a: list[int] = []
    b: list[int] = []
    for group in groups:
        if len(a) + len(b) + len(group) <= MOST:
            min(a, b, key=len).extend(group)
    return sorted(a), sorted(b)


def audited(items: Iterable[Item], bench: et.Benchmark, seed: int) -> Iterator[tuple[str, bool, Stated]]:
    """By kind of test whether the audit of some items calls it suspicious, and what it says."""
    with tempfile.TemporaryDirectory() as folder:
        with BenchmarkWriter(Path(folder) / "half", bench.manifest) as writer:
            for item in items:
                writer.add(item)
        found = et.audit(Path(folder) / "half", probe=PROBES, seed=seed)
        for finding in found.findings:
            if finding.p is not None and not finding.kind.endswith("-given-away"):  # judged by eye, item by item
                yield _kind(finding), finding.severity == "suspect", _stated(finding)


def _kind(finding: Finding) -> str:
    """The kind, without the options' words."""
    if finding.kind.startswith("frequent-answer"):
        words = "\n".join(finding.numbers["options"])
        return f"frequent-answer-{hashlib.sha256(words.encode()).hexdigest()[:6]}"
    return finding.kind


def _stated(finding: Finding) -> Stated:
    numbers = finding.numbers
    if "positions" in numbers:
        counts, expected = numbers["positions"], numbers["expected"]
        far = abs if finding.kind.startswith("gold-position") else float
        marked = max(range(len(counts)), key=lambda place: far(counts[place] - expected))
        n = sum(counts)
        return Stated(n, (counts[marked] - expected) / n, (numbers["options"], marked))
    if "hits" in numbers:
        return Stated(numbers["n"], (numbers["hits"] - numbers["expected"]) / numbers["n"])
    return Stated(numbers["n"], numbers["accuracy"] - numbers["null_mean"])


def excess(
    kind: str, stated: Stated, known: Sequence[Question], asked: Sequence[Question]
) -> list[tuple[int, float]]:
    """For each item of half B that a finding speaks of, its group, and how far the guess exceeds chance."""
    if view := _LEARNER.fullmatch(kind):
        with one_thread():
            scores = learnt(view[1], known, asked)
        tops = [{*np.flatnonzero(one >= one.max() - 1e-9).tolist()} for one in scores]
        return [(q.group, (q.key in top) / len(top) - 1 / len(q.options)) for q, top in zip(asked, tops, strict=True)]
    if kind.startswith("gold-position"):
        options, place = stated.marked
        return [(q.group, (q.key == place) - 1 / options) for q in asked if len(q.options) == options]
    if kind.startswith("frequent-answer"):
        options, place = sorted(map(_bare, stated.marked[0])), _bare(stated.marked[0][stated.marked[1]])
        fitting = [q for q in asked if sorted(map(_bare, q.options)) == options]
        return [(q.group, (_bare(q.options[q.key]) == place) - 1 / len(options)) for q in fitting]
    chosen = asked if kind == "answer-in-question" else own_options(asked)
    marked = [(q, RULES[kind](q)) for q in chosen]
    return [
        (q.group, (q.key in places) - len(places) / len(q.options))
        for q, places in marked
        if 0 < len(places) < len(q.options)
    ]


def _bare(text: str) -> str:
    return same(text).strip(" .,;:!?()'\"")


def tested(
    exceeds: Sequence[tuple[int, float]], sign: float, chance: np.random.Generator
) -> tuple[float | None, float | None]:
    """The mean excess in one direction, and how often drawn signs of the groups' sums reach it."""
    if len(exceeds) < FEWEST:
        return None, None
    sums: dict[int, float] = {}
    for group, value in exceeds:
        sums[group] = sums.get(group, 0.0) + sign * value
    totals = np.array([*sums.values()])
    effect = float(totals.sum() / len(exceeds))
    if len(totals) < FEWEST_GROUPS:
        return effect, None
    drawn = [float(chance.choice((-1.0, 1.0), len(totals)) @ totals) for _ in range(DRAWS)]
    return effect, (1 + sum(one >= totals.sum() - 1e-9 for one in drawn)) / (1 + DRAWS)


def replicate(name: str, seeds: Sequence[int]) -> list[Replication]:
    """All tests of one benchmark; none where no item has options."""
    row = read_manifest().rows[name]
    with tempfile.TemporaryDirectory() as folder:
        fill(row, Path(folder))
        import_items(name, row, Path(folder))
        if not (Path(folder) / (row.bench or name)).exists():  # only answers are public
            return []
        bench = et.open(Path(folder) / (row.bench or name))
        items, asked = questions(bench)
    return [one for seed in seeds if len(items) >= 2 * FEWEST for one in _of_seed(name, bench, items, asked, seed)]


def _of_seed(
    name: str, bench: et.Benchmark, items: list[Item], asked: list[Question], seed: int
) -> Iterator[Replication]:
    a, b = ([*half] for half in halves(asked, seed))
    known, other = ([asked[place] for place in half] for half in (a, b))
    chance = np.random.default_rng(seed)
    learners: dict[str, tuple[float | None, float | None, int]] = {}
    for kind, found, stated in audited([items[place] for place in a], bench, seed):
        view = kind.rpartition("-")[0] if _LEARNER.fullmatch(kind) else kind
        if view not in learners:  # one learner checks both of eyetest's
            exceeds = excess(kind, stated, known, other)
            sign = 1.0 if stated.effect >= 0 or view != kind else -1.0
            learners[view] = (*tested(exceeds, sign, chance), len(exceeds))
        effect, p, n = learners[view]
        holds = "" if p is None else "yes" if p <= LEVEL else "no"
        ours = stated.effect if view != kind else abs(stated.effect)
        yield Replication(name, kind, seed, FINDING if found else CONTROL, n, ours, effect, p, holds)
    drawn = (_with_key(items[place], int(chance.integers(len(items[place].choices)))) for place in a)
    for kind, found, stated in audited(drawn, bench, seed):
        ours = stated.effect if _LEARNER.fullmatch(kind) else abs(stated.effect)
        yield Replication(name, kind, seed, FLAWLESS, stated.n, ours, None, None, "yes" if found else "no")


def _with_key(item: Item, key: int) -> Item:
    choices = [msgspec.structs.replace(choice, correct=n == key) for n, choice in enumerate(item.choices)]
    return msgspec.structs.replace(item, choices=tuple(choices))


def main() -> None:
    """Replicate the findings of some benchmarks; the rows of others stay as they are stored."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=read_manifest().rows, metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--to", type=Path, default=GALLERY / REPLICATED)
    given = parser.parse_args()
    names = given.only or [*read_manifest().rows]
    with ProcessPoolExecutor(given.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(replicate, name, given.seeds): name for name in names}
        for done in as_completed(running):
            name = running[done]
            if error := done.exception():
                print(
                    f"{name}: {'skipped' if isinstance(error, UnavailableError) else 'failed'}: {error}", flush=True
                )
                continue
            _store(name, given.seeds, done.result(), given.to)
            print(f"{name}: {len(done.result())} tests", flush=True)


def _store(name: str, seeds: Sequence[int], rows: Sequence[Replication], file: Path) -> None:
    stored = read_replications(file) if file.exists() else []
    kept = [one for one in stored if one.benchmark != name or one.seed not in seeds]
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(Replication._fields)
        writer.writerows(one.written() for one in sorted([*kept, *rows], key=lambda one: one[:4]))


if __name__ == "__main__":
    main()
