"""Suspected label errors: which keys models' choices speak against, and how many keys are wrong.

Estimated are an order of the items (`key_evidence`), the share of wrong keys and each item's
probability (`wrong_share`), the interval of the share (`share_interval`), and the effective number
of independent models (`relatedness`). Where fewer than `INDEPENDENT` of them answered, an item has
no probability, and neither has any where the models' answers do not identify the share. Each module
states its formula and assumptions. `plan_review` says how many items to review first, how
many wrong keys are expected among them, and how many keys that it moves in the same answers are
found at this cut: the check is made on the user's own file, and assumes nothing of the models, but
that wrong keys fall on the other options at random, as the moved ones do. Independent checks:
tests/measures/stats/test_consensus.py and tests/measures/test_planted_keys.py.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.measures.stats.intervals import Bools, Floats, Ints, one_thread
from eyetest.measures.stats.key_evidence import Votes, move_keys, weigh_options
from eyetest.measures.stats.relatedness import independence
from eyetest.measures.stats.share_interval import find_interval, scores_of_keys
from eyetest.measures.stats.wrong_share import LARGEST_SHARE, estimate_share

INDEPENDENT = 5.0  # with fewer effectively independent models there is an order, and no odds
_RECURS = 30  # with fewer items of a set of options, how readily models give each of them is not known
_FEW_OPTIONS, _SHORT = 5, 100  # most options, and characters in all, of a set that may recur
_FEWEST_REVIEWED = 10
_REVIEWED_WITHOUT_ODDS = 0.02  # share of the items to review first where no number of wrong keys is expected
_PLANTED, _FEWEST_PLANTED, _MOST_PLANTED = 0.05, 50, 400  # share of keys to move, and limits of their number
_MOST_OF_ITEMS = 0.2  # planted keys are at most this share: in small benchmarks more would bias the fit to the keys


def recurring(answers: Iterable[Sequence[str]]) -> NDArray[np.int64]:
    """Return, items × options, numbers of options that recur from item to item in a whole set, and 0 for all others.

    Sets may stand in any order (yes and no, no and yes). ``answers``: the texts of each item's options. A text has
    another number in another set. A set in which two options are alike has none.
    """
    texts = [short_texts(options) for options in answers]
    sets = [tuple(sorted(options)) for options in texts]
    counts = Counter(sets)
    recurrent = sorted(each for each in counts if counts[each] >= _RECURS and len(set(each)) == len(each))
    members = [(option_set, text) for option_set in recurrent for text in option_set]
    numbers = {member: number for number, member in enumerate(members, start=1)}
    kinds = np.zeros((len(texts), max(map(len, texts), default=1)), np.int64)
    for row, (options, option_set) in enumerate(zip(texts, sets, strict=True)):
        kinds[row, : len(options)] = [numbers.get((option_set, text), 0) for text in options]
    return kinds


def short_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Return comparable forms of options; an empty tuple where they are too many or too long to recur."""
    if len(texts) > _FEW_OPTIONS or sum(map(len, texts)) > _SHORT:
        return ()
    return tuple(" ".join(text.casefold().split()).strip(" .") for text in texts)


class Suspicion(NamedTuple):
    """By item the evidence against its key, and the share of wrong keys."""

    ratios: Floats  # log likelihood ratio of the votes: key wrong against key right; 0 where no choice was read
    rivals: Ints  # the option with most votes beside the key
    flawed: Floats  # probability that the key is wrong; NaN below `INDEPENDENT` models or without an identified share
    independent: float  # effective number of independent models
    share: float  # of wrong keys among items with a choice; NaN where no item has a probability
    low: float  # lower end of the 95 % interval of the share; 0 where the panel does not identify it
    high: float  # NaN, and ``low`` too, below `INDEPENDENT` models
    recognition: float  # how surely moved keys are recognised (`share_interval`); NaN below `INDEPENDENT` models
    most_answers: float  # effective number of independent models that answered one item, the largest of all items

    @property
    def why_no_odds(self) -> str:
        """Why no item has a probability; empty where items have one."""
        if not math.isnan(self.share):
            return ""
        if not math.isnan(self.recognition):
            return "these models' answers do not identify the number of wrong golds"
        if self.most_answers == 0:
            return "no choice of any model was read"
        if self.independent >= INDEPENDENT:
            few = f"no item was answered by {INDEPENDENT:g} independent models"
            return f"{few}; the most of an item are {self.most_answers:.1f}"
        few = f"models count as {self.independent:.1f} independent ones by their agreement on wrong answers"
        return f"{few}, below {INDEPENDENT:g}"


class ReviewAdvice(NamedTuple):
    """How many items to review first, and what to expect of them."""

    items: int
    expected: float  # wrong keys among them; NaN without odds
    planted: int  # keys that were moved in the same answers
    found: int  # moved keys that would stand among the items to review first
    counted: int  # the same if items were ordered by a plain count of the models against the key


def suspicion(
    choices: ArrayLike,
    options: ArrayLike,
    golds: ArrayLike,
    kinds: ArrayLike | None = None,
    people: float | None = None,
) -> Suspicion:
    """Return what models' choices say of each key.

    ``choices``: items × models, places from 0, negative where unread; ``options``: how many options each item has;
    ``golds``: the place of each item's given key; ``kinds``: items × options, numbers of `recurring`; ``people``: the
    share of items that people answer right: no larger share of keys than the rest can be wrong.
    """
    votes = make_votes(choices, options, golds, kinds)
    is_read = votes.is_read
    read_votes = votes.only(is_read)  # the others would change what is standardised over the items
    bound = LARGEST_SHARE if people is None else min(1 - people, LARGEST_SHARE)
    ratios, flawed = np.zeros(len(votes.keys)), np.full(len(votes.keys), np.nan)
    share = low = high = recognition = np.nan
    with one_thread():
        weights = independence(read_votes.chosen, read_votes.number, read_votes.keys)
        independent_answers = (votes.chosen >= 0) @ weights
        has_odds = is_read & (independent_answers >= INDEPENDENT)
        if is_read.any():
            scores = scores_of_keys(read_votes)
            estimate = estimate_share(scores, bound)
            ratios[is_read] = estimate.ratios
        if has_odds.any():
            interval = find_interval(read_votes, scores, estimate.mean, bound)
            low, high, recognition = interval.low, interval.high, interval.recognition
            if interval.is_identified:
                share = estimate.mean
                flawed[is_read] = estimate.probabilities
                flawed[~has_odds] = np.nan
    shares_of_others = votes.shares
    shares_of_others[np.arange(len(votes.keys)), votes.keys] = -1.0
    rivals = shares_of_others.argmax(axis=1)
    most_answers = float(independent_answers[is_read].max(initial=0.0))
    return Suspicion(ratios, rivals, flawed, float(weights.sum()), share, low, high, recognition, most_answers)


def make_votes(choices: ArrayLike, options: ArrayLike, golds: ArrayLike, kinds: ArrayLike | None = None) -> Votes:
    """Return the votes as arrays of matching sizes, from parameters as of `suspicion`.

    A choice beyond an item's options counts as unread. Models without a choice are left out.
    """
    number, keys = np.asarray(options, np.int64), np.asarray(golds, np.int64)
    chosen = np.asarray(choices, np.int64)
    chosen = np.where(chosen < number[:, None], chosen, -1)
    most = max(int(number.max(initial=2)), 2)
    of_kind = np.zeros((len(keys), most), np.int64)
    if kinds is not None:
        numbered = np.asarray(kinds, np.int64)[:, :most]
        of_kind[:, : numbered.shape[1]] = numbered
    return Votes(chosen, number, keys, of_kind).of_answering_models


def plan_review(votes: Votes, weighed: Suspicion, seed: int = 0) -> ReviewAdvice:
    """Return how many items to review first: as many as keys are expected wrong, at least ten.

    Without odds it is 2 % of the items. Keys of random items are moved to random other options and the evidence is
    computed again. A moved key counts as found if it would be reviewed: if the number of items with their given key
    that are more suspect is below the number to review.
    """
    items = len(votes.keys)
    has_odds = bool(np.isfinite(weighed.flawed).any())
    expected_wrong = float(np.nansum(weighed.flawed)) if has_odds else _REVIEWED_WITHOUT_ODDS * items
    cut = min(max(int(np.ceil(expected_wrong)), _FEWEST_REVIEWED), items)
    first = np.argsort(-weighed.ratios, kind="stable")[:cut]
    expected = float(np.nansum(weighed.flawed[first])) if has_odds else float("nan")
    planted, is_planted = _plant(votes, seed)
    is_read = votes.is_read
    scores = np.full(items, -np.inf)
    if is_read.any():
        with one_thread():
            evidence = weigh_options(planted.only(is_read))
        scores[is_read] = evidence[np.arange(len(evidence)), planted.keys[is_read]]
    found = _found_at_cut(scores, is_planted, cut)
    counted = _found_at_cut(count_against(planted), is_planted, cut)
    return ReviewAdvice(cut, expected, int(is_planted.sum()), found, counted)


def count_against(votes: Votes) -> Floats:
    """Return by item the number of models against the key.

    A fraction below ½ is added, which orders ties by the votes of the leading other option.
    """
    counts = votes.counts
    rows = np.arange(len(votes.keys))
    choices = (votes.chosen >= 0).sum(axis=1)
    votes_for_key = counts[rows, votes.keys].copy()
    counts[rows, votes.keys] = 0.0
    tie_break = counts.max(axis=1) / (2 * votes.chosen.shape[1] + 1)
    return np.asarray(choices - votes_for_key + tie_break)


def _plant(votes: Votes, seed: int) -> tuple[Votes, Bools]:
    """The votes with the keys of some random items moved that models answered, and by item whether its key was."""
    rng = np.random.default_rng(seed)
    movable = np.flatnonzero(votes.is_read)
    wanted = max(round(_PLANTED * len(movable)), _FEWEST_PLANTED)
    number = min(wanted, _MOST_PLANTED, int(_MOST_OF_ITEMS * len(movable)))
    moved = rng.choice(movable, number, replace=False)
    is_planted = np.zeros(len(votes.keys), bool)
    is_planted[moved] = True
    return move_keys(votes, moved, rng), is_planted


def _found_at_cut(scores: Floats, is_planted: Bools, cut: int) -> int:
    """How many planted keys have fewer than ``cut`` given keys above them, on average over random orders of ties."""
    scores_of_given = np.sort(scores[~is_planted])
    planted = scores[is_planted]
    above = len(scores_of_given) - np.searchsorted(scores_of_given, planted, side="right")
    tied = len(scores_of_given) - np.searchsorted(scores_of_given, planted, side="left") - above
    probabilities = np.clip((cut - above) / (tied + 1), 0.0, 1.0)
    return round(float(probabilities.sum()))


def most_chosen(choices: Iterable[int]) -> int | None:
    """Return the option that a model chose most often; None where none was read or two lead."""
    votes = Counter(choices)
    leading = [option for option, count in votes.items() if count == max(votes.values())]
    return leading[0] if len(leading) == 1 else None
