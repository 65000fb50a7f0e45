"""Can golds be predicted without any picture? Train on the test set itself, and see how the held-out part goes.

Two views (options alone; question and options) meet two learners (ridge; random trees). What luck gives is measured
and not computed: golds are drawn at random within each item and everything is learnt again, since folds, ties and
alike items make accuracies scatter more than coins do.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.utils.extmath import randomized_svd

from eyetest.measures.stats.intervals import one_thread
from eyetest.measures.stats.sets import DisjointSets, group_folds
from eyetest.probes.features import (
    Floats,
    Ints,
    Table,
    context_matrix,
    hashed_words,
    question_columns,
    surface_columns,
)
from eyetest.probes.given_away import as_many, gold_excess, least_excess
from eyetest.probes.learners import Fit, Trial, random_trees, ridge
from eyetest.probes.subject import Subject
from eyetest.records import Finding, Item
from eyetest.wording import percent

NAME = "shortcuts"
LEAST_ITEMS = 100
"""Below this nothing can be learnt, so a sound result would say nothing."""
_PENALTY = 500.0
_WORD_WEIGHT = np.float32(3.0)
"""Hashed words are rarer than surface columns are wide: this puts both under the same penalty."""
_WORD_DIMENSIONS = 32
_SMALLEST_P = 1e-6
"""A tail extrapolated from a few hundred draws means no more than "very small" beyond this."""
_COUNTED = 10
"""With at least so many null draws beyond the observed accuracy their share is the p-value as it stands."""

_WHAT = {"surface": "how options look", "text": "the words of question and options"}
_LEARNERS = {"linear": "a linear model", "trees": "random trees"}


class Guess(msgspec.Struct, frozen=True):
    """What one learner made of one view."""

    view: str
    learner: str
    credits: Floats
    """Items × sets of golds; the first column is the truth."""
    excess: Floats
    """Items × sets of golds: the probability of the gold beyond luck."""


class Shortcuts:
    """Trains on the test set and asks whether golds can be told without a picture."""

    name = NAME
    summary = "training on the test set"

    def run(self, subject: Subject) -> Iterator[Finding]:
        """One test a view and learner, one a view of golds given away; a score an item in ``subject.item_scores``."""
        grouped = image_groups(subject.choice_items)
        items, groups = sample_groups(subject.choice_items, grouped, subject)
        least = max(LEAST_ITEMS, subject.thresholds.min_items)
        if len(items) < least or len(set(groups)) < 2:
            yield _too_few(len(items), least)
            return
        rng = subject.rng(NAME, "golds")
        table = Table(items)
        setting = subject.thresholds.shortcuts
        draws = max(setting.permutations, setting.tree_permutations)
        golds = np.column_stack([table.gold, draw_golds(table, groups, rng, draws)])
        folds = group_folds(groups, setting.folds, subject.rng(NAME, "folds"))
        counts = {"linear": setting.permutations, "trees": setting.tree_permutations}
        steps, done = 2 * len(counts), 0
        for view, fits in _views(table, subject):
            guesses = []
            for learner, fit in fits.items():
                subject.progress(self.summary, done / steps)
                trial = Trial(table, golds[:, : 1 + counts[learner]], folds)
                guesses.append(_guess(view, learner, trial, fit))
                done += 1
            yield from _report(subject, table, guesses)
        subject.progress(self.summary, 1.0)


def image_groups(items: Sequence[Item]) -> list[int]:
    """One number for each item, equal for items that share a picture or vary the same question."""
    sets = DisjointSets[int]()
    first: dict[tuple[str, str], int] = {}
    for index, item in enumerate(items):
        for key in (("item", item.group or item.id), *(("picture", image.sha256) for image in item.images)):
            sets.join(first.setdefault(key, index), index)
    return [sets.root(index) for index in range(len(items))]


def sample_groups(items: Sequence[Item], groups: list[int], subject: Subject) -> tuple[list[Item], list[int]]:
    """All items, or whole groups of them drawn at random up to the limit."""
    most = subject.thresholds.shortcuts.most_items
    if len(items) <= most:
        return list(items), groups
    sizes = Counter(groups)
    kept: set[int] = set()
    room = most
    for group in subject.rng(NAME, "sample").permutation(np.array(list(sizes))).tolist():
        if sizes[group] <= room:
            kept.add(group)
            room -= sizes[group]
    indices = [index for index, group in enumerate(groups) if group in kept]
    return [items[index] for index in indices], [groups[index] for index in indices]


def draw_golds(table: Table, groups: Sequence[int], rng: np.random.Generator, draws: int) -> Ints:
    """Rows of random golds, uniform within each item, one column a draw.

    Rotations of one question stand or fall together, so they share their draw: within a group, items with the same
    question, the same options and the same gold do.
    """
    alike: dict[tuple[object, ...], set[int]] = defaultdict(set)
    keys = [
        (group, item.question, *options.texts)
        for group, item, options in zip(groups, table.items, table.options, strict=True)
    ]
    for key, options in zip(keys, table.options, strict=True):
        alike[key].add(options.gold)
    units: dict[tuple[object, ...], int] = {}
    unit = [units.setdefault(key if len(alike[key]) == 1 else (i,), len(units)) for i, key in enumerate(keys)]
    shares = rng.random((len(units), draws))[unit]
    return np.asarray(table.starts[:, None] + (shares * table.counts[:, None]).astype(np.int64))


def _views(table: Table, subject: Subject) -> Iterator[tuple[str, dict[str, Fit]]]:
    """Each view with its learners; what they see is made when it is needed and dropped after."""
    looks, context = surface_columns(table).matrix(), context_matrix(table)
    gate = table.spread(table.numeric.astype(float))[:, None]
    wide = np.hstack([_scaled(looks), _scaled(table.centred(looks * gate))]).astype(np.float32)
    seed = int(subject.rng(NAME, "trees").integers(2**31))
    yield (
        "surface",
        {
            "linear": partial(ridge, wide, _PENALTY),
            "trees": partial(random_trees, np.hstack([looks, context]), seed),
        },
    )
    asked = question_columns(table).matrix()
    questions = [item.question for item in table.items]
    words = table.centred(hashed_words(questions, table.texts, table.owner).toarray())
    with one_thread():
        left, sizes, _ = randomized_svd(words, _WORD_DIMENSIONS, random_state=seed)
    words *= _WORD_WEIGHT
    wide = np.hstack([wide, _scaled(asked), words], dtype=np.float32)
    del words
    yield (
        "text",
        {
            "linear": partial(ridge, wide, _PENALTY),
            "trees": partial(random_trees, np.hstack([looks, context, asked, left * sizes]), seed),
        },
    )


def _scaled(columns: Floats) -> Floats:
    spread = columns.std(axis=0)
    return np.asarray(columns / np.where(spread > 1e-12, spread, 1.0))


def _guess(view: str, learner: str, trial: Trial, fit: Fit) -> Guess:
    with one_thread():
        scores = fit(trial)
    return Guess(view, learner, trial.credits(scores), gold_excess(trial, scores))


def p_value(observed: float, null: Floats, chance: float, n: int) -> tuple[float, str]:
    """How often luck does as well, and how that was found.

    Counting draws cannot say less than one in their number, too coarse once an audit corrects for its many tests. So
    where hardly a draw does as well, the tail is that of a curve with the draws' mean and spread and the skew of a
    count of hits.
    """
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
    """Accuracy on some items beside what random golds give there."""
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


def _report(subject: Subject, table: Table, guesses: Sequence[Guess]) -> Iterator[Finding]:
    """The tests of one view, with the items that both learners find easy."""
    view = guesses[0].view
    mean = np.mean([guess.excess[:, 0] for guess in guesses], axis=0)
    scores = {item.id: round(float(score), 4) for item, score in zip(table.items, mean, strict=True)}
    subject.item_scores[f"shortcut:{view}"] = scores
    least = least_excess(guesses)
    sure = least >= subject.thresholds.shortcuts.suspicious
    listed = np.flatnonzero(sure[:, 0])
    order: list[int] = listed[np.argsort(-least[listed, 0], kind="stable")].tolist()
    evidence = {table.items[index].id: _evidence(table, guesses, index) for index in order}
    for guess in guesses:
        yield _finding(subject, table, guess, evidence)
    yield _given_away(view, evidence, sure[:, 1:].sum(axis=0), (len(table), len(subject.choice_items)))


def _given_away(view: str, evidence: dict[str, str], by_luck: Ints, of: tuple[int, int]) -> Finding:
    """The test of how many items are listed, which sees a few strong shortcuts that accuracy hides."""
    luck = float(by_luck.mean())
    return Finding(
        probe=NAME,
        kind=f"{view}-given-away",
        severity="suspect",
        title=f"From {_WHAT[view]} alone: {len(evidence):,} golds are nearly given away, {luck:.0f} by luck",
        detail=f"All learners give these golds much more than luck does; with random golds that happened to "
        f"{luck:.1f} items, at most to {int(by_luck.max())} ({len(by_luck)} draws). Few items with one habit (the "
        "gold is the longest, the question names it) hardly move an accuracy; here they show. " + _sampled(*of),
        items=tuple(evidence),
        evidence=evidence,
        p=as_many(len(evidence), by_luck, _SMALLEST_P),
        numbers={
            "n": of[0],
            "listed": len(evidence),
            "null_mean": luck,
            "null_max": int(by_luck.max()),
            "view": view,
        },
    )


def _evidence(table: Table, guesses: Sequence[Guess], index: int) -> str:
    item, luck = table.items[index], 1 / table.counts[index]
    said = " and ".join(f"{percent(luck + float(g.excess[index, 0]))} ({g.learner})" for g in guesses)
    unseen = "question and pictures" if guesses[0].view == "surface" else "pictures"
    text = item.choices[item.gold[0]].text
    shown = text if len(text) <= 60 else f"{text[:57]}…"
    return f'the gold "{shown}" gets {said} with {unseen} hidden; luck gives {percent(luck)}'


def _finding(subject: Subject, table: Table, guess: Guess, evidence: dict[str, str]) -> Finding:
    chances = 1 / table.counts
    everything = np.ones(len(table), dtype=bool)
    overall = summarise(guess.credits, chances, everything)
    commonest = int(np.bincount(table.counts).argmax())
    least = subject.thresholds.min_items
    kinds = {
        kind: summarise(guess.credits, chances, where)
        for kind, where in {"numeric": table.numeric, "text": ~table.numeric}.items()
        if where.sum() >= least
    }
    null = guess.credits[:, 1:].mean(axis=0)
    p, how = p_value(overall["accuracy"], null, overall["chance"], len(table))
    numbers = overall | {
        "permutations": len(null),
        "p_from": how,
        "learner": guess.learner,
        "view": guess.view,
        "by_option_kind": kinds,
        "commonest": {"options": commonest, **summarise(guess.credits, chances, table.counts == commonest)},
    }
    return Finding(
        probe=NAME,
        kind=f"{guess.view}-shortcut-{guess.learner}",
        severity="suspect",
        title=_title(numbers, p, subject.thresholds.level),
        detail=_detail(numbers, len(subject.choice_items)),
        items=tuple(evidence),
        evidence=evidence,
        p=p,
        numbers=numbers,
    )


def where_it_sits(kinds: dict[str, dict[str, Any]]) -> str:
    """The kind of options that the excess comes from, or nothing when it comes from both or from neither."""
    if len(kinds) < 2:
        return ""
    gain = {kind: figures["accuracy"] - figures["null_mean"] for kind, figures in kinds.items()}
    more, less = sorted(gain, key=lambda kind: -gain[kind])
    clear = kinds[more]["z"] >= 3 and gain[more] >= 2 * gain[less]
    return more if clear else ""


def _title(numbers: dict[str, Any], p: float, level: float) -> str:
    """Figures of the commonest option count, for which luck is a round number; true whether the test holds or not."""
    main = numbers["commonest"]
    learner = _LEARNERS[numbers["learner"]]
    title = f"From {_WHAT[numbers['view']]} alone: {_whole(main['accuracy'])} right by {learner}"
    title += f", {_whole(main['null_mean'])} by luck"
    if main["n"] < numbers["n"]:
        title += f" with {main['options']} options"
    kind = where_it_sits(numbers["by_option_kind"]) if p <= level else ""
    if kind:
        name = "numbers" if kind == "numeric" else "not numbers"
        title += f"; mostly where options are {name} ({_whole(numbers['by_option_kind'][kind]['accuracy'])})"
    return title


def _whole(share: float) -> str:
    """Whole percents: a title that says 9.9 % beside 18 % claims more than was measured."""
    return f"{100 * share:.0f} %"


def _detail(numbers: dict[str, Any], available: int) -> str:
    text = (
        f"{_LEARNERS[numbers['learner']].capitalize()}, trained on the other folds (no picture in two of them), "
        f"picked the gold in {percent(numbers['accuracy'])} of {numbers['n']:,} items; with random golds it picks "
        f"{percent(numbers['null_mean'])} ± {percent(numbers['null_sd'])} ({numbers['permutations']} draws). "
        "Positions of options were hidden from it. "
    )
    text += _sampled(numbers["n"], available)
    for kind, figures in numbers["by_option_kind"].items():
        name = "numbers" if kind == "numeric" else "not numbers"
        text += (
            f"Where options are {name}: {percent(figures['accuracy'])} right, "
            f"{percent(figures['null_mean'])} by luck ({figures['n']:,} items). "
        )
    advice = {
        "numeric": "Look at the numbers first: golds should be as often the smallest or largest as in the middle.",
        "text": "Look at worded options first: their length, their form, and what they share with one another.",
        "": "Look at the listed items, and rewrite options so that none stands out.",
    }
    return text + advice[where_it_sits(numbers["by_option_kind"])]


def _sampled(number: int, available: int) -> str:
    return f"A sample: there are {available:,} choice items. " if number < available else ""


def _too_few(number: int, least: int) -> Finding:
    return Finding(
        probe=NAME,
        kind="too-few-to-learn",
        severity="untested",
        title=f"{number} choice items are too few to learn shortcuts from",
        detail=f"At least {least} with one gold each, on two or more unrelated pictures, are needed.",
        numbers={"n": number, "least": least},
    )


PROBE = Shortcuts()
