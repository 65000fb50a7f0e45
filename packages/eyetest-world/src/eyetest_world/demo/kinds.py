"""Why planted errors were missed, by kind, and what a plain count finds where a filter flags as many items.

Each kind of error leaves a sign that can be computed from the truth and the answers, such as how often models that
were trained on leaked items answer them without the image. Missed items are compared by it with found ones and with
items without an error.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.filters.hits import BAND
from eyetest.measures import Results
from eyetest.records import Item, Verdict, letter
from eyetest_world.flaws import Truth
from eyetest_world.toy_models.cards import cards


def mean_of(values: Iterable[float]) -> float | None:
    """The mean of some numbers; None of none."""
    numbers = list(values)
    return fmean(numbers) if numbers else None


class SignMeans(NamedTuple):
    """A sign of an error, and its mean over missed items, found ones, and items without an error."""

    label: str
    missed: float | None
    found: float | None
    good: float | None
    is_share: bool = True

    @property
    def is_shown(self) -> bool | None:
        """Whether missed items are nearer to found ones than to good ones; None without both."""
        if self.missed is None or self.found is None or self.good is None:
            return None
        return abs(self.missed - self.found) < abs(self.missed - self.good)


class KindOutcome(NamedTuple):
    """One kind of planted error: what was found of it, by which stage, and what its missed items have in common."""

    flaw: str
    has_filter: bool
    planted: Sequence[str]
    found: Sequence[str]
    finders: Mapping[str, int]
    missed: Sequence[str]
    bands: Mapping[str, Sequence[str]]  # of the missed items; without those of the middle band
    sign: SignMeans | None

    @property
    def in_bands(self) -> list[str]:
        """The missed items that stand out by their band."""
        return [item for items in self.bands.values() for item in items]


class Answers:
    """Answers to the items of a world, as signs of errors and plain counts need them."""

    def __init__(self, benchmark: Benchmark, truths: Sequence[Truth], results: Results) -> None:
        self.truths = {truth.item: truth for truth in truths}
        self.items: dict[str, Item] = {item.id: item for item in benchmark}
        columns = pl.col("item", "model", "choice").cast(pl.String)
        sighted = (pl.col("modality") == "image").alias("sighted")
        rows = results.scores.select(columns, sighted, pl.col("score").fill_null(0.0)).collect()
        self._blind: dict[str, dict[str, float]] = {}
        means = rows.filter(~pl.col("sighted")).group_by("item", "model").agg(pl.col("score").mean())
        for item, model, score in means.iter_rows():
            self._blind.setdefault(item, {})[model] = score
        self._seen: dict[str, list[tuple[str | None, float]]] = {}
        sees = pl.col("model").is_in([name for name, card in cards().items() if card.sees])
        seen = rows.filter(pl.col("sighted") & sees).select("item", "choice", "score")
        for item, choice, score in seen.iter_rows():
            self._seen.setdefault(item, []).append((choice, score))

    def readers_right(self, item: str) -> float | None:
        """The share of right answers of language models."""
        return mean_of(score for model, score in self._of_blind(item) if not cards()[model].sees)

    def trained_right(self, item: str) -> float | None:
        """The share of right answers without the image of the models to which the item leaked; else of all."""
        groups = set(self.truths[item].leaked_to)
        answers = [(cards()[model], score) for model, score in self._of_blind(item)]
        trained = [score for card, score in answers if card.leaked_group in groups]
        return mean_of(trained or [score for card, score in answers if card.sees])

    def leak_count(self, item: str) -> float:
        """Right answers of vision models without the image, less those of the language models they are built on."""
        blind = self._blind.get(item, {})
        vision = {model: score for model, score in blind.items() if model in cards() and cards()[model].sees}
        return sum(
            score - blind[cards()[model].base] for model, score in vision.items() if cards()[model].base in blind
        )

    def wrong_count(self, item: str) -> float:
        """How many answers with the image are wrong."""
        return sum(1 - score for _, score in self._seen.get(item, ()))

    def seen_right(self, item: str) -> float | None:
        """The share of right answers with the image."""
        return mean_of(score for _, score in self._seen.get(item, ()))

    def truly_right(self, item: str) -> float | None:
        """The share of models that choose an option that the image shows to be right and that is not marked.

        Where no such option is known, the share that chooses any other than the marked one.
        """
        truth = self.truths[item]
        return self._chosen(item, set(truth.right) - {truth.gold} or self._others(item))

    def rival(self, item: str) -> float | None:
        """The largest share of models that choose the same option beside the marked one."""
        shares = [self._chosen(item, {option}) for option in self._others(item)]
        return max((share for share in shares if share is not None), default=None)

    def length_ratio(self, item: str) -> float | None:
        """How many times as long as the mean of the others the marked option is."""
        lengths = [len(choice.text) for choice in self.items[item].choices if not choice.correct]
        marked = [len(choice.text) for choice in self.items[item].choices if choice.correct]
        return marked[0] * len(lengths) / sum(lengths) if marked and sum(lengths) else None

    def is_same_file(self, item: str) -> bool:
        """Whether an item has the question and the image file of the one that it repeats."""
        pair = [self.items[name] for name in (item, self.truths[item].twin)]
        return pair[0].question == pair[1].question and pair[0].images == pair[1].images

    def _of_blind(self, item: str) -> Iterable[tuple[str, float]]:
        return [(model, score) for model, score in self._blind.get(item, {}).items() if model in cards()]

    def _others(self, item: str) -> set[str]:
        options = [letter(place) for place in range(len(self.items[item].choices))]
        return set(options) - {self.truths[item].gold}

    def _chosen(self, item: str, options: set[str]) -> float | None:
        return mean_of(float(choice in options) for choice, _ in self._seen.get(item, ()))


Sign = Callable[[Answers, str], float | None]
_READ = "right answers of language models, without the image"
_SIGNS: Mapping[str, tuple[str, Sign]] = {
    "answer-in-question": (_READ, Answers.readers_right),
    "answerable-from-facts": (_READ, Answers.readers_right),
    "leaked-to-llms": (_READ, Answers.readers_right),
    "leaked-to-lvlms": ("right answers of models trained on them, without the image", Answers.trained_right),
    "wrong-gold": ("models that choose the option that is really right", Answers.truly_right),
    "two-right-options": ("models that choose the other right option", Answers.truly_right),
    "impossible": ("models that agree on one other option", Answers.rival),
    "trivially-easy": ("right answers with the image", Answers.seen_right),
    "gold-longest": ("length of the key, as a multiple of the other options", Answers.length_ratio),
}


class PlainCount(NamedTuple):
    """A filter beside a plain count that flags as many items: what each finds of the errors that it is made for."""

    title: str
    counted: str
    flagged: int
    planted: int
    found: int
    by_count: float

    @property
    def is_better(self) -> bool:
        """Whether the filter finds more than the count."""
        return self.found > self.by_count + 1e-9


class Outcomes:
    """Outcomes by kind of error, and plain counts, of one refinement."""

    def __init__(self, answers: Answers, verdicts: Sequence[Verdict]) -> None:
        self.answers, self._verdicts = answers, verdicts
        self._good = [item for item, truth in answers.truths.items() if not truth.flaws]

    @cached_property
    def bands(self) -> dict[str, str]:
        """The band of each item that was graded."""
        graded = [(row.item, msgspec.json.decode(row.evidence)) for row in self._verdicts if BAND in row.evidence]
        return {item: evidence[BAND] for item, evidence in graded if BAND in evidence}

    @cached_property
    def outer_bands(self) -> list[str]:
        """The bands of items that no model or every model answers, as far as there are any."""
        right = {item: self.answers.seen_right(item) for item in self.bands}
        extreme = [self.bands[item] for item, share in right.items() if share in (0.0, 1.0)]
        middle = {self.bands[item] for item, share in right.items() if share is not None and 0 < share < 1}
        return sorted(set(extreme) - middle)

    def kind(self, flaw: str, found: Iterable[str], stages: Mapping[str, str], *, has_filter: bool) -> KindOutcome:
        """What became of a kind. ``stages``: by flagged item, or by the copy of one, the stage that flagged it."""
        planted = [item for item, truth in self.answers.truths.items() if flaw in truth.flaws]
        hits = set(found)
        missed = [item for item in planted if item not in hits]
        finders = Counter(stages[item] for item in planted if item in hits and item in stages)
        bands = {band: [item for item in missed if self.bands.get(item) == band] for band in self.outer_bands}
        bands = {band: items for band, items in bands.items() if items}
        sign = self._sign(flaw, missed, sorted(hits & set(planted)))
        return KindOutcome(flaw, has_filter, planted, sorted(hits), finders, missed, bands, sign)

    def _sign(self, flaw: str, missed: Sequence[str], found: Sequence[str]) -> SignMeans | None:
        if flaw not in _SIGNS or not missed:
            return None
        label, sign = _SIGNS[flaw]
        return SignMeans(
            label=label,
            missed=self._mean(sign, missed),
            found=self._mean(sign, found),
            good=self._mean(sign, self._good),
            is_share=sign is not Answers.length_ratio,
        )

    def _mean(self, sign: Sign, items: Iterable[str]) -> float | None:
        values = [sign(self.answers, item) for item in items]
        return mean_of(value for value in values if value is not None)

    def by_plain_count(self, name: str, flagged: int, kinds: Iterable[str]) -> tuple[str, float] | None:
        """What is counted, and how many items of these kinds are among as many with the highest counts.

        A tie at the end of the list counts as a random order of the tied items does on average.
        """
        wanted = {item for item, truth in self.answers.truths.items() if set(kinds) & set(truth.flaws)}
        if name == "duplicates":
            same = sum(self.answers.is_same_file(item) for item in wanted if self.answers.truths[item].twin)
            return "same question and same image file", float(same)
        if name not in _COUNTS:
            return None
        label, count = _COUNTS[name]
        counts = {item: round(count(self.answers, item) or 0.0, 9) for item in self.answers.truths}
        return label, among_highest(counts, wanted, flagged)


_COUNTS: Mapping[str, tuple[str, Sign]] = {
    "chance-aware": ("right answers of the language models", Answers.readers_right),
    "leaks": ("right answers of vision models, less those of their language models", Answers.leak_count),
    "golds": ("wrong answers with the image", Answers.wrong_count),
}


def among_highest(counts: Mapping[str, float], wanted: set[str], number: int) -> float:
    """How many wanted items are among so many with the highest counts, ties in a random order, on average."""
    left, hits = number, 0.0
    for value in sorted(set(counts.values()), reverse=True):
        tied = [item for item, count in counts.items() if count == value]
        share = min(left / len(tied), 1.0)
        hits += share * sum(item in wanted for item in tied)
        left -= len(tied)
        if left <= 0:
            break
    return hits
