"""What goes together in a dealt set must not tell its gold either."""

import random
from collections import Counter

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from eyetest.harden.options.dealing import Candidates, deal
from eyetest.harden.options.drawing import SetDrawer
from eyetest.harden.options.guessing import Guesser, WordGuesser

Floats = NDArray[np.float64]


def values_around(gold: float, luck: np.random.Generator) -> list[float]:
    """Candidates as they are proposed: as far below the gold as above it, none too near."""
    values = dict.fromkeys(np.round(gold * np.exp(luck.uniform(-1.6, 1.6, 60))).tolist())
    return [value for value in values if abs(value - gold) > 0.06 * max(value, gold)]


def gold_ranks(sets: Floats) -> Floats:
    return np.asarray((sets[:, 1:] < sets[:, :1]).sum(axis=1), np.float64)


def test_a_set_could_have_been_drawn_around_any_of_its_members() -> None:
    luck = np.random.default_rng(5)
    sets = []
    for gold in np.round(np.exp(luck.uniform(6, 9, 400))):
        values = [float(gold), *values_around(gold, luck)]
        drawn = SetDrawer(9, len(values) - 1, np.array(values), 1.0).draw((), luck)[0]
        sets.append([values[0], *(values[1 + index] for index in drawn)])
    offered = np.array(sets)
    assert np.all(offered.max(axis=1) / offered.min(axis=1) < 5.2)
    assert stats.chisquare(np.bincount(gold_ranks(offered).astype(int), minlength=10)).pvalue > 0.01
    apart = np.abs(offered[:, :, None] - offered[:, None, :]) / np.maximum(offered[:, :, None], offered[:, None, :])
    apart[:, np.arange(10), np.arange(10)] = 1
    assert np.all(apart > 0.05)


def test_the_given_set_comes_first_and_others_have_much_of_it() -> None:
    luck = np.random.default_rng(1)
    given = [3, 8, 11, 20]
    same, *others = SetDrawer(4, 30, None, 1.0).draw(given, luck)
    assert same == given
    shares = [len(set(given).intersection(other)) for other in others]
    assert len(others) > 20
    assert 3 * 4 * 4 / 30 < np.mean(shares) < 4


def test_a_guesser_finds_what_traits_tell_together_and_nothing_where_there_is_nothing() -> None:
    luck = np.random.default_rng(7)
    told, silent = [], []
    for _ in range(200):
        traits = luck.choice([-1.0, 1.0], (10, 2)) + luck.normal(0, 0.1, (10, 2))
        silent.append(traits.astype(np.float32))
        same = np.flatnonzero(traits.prod(axis=1) > 0)
        order = np.arange(10)
        if len(same):
            order[[0, same[0]]] = order[[same[0], 0]]
        told.append(traits[order].astype(np.float32))
    for given, low, high in ((told, 0.65, 0.85), (silent, 0.4, 0.6)):
        scores = Guesser(given, luck).scores([rows[None] for rows in given])
        beaten = [float((one[0, 0] > one[0, 1:]).mean() + (one[0, 0] == one[0, 1:]).mean() / 2) for one in scores]
        assert low < np.mean(beaten) < high


ASKED = ("How many birds are there?", "What is the length?")


def test_a_guesser_of_words_knows_values_that_are_often_right_where_they_are_asked_for() -> None:
    luck = np.random.default_rng(3)
    questions, texts, silent = [], [], []
    for number in range(160):
        birds = number % 2 == 0
        gold = "2" if (luck.random() < 0.5) == birds else "7"
        others = luck.permutation([text for text in map(str, range(10)) if text != gold])[:7].tolist()
        questions.append(ASKED[not birds])
        texts.append([gold, *others])
        silent.append(luck.permutation(texts[-1]).tolist())
    given = [list(range(8))] * 160
    for offered, low, high in ((texts, 0.4, 0.85), (silent, 0.05, 0.21)):
        scores = WordGuesser(questions, offered).scores(given, luck)
        hits = [(one[0] == one.max()) / (one == one.max()).sum() for one in scores]
        assert low < np.mean(hits) < high


def test_a_number_that_is_often_right_is_worth_less_where_it_is_offered_than_by_lot() -> None:
    """Of 90 counts 18 are "2". Whoever takes what was right most often elsewhere shall gain little by it."""
    luck = np.random.default_rng(6)
    golds = [*["2"] * 18, *map(str, luck.integers(3, 13, 72))]
    others = [tuple(text for text in map(str, range(1, 16)) if text != gold) for gold in golds]
    tables = [
        Candidates(gold=gold, candidates=texts, need=4, group="counts", question=ASKED[0])
        for gold, texts in zip(golds, others, strict=True)
    ]
    by_lot = [luck.permutation(14)[:4].tolist() for _ in golds]
    hits = []
    for given in (by_lot, deal(tables, random.Random(4))):
        sets = [[gold, *(texts[at] for at in own)] for gold, texts, own in zip(golds, others, given, strict=True)]
        offered, right = Counter(text for own in sets for text in own), Counter(golds)
        credit = 0.0
        for gold, *wrong in sets:
            best = max((right[text] / offered[text], text) for text in wrong)
            credit += (right[gold] - 1) / offered[gold] > best[0]
        hits.append(credit / len(sets))
    assert hits[1] < 0.75 * hits[0]


def test_how_wide_a_dealt_set_is_does_not_tell_where_its_gold_stands() -> None:
    luck = np.random.default_rng(2)
    golds = np.round(np.exp(luck.uniform(6, 9, 90))).tolist()
    values = [values_around(gold, luck) for gold in golds]
    tables = [
        Candidates(gold=f"{gold:.0f}", candidates=tuple(f"{value:.0f}" for value in others), need=9, group="numbers")
        for gold, others in zip(golds, values, strict=True)
    ]
    dealt = deal(tables, random.Random(4))
    offered = np.array(
        [[gold, *(others[at] for at in given)] for gold, others, given in zip(golds, values, dealt, strict=True)]
    )
    ranks, widths = gold_ranks(offered), np.log(offered.max(axis=1) / offered.min(axis=1))
    assert stats.chisquare(np.bincount(ranks.astype(int), minlength=10)).pvalue > 0.05
    assert abs(stats.spearmanr(np.abs(ranks - 4.5), widths).statistic) < 0.25
