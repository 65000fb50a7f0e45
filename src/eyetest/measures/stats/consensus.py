"""Suspected label errors: which keys models' choices speak against, and how many keys are wrong.

Estimated are an order of the items (`key_evidence`), the share of wrong keys with its interval and
each item's probability (`wrong_share`), and the effective number of independent models
(`relatedness`), below which there are no probabilities. Each module states its formula and
assumptions. `plan_review` says how many items to review first, how many wrong keys are expected
among them, and how many keys that it moves in the same answers are found at this cut: the check is
made on the user's own file, and needs no assumption about the models. Independent checks:
tests/measures/stats/test_consensus.py and tests/measures/test_planted_keys.py.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.measures.stats.intervals import Bools, Floats, Ints, one_thread
from eyetest.measures.stats.key_evidence import Votes, weigh_options
from eyetest.measures.stats.relatedness import independence
from eyetest.measures.stats.wrong_share import LARGEST_SHARE, KeyScores, estimate_share

_RECURS = 30  # a set of options that so many items share tells how readily models give each of them
_FEW_OPTIONS, _SHORT = 5, 100  # such sets have at most so many options, and characters in all


def recurring(answers: Iterable[Sequence[str]]) -> NDArray[np.int64]:
    """Number the options that recur from item to item as whole sets, in any order (yes and no); 0 for all others."""
    texts = [short_texts(own) for own in answers]
    sets = [tuple(sorted(own)) for own in texts]
    often = {own for own, count in Counter(sets).items() if count >= _RECURS and len(set(own)) == len(own)}
    members = [(own, text) for own in sorted(often) for text in own]
    names = {member: number for number, member in enumerate(members, start=1)}
    kinds = np.zeros((len(texts), max(map(len, texts), default=1)), np.int64)
    for row, (own, together) in enumerate(zip(texts, sets, strict=True)):
        kinds[row, : len(own)] = [names.get((together, text), 0) for text in own]
    return kinds


def short_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Comparable forms of options; none where they are too many or long to recur."""
    if len(texts) > _FEW_OPTIONS or sum(map(len, texts)) > _SHORT:
        return ()
    return tuple(" ".join(text.casefold().split()).strip(" .") for text in texts)


INDEPENDENT = 5.0  # with fewer effectively independent models there is an order, and no odds
_FEWEST_REVIEWED = 10
_REVIEWED_WITHOUT_ODDS = 0.02  # share of the items to review first where no number of wrong keys is expected
_PLANTED, _FEWEST_PLANTED, _MOST_PLANTED = 0.05, 50, 400
_MOST_OF_ITEMS = 0.2  # planted keys are at most this share of a small benchmark


class Suspicion(NamedTuple):
    """By item the evidence against its key, and the share of wrong keys."""

    ratios: Floats  # log likelihood ratio of the votes: key wrong against key right
    rivals: Ints  # the option with most votes beside the key
    flawed: Floats  # probability that the key is wrong; NaN with fewer than `INDEPENDENT` independent models
    independent: float  # effective number of independent models
    share: float  # of wrong keys; NaN where no item has a probability
    low: float
    high: float


class ReviewAdvice(NamedTuple):
    """How many items to review first, and what to expect of them."""

    items: int
    expected: float  # wrong keys among them; NaN without odds
    planted: int  # keys that were moved in the same answers
    found: int  # of these, how many would stand among as many items
    counted: int  # the same by a plain count of the models against the key


def suspicion(
    choices: ArrayLike,
    options: ArrayLike,
    golds: ArrayLike,
    kinds: ArrayLike | None = None,
    people: float | None = None,
) -> Suspicion:
    """Return what models' choices say of each key.

    ``choices``: items × models, places from 0, negative where unread; ``kinds``: items × options, numbers of
    `recurring`; ``people``: the share of items that people answer right, which bounds the share of wrong keys.
    """
    votes = make_votes(choices, options, golds, kinds)
    is_read = (votes.chosen >= 0).any(axis=1) & (votes.number > 1)
    bound = LARGEST_SHARE if people is None else min(1 - people, LARGEST_SHARE)
    ratios, flawed = np.zeros(len(votes.keys)), np.full(len(votes.keys), np.nan)
    share = low = high = np.nan
    with one_thread():
        evidence = weigh_options(votes)
        weights = independence(votes.chosen, votes.number, votes.keys)
        enough = ((votes.chosen >= 0) @ weights >= INDEPENDENT) & is_read
        if is_read.any():
            estimate = estimate_share(_scores_of_keys(evidence, votes, is_read), bound)
            ratios[is_read] = estimate.ratios
            flawed[is_read] = estimate.probabilities
            flawed[~enough] = np.nan
        if enough.any():
            share, low, high = estimate.mean, estimate.low, estimate.high
    others = votes.shares
    others[np.arange(len(votes.keys)), votes.keys] = -1.0
    return Suspicion(ratios, others.argmax(axis=1), flawed, float(weights.sum()), share, low, high)


def make_votes(choices: ArrayLike, options: ArrayLike, golds: ArrayLike, kinds: ArrayLike | None = None) -> Votes:
    """Return the votes as arrays of matching sizes; choices beyond an item's options count as unread."""
    number, keys = np.asarray(options, np.int64), np.asarray(golds, np.int64)
    chosen = np.asarray(choices, np.int64)
    chosen = np.where(chosen < number[:, None], chosen, -1)
    most = max(int(number.max(initial=2)), 2)
    of_kind = np.zeros((len(keys), most), np.int64)
    if kinds is not None:
        numbered = np.asarray(kinds, np.int64)[:, :most]
        of_kind[:, : numbered.shape[1]] = numbered
    return Votes(chosen, number, keys, of_kind)


def plan_review(votes: Votes, weighed: Suspicion, seed: int = 0) -> ReviewAdvice:
    """Return how many items to review first: as many as keys are expected wrong, at least ten.

    Keys of random items are moved to random other options, all scores are computed again, and a moved key counts as
    found if fewer items with their given key are more suspect than are reviewed.
    """
    items = len(votes.keys)
    has_odds = bool(np.isfinite(weighed.flawed).any())
    expected_wrong = float(np.nansum(weighed.flawed)) if has_odds else _REVIEWED_WITHOUT_ODDS * items
    cut = min(max(int(np.ceil(expected_wrong)), _FEWEST_REVIEWED), items)
    first = np.argsort(-weighed.ratios, kind="stable")[:cut]
    expected = float(np.nansum(weighed.flawed[first])) if has_odds else float("nan")
    planted, is_planted = _plant(votes, seed)
    with one_thread():
        scores = weigh_options(planted)[np.arange(items), planted.keys]
    found = _found_at_cut(scores, is_planted, cut)
    counted = _found_at_cut(count_against(planted), is_planted, cut)
    return ReviewAdvice(cut, expected, int(is_planted.sum()), found, counted)


def count_against(votes: Votes) -> Floats:
    """By item the number of models against the key, ties by the votes of the leading other option."""
    counts, rows = votes.counts, np.arange(len(votes.keys))
    read = (votes.chosen >= 0).sum(axis=1)
    of_key = counts[rows, votes.keys].copy()
    counts[rows, votes.keys] = 0.0
    return np.asarray(read - of_key + counts.max(axis=1) / (2 * votes.chosen.shape[1] + 1))


def _plant(votes: Votes, seed: int) -> tuple[Votes, Bools]:
    """The votes with keys moved at random in some items that models answered, and in which."""
    rng = np.random.default_rng(seed)
    movable = np.flatnonzero((votes.chosen >= 0).any(axis=1) & (votes.number > 1))
    wanted = max(round(_PLANTED * len(movable)), _FEWEST_PLANTED)
    number = min(wanted, _MOST_PLANTED, int(_MOST_OF_ITEMS * len(movable)))
    moved = rng.choice(movable, number, replace=False)
    steps = 1 + (rng.random(number) * (votes.number[moved] - 1)).astype(np.int64)
    keys = votes.keys.copy()
    keys[moved] = (keys[moved] + steps) % votes.number[moved]
    is_planted = np.zeros(len(keys), bool)
    is_planted[moved] = True
    return votes._replace(keys=keys), is_planted


def _found_at_cut(scores: Floats, is_planted: Bools, cut: int) -> int:
    """How many planted keys have fewer than ``cut`` other items above them; ties count as if drawn at random."""
    others = np.sort(scores[~is_planted])
    planted = scores[is_planted]
    above = len(others) - np.searchsorted(others, planted, side="right")
    tied = len(others) - np.searchsorted(others, planted, side="left") - above
    return round(float(np.clip((cut - above) / (tied + 1), 0.0, 1.0).sum()))


def _scores_of_keys(evidence: Floats, votes: Votes, is_read: Bools) -> KeyScores:
    """The scores of the given keys of items that were read, and of all other options."""
    number, keys, rows = votes.number[is_read], votes.keys[is_read], np.arange(int(is_read.sum()))
    scores, is_wrong = evidence[is_read], votes.is_open[is_read]
    given = scores[rows, keys]
    is_wrong[rows, keys] = False
    weights = (is_wrong / (number - 1)[:, None])[is_wrong]
    return KeyScores(given, scores[is_wrong], weights, float(number.mean()))


def most_chosen(choices: Iterable[int]) -> int | None:
    """The option that a model chose most often; None where none was read or two lead."""
    votes = Counter(choices)
    leading = [option for option, count in votes.items() if count == max(votes.values())]
    return leading[0] if len(leading) == 1 else None
