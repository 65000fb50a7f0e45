"""Do models agree on another answer than the gold? How likely what they chose is if each option were the right one.

Counting wrong answers cannot tell a hard item from one whose gold is wrong. Where the gold is wrong, skilled models
meet on the same other option. Four things are weighed against that, each learnt from the answers themselves: how
skilled each model is, how much harder than usual the item may be, how unevenly wrong answers are spread anyway, and,
where the same answers recur (yes and no), how readily each model gives each of them. A model that likes to say yes
hardly speaks against a "no"; its "no" speaks loudly against a "yes".
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, gammaln, log_expit, logsumexp

from eyetest.measures.stats.intervals import Floats, Ints, one_thread

_HARDNESS: Floats = np.linspace(-4.0, 4.0, 49)
"""How hard an item may be, in standard deviations."""
_SKILL_SPREAD = 3.0
_KINDS_DIFFER = 0.7
"""How far a model's skill at one kind of answer is expected to be from its mean over kinds."""
_ROUNDS, _TOLERANCE = 200, 1e-4
_EVENNESS: Floats = np.geomspace(0.05, 50.0, 31)
"""Dirichlet parameters: at .05 nearly all wrong answers fall on one option, at 50 they spread evenly."""
_ITEMS_AT_ONCE = 20_000
_ENOUGH_ITEMS = 20_000
"""More items than these, taken evenly from all, would not make skills known any better that matters."""


_RECURS = 30
"""A set of options that so many items share tells how readily models give each of them."""
_FEW_OPTIONS, _SHORT = 5, 100
"""Such sets have at most so many options, and characters in all."""


class SkillFit(NamedTuple):
    """What golds say of models and items: P(right) = σ(skill − spread · hardness)."""

    skills: Floats
    """By model, or by kind of answer and model where answers recur."""
    spread: float
    evenness: float


class Suspicion(NamedTuple):
    """By item: log likelihood of the best rival less that of the gold, and which option the rival is."""

    ratios: Floats
    rivals: Ints


def suspicion(choices: ArrayLike, options: ArrayLike, golds: ArrayLike, kinds: ArrayLike | None = None) -> Suspicion:
    """How much better another option explains the choices than the gold does, for items of two options or more.

    ``choices`` has a row an item and a column a model: places of options from 0, negative where no answer was read,
    which says nothing. A model has one voice, however often it was asked. With no answers the ratio is 0. ``kinds``
    has a row an item and a column an option: which recurring answer it is (`recurring`), 0 for all others.
    """
    chosen, number, gold = (np.asarray(values, np.int64) for values in (choices, options, golds))
    chosen = np.where(chosen < number[:, None], chosen, -1)
    kind = np.zeros((len(gold), number.max(initial=1)), np.int64)
    if kinds is not None:
        given = np.asarray(kinds, np.int64)[:, : kind.shape[1]]
        kind[:, : given.shape[1]] = given
    some = slice(None, None, -(-len(gold) // _ENOUGH_ITEMS) or 1)
    parts = [slice(start, start + _ITEMS_AT_ONCE) for start in range(0, max(len(gold), 1), _ITEMS_AT_ONCE)]
    with one_thread():
        panel = learn(chosen[some], number[some], gold[some], kind[some])
        compared = [
            _compare(likelihoods(chosen[part], number[part], panel, kind[part]), gold[part]) for part in parts
        ]
    return Suspicion(*(np.concatenate(values) for values in zip(*compared, strict=True)))


def recurring(answers: Iterable[Sequence[str]]) -> Ints:
    """Which options are answers that come back from item to item: a number for each of them, 0 for all others.

    ``answers``: the texts of each item's options. Sets of options recur whole, in any order: yes and no, but not a
    "yes" among other things.
    """
    texts = [short_texts(own) for own in answers]
    sets = [tuple(sorted(own)) for own in texts]
    often = {own for own, count in Counter(sets).items() if count >= _RECURS and len(set(own)) == len(own)}
    members = [(own, text) for own in sorted(often) for text in own]
    names = {member: number for number, member in enumerate(members, start=1)}
    kinds = np.zeros((len(texts), max(map(len, texts), default=1)), np.int64)
    for row, (own, together) in enumerate(zip(texts, sets, strict=True)):
        kinds[row, : len(own)] = [names.get((together, text), 0) for text in own]
    return kinds


def voice(choices: Iterable[int]) -> int | None:
    """The option that a model chose most often; None where none was read or two lead."""
    votes = Counter(choices)
    leading = [option for option, count in votes.items() if count == max(votes.values())]
    return leading[0] if len(leading) == 1 else None


def short_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Options as far as it matters for being the same answers; none where they are too many or long to recur."""
    if len(texts) > _FEW_OPTIONS or sum(map(len, texts)) > _SHORT:
        return ()
    return tuple(" ".join(text.casefold().split()).strip(" .") for text in texts)


def learn(chosen: Ints, number: Ints, gold: Ints, kinds: Ints | None = None) -> SkillFit:
    """Skills, and how items differ, taking the golds at their word: few enough are wrong.

    A model's skill is learnt apart for golds of each recurring kind, as if it were another model there.
    """
    models, of_gold = chosen.shape[1], np.zeros(len(gold), np.int64)
    if kinds is not None:
        of_gold = kinds[np.arange(len(gold)), gold]
    several = 1 if kinds is None else int(kinds.max(initial=0)) + 1
    read, right = (chosen >= 0).astype(float), (chosen == gold[:, None]).astype(float)
    if several > 1:
        apart = (of_gold[:, None] == np.arange(several)).astype(float)
        read, right = ((apart[:, :, None] * part[:, None, :]).reshape(len(gold), -1) for part in (read, right))
    skills, spread, prior = np.zeros(models * several), 1.0, _SKILL_SPREAD if several == 1 else _KINDS_DIFFER
    for _ in range(_ROUNDS):
        logits = skills[:, None] - spread * _HARDNESS
        likely = _shares(right @ logits + read @ log_expit(-logits) - _HARDNESS**2 / 2)
        chance, tried = expit(logits), read.T @ likely
        usual = np.tile(skills.reshape(several, models).mean(axis=0), several) if several > 1 else 0.0
        pull = (right.T @ likely - tried * chance).sum(1) - (skills - usual) / prior**2
        step = pull / ((tried * chance * (1 - chance)).sum(1) + prior**-2)
        before, spread = spread, spread * float(np.sqrt((likely @ _HARDNESS**2).mean())) if len(likely) else spread
        skills = skills + np.clip(step, -1.0, 1.0)
        if max(np.abs(step).max(initial=0.0), abs(spread - before)) < _TOLERANCE:
            break
    wrong = np.where(_places(number) == gold[:, None], np.nan, _counts(chosen, number))
    evenness = max(_EVENNESS, key=lambda evenness: float(_spread_over(wrong, evenness).sum()))
    return SkillFit(skills if several == 1 else skills.reshape(several, models), spread, evenness)


def likelihoods(chosen: Ints, number: Ints, panel: SkillFit, kinds: Ints | None = None) -> Floats:
    """Log likelihood of an item's choices if each of its options were the right one: items × options, −∞ beyond them.

    Right answers come by skill, averaged over how hard the item may be. Wrong ones fall on the other options, some of
    which attract more than others, and nobody knows beforehand which.
    """
    counts = _counts(chosen, number)
    read = (chosen >= 0).astype(float)
    likely = np.log(_shares(-(_HARDNESS**2) / 2))
    logs = np.full(counts.shape, -np.inf)
    for option in range(counts.shape[1]):
        wrong = counts.copy()
        wrong[:, option] = np.nan
        hits = (chosen == option).astype(float)
        kind_of = kinds[:, option] if kinds is not None else np.zeros(len(chosen), np.int64)
        by_skill = np.empty(len(chosen))
        for kind in np.unique(kind_of):
            mine = kind_of == kind
            logits = np.atleast_2d(panel.skills)[kind][:, None] - panel.spread * _HARDNESS
            by_skill[mine] = logsumexp(read[mine] @ log_expit(-logits) + hits[mine] @ logits + likely, axis=1)
        logs[:, option] = by_skill + _spread_over(wrong, panel.evenness)
    return np.where(_places(number) < number[:, None], logs, -np.inf)


def _compare(logs: Floats, gold: Ints) -> tuple[Floats, Ints]:
    items = np.arange(len(gold))
    rivals = logs.copy()
    rivals[items, gold] = -np.inf
    best = rivals.argmax(axis=1)
    return rivals[items, best] - logs[items, gold], best


def _places(number: Ints) -> Ints:
    return np.arange(number.max(initial=1))[None, :]


def _counts(chosen: Ints, number: Ints) -> Floats:
    """How many models chose each option; nan beyond the item's options."""
    places = _places(number)
    counts = np.stack([(chosen == option).sum(axis=1) for option in places[0]], axis=1).astype(float)
    return np.where(places < number[:, None], counts, np.nan)


def _spread_over(counts: Floats, evenness: float) -> Floats:
    """Log probability of choices in their order, on options of unknown attraction (Dirichlet-multinomial)."""
    open_ = ~np.isnan(counts)
    among, total = open_.sum(axis=1) * evenness, np.where(open_, counts, 0.0).sum(axis=1)
    each = np.where(open_, gammaln(np.where(open_, counts, 0.0) + evenness) - gammaln(evenness), 0.0)
    return np.asarray(each.sum(axis=1) + gammaln(among) - gammaln(among + total))


def _shares(logs: Floats) -> Floats:
    likely = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=-1, keepdims=True))
