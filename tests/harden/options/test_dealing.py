"""Sets of options in which the key is one draw among others, and what learners that guess keys do about the rest."""

import random
from collections import Counter
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from eyetest.harden.options.dealing import deal, exchangeable
from eyetest.records import Item
from eyetest.reform.distractors.answer_kinds import AnswerKind, WrittenNumber
from eyetest.reform.distractors.number_sets import NumberPool, NumberQuestion
from eyetest.reform.distractors.written import Case
from tests.harden.options.items import numeric_items


def question(key: object, words: str = "How much is it?") -> NumberQuestion:
    return NumberQuestion(words, WrittenNumber.known(str(key)), AnswerKind("number"))


def drawn(asked: NumberQuestion, pool: NumberPool, chance: random.Random) -> list[float]:
    texts = pool.draw(asked, 9, lambda text: False, chance)
    return [float(asked.key.value), *(float(WrittenNumber.known(text).value) for text in texts)]


def test_a_set_of_large_numbers_could_have_been_drawn_around_any_of_its_members() -> None:
    chance = random.Random(5)
    asked = [question(round(10 ** chance.uniform(3.4, 5.5))) for _ in range(400)]
    pool = NumberPool(asked, 10)
    offered = np.array([drawn(one, pool, chance) for one in asked])
    assert np.all(offered.max(axis=1) / offered.min(axis=1) < 5.2)
    ranks = (offered[:, 1:] < offered[:, :1]).sum(axis=1)
    assert stats.chisquare(np.bincount(ranks, minlength=10)).pvalue > 0.01
    apart = np.abs(offered[:, :, None] - offered[:, None, :]) / np.maximum(offered[:, :, None], offered[:, None, :])
    apart[:, np.arange(10), np.arange(10)] = 1
    assert np.all(apart > 0.05)
    zeros = np.vectorize(lambda value: len(str(int(value))) - len(str(int(value)).rstrip("0")))(offered)
    assert zeros[:, 1:].mean() == pytest.approx(zeros[:, 0].mean(), abs=0.1)


def test_how_often_a_number_is_offered_does_not_show_the_key_of_an_open_question() -> None:
    chance = random.Random(8)
    asked = [question(f"{chance.lognormvariate(3, 0.7):.1f}") for _ in range(300)]
    pool = NumberPool(asked, 10)
    sets = [drawn(one, pool, chance) for one in asked]
    offers = Counter(value for own in sets for value in own)
    rare = [at == 0 for own in sets for at, value in enumerate(own) if offers[value] < 4]
    common = [at == 0 for own in sets for at, value in enumerate(own) if offers[value] > 3]
    assert 0.05 < np.mean(rare) < 0.2
    assert 0.08 < np.mean(common) < 0.12


def test_shares_end_at_their_bounds() -> None:
    half = question("0.55", "What is the probability?")
    assert (half.least, half.most) == (Decimal(0), Decimal(1))
    assert question("45 %").most == 100
    assert question(-4).least == Decimal("-Infinity")


def test_what_a_learner_finds_is_evened_out() -> None:
    """Keys are odd. Of candidates every second is; chosen are more."""
    chance = random.Random(3)
    tables = []
    for _ in range(90):
        gold = 2 * chance.randint(200, 900) + 1
        others = chance.sample(range(gold // 2, 2 * gold), 40)
        texts = [str(value) for value in others if abs(value - gold) > 0.06 * gold]
        case = Case(Item(id="i", question="How much?"), str(gold), need=5)
        tables.append((case, dict.fromkeys(texts, 1.0)))
    odd = [int(text) % 2 for own in deal(tables, chance) for text in own]
    assert np.mean(odd) > 0.58


def test_items_are_kept_such_that_what_shows_the_key_shows_it_no_more() -> None:
    """The key is the largest of five in 3 of 5 items; neither that nor its opposite holds among those kept."""
    chance = random.Random(5)
    asked = []
    for _ in range(400):
        texts = [str(value) for value in sorted(chance.sample(range(1000, 9000), 5), reverse=True)]
        at = 0 if chance.random() < 0.5 else chance.randrange(5)
        asked.append(("How much is it?", [texts[at], *texts[:at], *texts[at + 1 :]]))
    kept = [
        texts
        for (_, texts), is_kept in zip(asked, exchangeable(asked, np.random.default_rng(1)), strict=True)
        if is_kept
    ]
    assert len(kept) > 100
    assert 0.1 < np.mean([texts[0] == max(texts) for texts in kept]) < 0.3


def test_items_without_cues_are_kept() -> None:
    asked = [
        (item.question, [choice.text for choice in sorted(item.choices, key=lambda choice: not choice.correct)])
        for item in numeric_items(200, 6, 4)
    ]
    assert np.mean(exchangeable(asked, np.random.default_rng(2))) > 0.8
    assert all(exchangeable(asked[:20], np.random.default_rng(2)))


def test_an_option_that_is_never_right_costs_few_items() -> None:
    """One of ten numbers is far too large. A guess that leaves it out is right in one of nine."""
    chance = random.Random(4)
    items = []
    for _ in range(300):
        plausible = chance.sample(range(1000, 9000), 9)
        too_large = chance.randrange(100_000, 900_000)
        items.append(("How much is it?", [*map(str, plausible), str(too_large)]))
    assert np.mean(exchangeable(items, np.random.default_rng(1))) > 0.6


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_cue_of_words_is_hidden_by_distractors_that_share_it(seed: int) -> None:
    """Keys have five words, as a third of the proposals. The place of a key in its set must not tell which it is."""
    chance = random.Random(seed)
    cases = []
    for number in range(100):
        key, *proposals = (phrase(chance, 5) for _ in range(9))
        proposals += [phrase(chance, 2) for _ in range(16)]
        item = Item(id=str(number), question=f"Which {phrase(chance, 1)}?")
        cases.append((Case(item, key, need=3), dict.fromkeys(proposals, 1.0)))
    dealt = [text for texts in deal(cases, chance) for text in texts]
    share = sum(len(text.split()) == 5 for text in dealt) / len(dealt)
    assert share > 0.5, "a third is long by chance"


WORDS = [f"{first}{second}" for first in ("am", "bir", "ce", "del") for second in ("ber", "ch", "dar", "ta")]


def phrase(chance: random.Random, count: int) -> str:
    return " ".join(chance.sample(WORDS, count))
