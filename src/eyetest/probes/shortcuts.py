"""Can golds be predicted without images? Learners (ridge; random trees; of options, or of question and options) train
on the test set and are tested on held-out folds. The null draws golds at random within items; as both learners are
linear in golds, these are further right-hand sides. Golds that get much more than chance from all learners are
counted, beside the number that chance would give. Findings are rates of the benchmark and name no item (`kinds`).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse, stats
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.utils.extmath import randomized_svd

from eyetest.errors import percent
from eyetest.measures.stats.intervals import one_thread
from eyetest.measures.stats.sets import DisjointSets, group_folds
from eyetest.probes.features import (
    Floats,
    Ints,
    OptionTable,
    context_matrix,
    hashed_words,
    question_columns,
    surface_columns,
)
from eyetest.probes.rates import Rate, rate_of
from eyetest.probes.subject import LEVEL, MIN_ITEMS, Subject, probe, untested
from eyetest.records import Finding, Item
from eyetest.results.dependence import facts, joined_clusters, numbered

NAME = "shortcuts"
LEAST_ITEMS = 100  # below this nothing can be learnt, so a sound result would say nothing
PERMUTATIONS = 199  # random golds for the null
_FOLDS = 5
_MOST_ITEMS = 4_000  # a larger benchmark is probed on a seeded sample of this size
_SUSPICIOUS = 0.15  # a gold counts as given away when both learners give it at least this much above chance
_PENALTY = 500.0
_WORD_WEIGHT = np.float32(3.0)  # puts rare hashed words under the same penalty as surface columns
_WORD_DIMENSIONS = 32
_SMALLEST_P = 1e-6  # a tail extrapolated from a few hundred draws means no more than "very small" beyond this
_COUNTED = 10  # with at least so many null draws beyond the observed accuracy their share is the p-value as it stands

_WHAT = {"surface": "how options look", "text": "the words of question and options"}
_KINDS = {"numeric": "numbers", "text": "not numbers"}
_LEARNERS = {"linear": "a linear model", "trees": "random trees"}
TREES = 200
_LEAF = 10
_AT_ONCE = 10  # trees whose leaves are summed together: more need more memory, fewer more time
_SAME = 1e-5  # scores that differ by less than this, in standard deviations, are ties: rounding must not break them

Scores = NDArray[np.floating]
Fit = Callable[["LearningTask"], Scores]


class LearningTask:
    """Which golds are learnt, the true ones in the first column, and which items are held out together."""

    def __init__(self, table: OptionTable, golds: Ints, folds: Ints) -> None:
        self.table = table
        self.golds = golds
        self.folds = [np.flatnonzero(table.spread(folds) == fold) for fold in np.unique(folds)]  # rows of each

    @property
    def targets(self) -> NDArray[np.float32]:
        """One column a set of golds: which option is the gold, centred within the item."""
        columns = self.golds.shape[1]
        targets = np.repeat((-1 / self.table.spread(self.table.counts)).astype(np.float32)[:, None], columns, axis=1)
        targets[self.golds, np.arange(columns)] += 1
        return targets

    def credits(self, scores: Scores) -> Floats:
        """For each item and set of golds 1 where the gold scores highest, shared where it ties with others."""
        table = self.table
        near = _SAME * float(scores.std())
        top = scores >= np.maximum.reduceat(scores, table.starts, axis=0)[table.owner] - near
        ties = np.add.reduceat(top, table.starts, axis=0, dtype=np.int32)
        return np.asarray(np.take_along_axis(top, self.golds, axis=0) / ties)


class Guess(msgspec.Struct, frozen=True):
    """Result of a learner on a view."""

    view: str
    learner: str
    credits: Floats  # items × sets of golds; the first column is the truth
    excess: Floats  # items × sets of golds: the probability of the gold beyond chance


@probe(NAME, "training on the test set")
def _shortcuts(subject: Subject) -> Iterator[Finding]:
    """One test per view and learner, one per view of golds given away; scores go to ``subject.item_scores``."""
    items, groups = sample_groups(subject.choice_items, fact_groups(subject.choice_items), subject)
    if len(items) < LEAST_ITEMS or len(set(groups)) < 2:
        title = f"{len(items)} choice items are too few to learn shortcuts from"
        shown = subject.medium.many
        detail = f"At least {LEAST_ITEMS} with one gold each, on two or more unrelated {shown}, are needed."
        yield untested(NAME, "too-few-to-learn", title, detail, n=len(items), least=LEAST_ITEMS)
        return
    rng = subject.rng(NAME, "golds")
    table = OptionTable(items)
    golds = np.column_stack([table.gold, draw_golds(table, groups, rng, PERMUTATIONS)])
    sample = LearningTask(table, golds, group_folds(groups, _FOLDS, subject.rng(NAME, "folds")))
    for done, (view, fits) in enumerate(_views(table, subject)):
        guesses: list[Guess] = []
        for learner, fit in fits.items():
            subject.progress(_shortcuts.summary, (2 * done + len(guesses)) / 4)
            with one_thread():
                scores = fit(sample)
            guesses.append(Guess(view, learner, sample.credits(scores), gold_excess(sample, scores)))
        yield from _report(subject, table, guesses, groups)
    subject.progress(_shortcuts.summary, 1.0)


def image_groups(items: Sequence[Item]) -> list[int]:
    """A number for each item, equal for items that share an image or another medium, or vary the same question."""
    sets = DisjointSets[int]()
    first: dict[tuple[str, str], int] = {}
    for index, item in enumerate(items):
        shown = [("image", image.sha256) for image in item.images]
        shown += [(media.kind, media.reference) for media in item.media]
        for key in (("item", item.group or item.id), *shown):
            sets.join(first.setdefault(key, index), index)
    return [sets.root(index) for index in range(len(items))]


def fact_groups(items: Sequence[Item]) -> list[int]:
    """A number for each item, equal for items that share an image, a question that they vary, or a fact.

    Translations of an item have its numbers, or its options and key: in another fold they would give its gold away.
    """
    groups = joined_clusters(numbered(image_groups(items)), {"fact": numbered(facts(items))}, 1 / _FOLDS)
    return [int(group) for group in groups]


def sample_groups(items: Sequence[Item], groups: list[int], subject: Subject) -> tuple[list[Item], list[int]]:
    """All items, or whole groups of them drawn at random up to the limit."""
    if len(items) <= _MOST_ITEMS:
        return list(items), groups
    sizes = Counter(groups)
    kept: set[int] = set()
    left_over = _MOST_ITEMS
    for group in subject.rng(NAME, "sample").permutation(np.array(list(sizes))).tolist():
        if sizes[group] <= left_over:
            kept.add(group)
            left_over -= sizes[group]
    indices = [index for index, group in enumerate(groups) if group in kept]
    return [items[index] for index in indices], [groups[index] for index in indices]


def draw_golds(table: OptionTable, groups: Sequence[int], rng: np.random.Generator, draws: int) -> Ints:
    """Random golds, uniform within each item, one column per draw; rotations and translations of a question share it.

    A share of the options is drawn for each unit of items. It is a place among their options in alphabetical order,
    or as written where options are translated.
    """
    units = _gold_units(table, groups)
    number_of: dict[Hashable, int] = {}
    unit = [number_of.setdefault(key, len(number_of)) for _, key in units]
    shares = rng.random((len(number_of), draws))[unit]
    places = (shares * table.counts[:, None]).astype(np.int64)
    for index, (is_written, _) in enumerate(units):
        if is_written:
            places[index] = np.argsort(table.options[index].order)[places[index]]
    return np.asarray(table.starts[:, None] + places)


def _gold_units(table: OptionTable, groups: Sequence[int]) -> list[tuple[bool, Hashable]]:
    """For each item the unit whose items have one gold, and whether that is the same place as written."""
    names: list[tuple[Hashable, Hashable]] = []
    golds: dict[Hashable, set[tuple[int, ...]]] = defaultdict(set)
    for group, item, options, fact in zip(groups, table.items, table.options, facts(table.items), strict=True):
        by_texts: Hashable = (group, item.question if fact is None else ("fact", fact), *options.texts)
        by_place: Hashable = (group, item.id if fact is None else ("fact", fact))
        names.append((by_texts, by_place))
        golds[by_texts].add((options.gold,))
        golds[by_place].add((len(options), *item.gold))
    sizes = Counter(by_texts for by_texts, _ in names)
    units: list[tuple[bool, Hashable]] = []
    for index, (by_texts, by_place) in enumerate(names):
        if sizes[by_texts] > 1 and len(golds[by_texts]) == 1:
            units.append((False, by_texts))
        elif len(golds[by_place]) == 1:
            units.append((True, by_place))
        else:
            units.append((False, index))
    return units


def _views(table: OptionTable, subject: Subject) -> Iterator[tuple[str, dict[str, Fit]]]:
    """Each view with its learners; its features are made on demand and dropped after."""
    cues, context = surface_columns(table), context_matrix(table)
    gate = table.spread(table.numeric.astype(float))[:, None]
    wide = np.hstack([_scaled(cues), _scaled(table.centred(cues * gate))]).astype(np.float32)
    seed = int(subject.rng(NAME, "trees").integers(2**31))
    trees = partial(random_trees, np.hstack([cues, context]), seed)
    yield "surface", {"linear": partial(ridge, wide), "trees": trees}
    asked = question_columns(table)
    words = table.centred(hashed_words(table))
    with one_thread():
        left, sizes, _ = randomized_svd(words, _WORD_DIMENSIONS, random_state=seed)
    words *= _WORD_WEIGHT
    wide = np.hstack([wide, _scaled(asked), words], dtype=np.float32)
    del words
    trees = partial(random_trees, np.hstack([cues, context, asked, left * sizes]), seed)
    yield "text", {"linear": partial(ridge, wide), "trees": trees}


def _scaled(columns: Floats) -> Floats:
    spread = columns.std(axis=0)
    return np.asarray(columns / np.where(spread > 1e-12, spread, 1.0))


def p_value(observed: float, null: Floats, chance: float, n: int) -> tuple[float, str]:
    """How often chance does as well, and the method; the tail is a curve with the null's mean, spread and skew."""
    beyond = int((null >= observed - 1e-12).sum())
    counted = (1 + beyond) / (1 + len(null))
    spread = float(null.std(ddof=1)) if len(null) > 1 else 0.0
    if beyond >= _COUNTED or spread == 0:
        return counted, "share of random golds"
    skew = (1 - 2 * chance) / np.sqrt(n * chance * (1 - chance))
    tail = float(stats.pearson3.sf((observed - float(null.mean())) / spread, max(float(skew), 1e-3)))
    z = float(stats.norm.isf(max(tail, 1e-300))) / np.sqrt(1 + 1 / len(null))
    return max(float(stats.t.sf(z, len(null) - 1)), _SMALLEST_P), "curve through random golds"


def summarise(hits: Floats, chances: Floats, where: NDArray[np.bool_]) -> dict[str, Any]:
    """Accuracy on some items beside that of random golds."""
    null = hits[where, 1:].mean(axis=0)
    accuracy = float(hits[where, 0].mean())
    spread = float(null.std(ddof=1)) if len(null) > 1 else 0.0
    return {
        "n": int(where.sum()),
        "accuracy": accuracy,
        "chance": float(chances[where].mean()),
        "null_mean": float(null.mean()),
        "null_sd": spread,
        "null_q95": float(np.quantile(null, 0.95)),
        "z": (accuracy - float(null.mean())) / spread if spread else 0.0,
    }


def _report(
    subject: Subject, table: OptionTable, guesses: Sequence[Guess], groups: Sequence[int]
) -> Iterator[Finding]:
    """The tests of one view; scores of all items go to ``subject.item_scores``."""
    view = guesses[0].view
    mean = np.mean([guess.excess[:, 0] for guess in guesses], axis=0)
    scores = {item.id: round(float(score), 4) for item, score in zip(table.items, mean, strict=True)}
    subject.item_scores[f"shortcut:{view}"] = scores
    for guess in guesses:
        yield _finding(subject, table, guess, groups)
    least = np.min([guess.excess for guess in guesses], axis=0)
    yield _given_away(view, least >= _SUSPICIOUS, groups, len(subject.choice_items))


def _given_away(view: str, sure: NDArray[np.bool_], groups: Sequence[int], available: int) -> Finding:
    """The test of how many golds get much more than chance, which detects strong shortcuts that accuracy hides."""
    given_away, by_chance = int(sure[:, 0].sum()), sure[:, 1:].sum(axis=0)
    rate = rate_of(sure[:, 0].astype(float), sure[:, 1:].mean(axis=1), groups)
    chance, most, n = float(by_chance.mean()), int(by_chance.max()), len(sure)
    return Finding(
        probe=NAME,
        kind=f"{view}-given-away",
        severity="suspect",
        verdict="keep",
        title=f"From {_WHAT[view]} alone: {rate.sentence} of {n:,} golds nearly given away, "
        f"{percent(rate.chance)} by chance",
        detail=f"All learners give {given_away:,} golds much more than chance does; with random golds that happened "
        f"to {chance:.1f}, at most to {most} ({len(by_chance)} draws). Few items with one habit (the gold is the "
        "longest, the question names it) hardly move an accuracy; here they show. " + _sampled(n, available),
        p=as_many(given_away, by_chance),
        numbers={
            "n": n,
            "given_away": given_away,
            "null_mean": chance,
            "null_max": most,
            "view": view,
            **rate.numbers,
        },
    )


def _finding(subject: Subject, table: OptionTable, guess: Guess, groups: Sequence[int]) -> Finding:
    chances = 1 / table.counts
    rate = rate_of(guess.credits[:, 0], chances, groups)
    overall = summarise(guess.credits, chances, np.ones(len(table), dtype=bool))
    commonest = int(np.bincount(table.counts).argmax())
    main = table.counts == commonest
    main_groups = np.asarray(groups)[main].tolist()
    main_rate = rate_of(guess.credits[main, 0], chances[main], main_groups)
    kinds = {
        kind: summarise(guess.credits, chances, where)
        for kind, where in {"numeric": table.numeric, "text": ~table.numeric}.items()
        if where.sum() >= MIN_ITEMS
    }
    null = guess.credits[:, 1:].mean(axis=0)
    p, how = p_value(overall["accuracy"], null, overall["chance"], len(table))
    numbers = {
        **overall,
        **rate.numbers,
        "permutations": len(null),
        "p_from": how,
        "learner": guess.learner,
        "view": guess.view,
        "by_option_kind": kinds,
        "commonest": {"options": commonest, **summarise(guess.credits, chances, main), **main_rate.numbers},
    }
    return Finding(
        probe=NAME,
        kind=f"{guess.view}-shortcut-{guess.learner}",
        severity="suspect",
        verdict="keep",
        title=_title(numbers, p, main_rate.sentence),
        detail=_detail(numbers, len(subject.choice_items), subject.medium.one, rate),
        p=p,
        numbers=numbers,
    )


def where_it_sits(kinds: dict[str, dict[str, Any]]) -> str:
    """The kind of options that the excess comes from; empty when it comes from both or from neither."""
    if len(kinds) < 2:
        return ""
    gain = {kind: figures["accuracy"] - figures["null_mean"] for kind, figures in kinds.items()}
    more, less = sorted(gain, key=lambda kind: -gain[kind])
    clear = kinds[more]["z"] >= 3 and gain[more] >= 2 * gain[less]
    return more if clear else ""


def _title(numbers: dict[str, Any], p: float, rate: str) -> str:
    """Figures of the commonest option count, whose chance is a round number; true whether the test holds or not."""
    main = numbers["commonest"]
    learner = _LEARNERS[numbers["learner"]]
    title = f"From {_WHAT[numbers['view']]} alone: {rate} right by {learner}"
    title += f", {percent(main['null_mean'])} by chance"
    if main["n"] < numbers["n"]:
        title += f" with {main['options']} options"
    kind = where_it_sits(numbers["by_option_kind"]) if p <= LEVEL else ""
    if kind:
        share = percent(numbers["by_option_kind"][kind]["accuracy"])
        title += f"; mostly where options are {_KINDS[kind]} ({share})"
    return title


def _detail(numbers: dict[str, Any], available: int, medium: str, rate: Rate) -> str:
    text = (
        f"{_LEARNERS[numbers['learner']].capitalize()}, trained on the other folds (no {medium} in two of them), "
        f"picked the gold in {rate.sentence} of {numbers['n']:,} items ({rate.above_chance} beside chance); with "
        f"random golds it picks {percent(numbers['null_mean'])} ± {percent(numbers['null_sd'])} "
        f"({numbers['permutations']} draws). Positions of options were hidden from it. "
    )
    text += _sampled(numbers["n"], available)
    for kind, figures in numbers["by_option_kind"].items():
        text += (
            f"Where options are {_KINDS[kind]}: {percent(figures['accuracy'])} right, "
            f"{percent(figures['null_mean'])} by chance ({figures['n']:,} items). "
        )
    return text.rstrip()


def _sampled(number: int, available: int) -> str:
    return f"A sample: there are {available:,} choice items. " if number < available else ""


def ridge(columns: NDArray[np.floating], sample: LearningTask) -> Scores:
    """Held-out scores of every option by ridge regression, for all sets of golds."""
    targets = sample.targets
    grams = [columns[rows].T @ columns[rows] for rows in sample.folds]
    sides = [columns[rows].T @ targets[rows] for rows in sample.folds]
    gram, side = np.sum(grams, axis=0), np.sum(sides, axis=0)
    scores = np.empty(targets.shape, dtype=np.float32)
    for rows, own_gram, own_side in zip(sample.folds, grams, sides, strict=True):
        left = gram - own_gram
        left[np.diag_indices_from(left)] += _PENALTY
        weights = linalg.solve(left, side - own_side, assume_a="pos", overwrite_a=True, check_finite=False)
        scores[rows] = columns[rows] @ weights
    return scores


def random_trees(columns: Floats, seed: int, sample: LearningTask) -> Scores:
    """Held-out scores of every option as the mean, over many random trees, of the golds in its leaf."""
    noise = np.random.default_rng(seed).standard_normal(len(columns))  # splits are drawn without looking at golds
    trees = ExtraTreesRegressor(TREES, max_features=1, min_samples_leaf=_LEAF, random_state=seed % 2**32)
    leaves = np.asarray(trees.fit(columns, noise).apply(columns), dtype=np.int64)
    targets = sample.targets
    scores = np.zeros(targets.shape, dtype=np.float32)
    for first in range(0, leaves.shape[1], _AT_ONCE):
        own = leaves[:, first : first + _AT_ONCE]
        offsets = np.concatenate([[0], np.cumsum(own.max(axis=0) + 1)])
        pointers = np.arange(0, own.size + 1, own.shape[1])
        entries = (np.ones(own.size, dtype=np.float32), (own + offsets[:-1]).ravel(), pointers)
        membership = sparse.csr_array(entries, shape=(len(own), int(offsets[-1])))  # a column per leaf
        sums = [membership[rows].T @ targets[rows] for rows in sample.folds]
        sizes = [membership[rows].sum(axis=0) for rows in sample.folds]
        total, size = np.sum(sums, axis=0), np.sum(sizes, axis=0)
        for rows, own_sum, own_size in zip(sample.folds, sums, sizes, strict=True):
            means = (total - own_sum) / (size - own_size + 1)[:, None]
            scores[rows] += membership[rows] @ means
    return np.asarray(scores / leaves.shape[1])


def gold_excess(sample: LearningTask, scores: Scores) -> Floats:
    """The probability of each item's gold beyond chance, after calibration of the scores."""
    table = sample.table
    chance = 1 / table.counts
    centred = table.centred(scores.astype(np.float64))
    right = (centred * sample.targets).sum(axis=0)
    stretch = np.maximum(right / np.maximum((centred**2).sum(axis=0), 1e-12), 0.0)
    chances = np.maximum(table.spread(chance)[:, None] + stretch * centred, 1e-6)
    golds = np.take_along_axis(chances, sample.golds, axis=0)
    return np.asarray(golds / np.add.reduceat(chances, table.starts, axis=0) - chance[:, None])


def as_many(listed: int, random_counts: Ints) -> float:
    """How often chance lists as many items: a count with the mean and spread of those under random golds."""
    mean = (float(random_counts.sum()) + 1) / (len(random_counts) + 1)
    spread = float(random_counts.var(ddof=1)) if len(random_counts) > 1 else 0.0
    if spread <= mean * 1.01:
        return max(float(stats.poisson.sf(listed - 1, mean)), _SMALLEST_P)
    return max(float(stats.nbinom.sf(listed - 1, mean**2 / (spread - mean), mean / spread)), _SMALLEST_P)


PROBE = _shortcuts
