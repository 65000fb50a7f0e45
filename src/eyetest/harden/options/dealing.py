"""Choose a batch's distractors from random sets, repeatedly making sets less likely whose key a learner predicts."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np

from eyetest.harden.options.learners import LEAST_ITEMS, CrossFitted, Family, Features, Floats, Ints, Relations
from eyetest.probes.features import MEASURES, number_of
from eyetest.reform.distractors.number_sets import SetDrawer
from eyetest.text import key

_SETS = 48
_LINEAR_ROUNDS, _ROUNDS = 10, 3  # how often a linear learner, then one of the seed's family, looks for remaining cues
# Factors from which the one is chosen that turns a learner's scores into probabilities best
_CERTAINTIES = np.array([0.0, 2.0, 4.0, 7.0, 10.0, 14.0, 20.0, 28.0])
_SHRUNK = 6.0  # offers of a text after which its observed rate of being right weighs as much as the expected rate
_OFFERS = 1.0  # how much it counts that texts are offered as often as they are right, beside what learners find
_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")


class Candidates(msgspec.Struct, frozen=True, kw_only=True):
    """An item that needs distractors."""

    gold: str
    present: tuple[str, ...] = ()
    candidates: tuple[str, ...]  # no two candidates or present options say the same
    need: int  # how many candidates the item is given, at most as many as there are
    weights: tuple[float, ...] = ()  # relative probability that each candidate is drawn; empty: all equal
    group: str = ""  # items whose texts are compared with each other: same kind and format
    question: str = ""

    @property
    def asks(self) -> str:
        """Beginning of the question itself, which shows what is asked for."""
        last = re.split(r"(?<=[.!?])\s+", self.question.strip())[-1]
        return " ".join(_WORD.findall(last.lower())[:2])

    @property
    def size(self) -> int:
        """Number of options in the end."""
        return 1 + len(self.present) + self.need


def deal(tables: Sequence[Candidates], chance: random.Random, family: Family = "trees") -> list[list[int]]:
    """Choose, for each item, the positions of the candidates that it is given."""
    rng = np.random.default_rng(chance.getrandbits(64))
    offers = _Offers(tables)
    hands = [_Hand(table, offers, rng) for table in tables]
    open_hands = [hand for hand in hands if len(hand.sets) > 1]
    offers.choose(hands, rng)
    rounds: list[Family] = [*["linear"] * _LINEAR_ROUNDS, *[family] * _ROUNDS]  # type: ignore[list-item]
    for learner in rounds if len(open_hands) >= LEAST_ITEMS else ():
        _unlearn(open_hands, offers, learner, rng)
        offers.choose(open_hands, rng)
    return [hand.sets[hand.taken] for hand in hands]


class _Hand:
    """Possible sets of an item; in rows and columns of options the key comes first."""

    def __init__(self, table: Candidates, offers: "_Offers", rng: np.random.Generator) -> None:
        texts = [table.gold, *table.present, *table.candidates]
        fixed = 1 + len(table.present)
        values = [number_of(text) for text in texts]
        numbers = None if None in values else np.array(values, np.float64)
        weights = table.weights or (1.0,) * len(table.candidates)
        unit = 10.0 ** -MEASURES["decimals"](table.gold)
        self.sets = SetDrawer(table.need, weights, numbers, unit).draw(_SETS, rng) or [[]]
        self.rows: Ints = np.array([[*range(fixed), *(fixed + at for at in own)] for own in self.sets], np.int64)
        self.names: Ints = np.array([offers.names(table, text) for text in texts], np.int64)
        self.relations = Relations(table.question, texts)
        self.logits: Floats = rng.gumbel(size=len(self.sets))
        self.taken, self.is_given = 0, False

    def features(self, offered: Floats) -> Features:
        """Sets × options × features, by the present offers."""
        elsewhere = offered[self.names[:, 0]].copy()
        elsewhere[self.rows[self.taken]] -= 1
        return self.relations.features(self.rows, elsewhere)


def _unlearn(hands: Sequence[_Hand], offers: "_Offers", family: Family, rng: np.random.Generator) -> None:
    """Make sets less likely in which a learner gives the key more than chance does."""
    drawn = [hand.features(offers.offered) for hand in hands]
    given = [features[hand.taken] for hand, features in zip(hands, drawn, strict=True)]
    learner = CrossFitted(given, family, rng)
    learner.learn([np.eye(1, len(rows)).T for rows in given])
    flat = learner.scores([features.reshape(-1, features.shape[2]) for features in drawn])
    scores = [part.reshape(features.shape[:2]) for features, part in zip(drawn, flat, strict=True)]
    fit = [np.mean([_log_share(own[hand.taken], by) for hand, own in zip(hands, scores, strict=True)])
           for by in _CERTAINTIES]  # fmt: skip
    certainty = _CERTAINTIES[int(np.argmax(fit))]
    for hand, own in zip(hands, scores, strict=True):
        hand.logits -= _log_share(own, certainty)


def _log_share(scores: Floats, certainty: float) -> Floats:
    """Log probability that scores give the first option."""
    scaled = certainty * (scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(scaled[..., 0] - np.log(np.exp(scaled).sum(axis=-1)))


class _Offers:
    """How often each text is offered, and should be: as often as it is right, times the options."""

    def __init__(self, tables: Sequence[Candidates]) -> None:
        self._names: dict[tuple[str, str], int] = {}
        right, before, wanted = Counter[int](), Counter[int](), defaultdict[int, float](float)
        for table in tables:
            share = 1 / (1 + len(table.present))
            for text in (table.gold, *table.present):
                for name in self.names(table, text):
                    before[name] += 1
                    wanted[name] += share * table.size
            for name in self.names(table, table.gold):
                right[name] += table.size
        for table in tables:
            for text in table.candidates:
                self.names(table, text)
        self._targets, self.offered = np.zeros(len(self._names)), np.zeros(len(self._names))
        for name, seen in before.items():
            known = seen / (seen + _SHRUNK)
            self._targets[name] = known * right[name] + (1 - known) * wanted[name]

    def names(self, table: Candidates, text: str) -> list[int]:
        """The numbers of a text: among those of its group, and among those of questions that begin alike."""
        groups = (table.group, f"{table.group}/{table.asks}")
        return [self._names.setdefault((group, key(text)), len(self._names)) for group in groups]

    def choose(self, hands: Sequence[_Hand], rng: np.random.Generator) -> None:
        """Give each item, in random order, the set that is likeliest by its logits and by what is offered."""
        for at in rng.permutation(len(hands)).tolist():
            hand = hands[at]
            names = hand.names[hand.rows].reshape(len(hand.sets), -1)
            if hand.is_given:
                self.offered[names[hand.taken]] -= 1
            targets, offered = self._targets[names], self.offered[names]
            costs = ((1 + 2 * (offered - targets)) / (targets + 1)).sum(axis=1)
            hand.taken = int(np.argmax(hand.logits - _OFFERS * costs))
            hand.is_given = True
            self.offered[names[hand.taken]] += 1
