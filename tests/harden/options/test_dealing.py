"""Sets of options in which the key is one draw among others, and what learners that guess keys do about the rest."""

import random
from collections import Counter
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from eyetest.harden.options.dealing import Candidates, Family, deal, exchangeable, judge
from eyetest.records import Item
from eyetest.reform.distractors.answer_kinds import WrittenNumber
from eyetest.reform.distractors.number_sets import NumberPool, NumberQuestion, SetDrawer, ask_number
from tests.harden.options.items import choice_item, numeric_items


def question(key: object, words: str = "How much is it?") -> NumberQuestion:
    return ask_number(words, WrittenNumber.known(str(key)), (), is_share=False)


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


def test_a_number_of_the_question_is_offered_about_as_often_as_it_is_right_times_the_options() -> None:
    chance = random.Random(2)
    values = [chance.randint(2_001, 7_999) for _ in range(600)]
    named = [value if n % 8 == 0 else round(value * chance.uniform(0.6, 1.6)) for n, value in enumerate(values)]
    asked = [
        question(value, f"It was {name}. How much is it now?") for value, name in zip(values, named, strict=True)
    ]
    pool = NumberPool(asked, 10)
    sets = [drawn(one, pool, chance) for one in asked]
    offered = sum(name in own for name, own in zip(named, sets, strict=True))
    right = sum(name == value for name, value in zip(named, values, strict=True))
    assert 0.05 < right / offered < 0.25
    asked = [question(value, f"It was {value + 1_000}. How much is it now?") for value in values]
    pool = NumberPool(asked, 10)
    never = [drawn(one, pool, chance) for one in asked[:60]]
    assert sum(value + 1_000 in own for value, own in zip(values, never, strict=False)) < 6


def test_shares_end_at_their_bounds() -> None:
    half = question("0.55", "What is the probability?")
    assert (half.least, half.most) == (Decimal(0), Decimal(1))
    assert ask_number("How much?", WrittenNumber.known("45 %"), (), is_share=False).most == 100
    assert question(-4).least == Decimal("-Infinity")


def test_sets_are_drawn_by_weight() -> None:
    rng = np.random.default_rng(1)
    sets = SetDrawer(3, [8.0, 4.0, *[1.0] * 18], None, 1.0).draw(400, rng)
    times = Counter(at for own in sets for at in own)
    assert times[0] > times[1] > 1.5 * times[7]


@pytest.mark.parametrize("family", ["trees", "kernel"])
def test_what_a_learner_finds_is_evened_out(family: Family) -> None:
    """Keys are odd. Of candidates every second is; chosen are more."""
    chance = random.Random(3)
    tables = []
    for _ in range(90):
        gold = 2 * chance.randint(200, 900) + 1
        others = chance.sample(range(gold // 2, 2 * gold), 40)
        texts = tuple(str(value) for value in others if abs(value - gold) > 0.06 * gold)
        tables.append(Candidates(gold=str(gold), candidates=texts, need=5, group="numbers", question="How much?"))
    taken = deal(tables, chance, family)
    odd = [int(table.candidates[at]) % 2 for table, own in zip(tables, taken, strict=True) for at in own]
    assert np.mean(odd) > 0.62


def test_a_number_that_is_often_right_is_worth_less_where_it_is_offered_than_at_random() -> None:
    """Of 90 counts 18 are "2". Taking what was right most often elsewhere gains little."""
    rng = np.random.default_rng(6)
    golds = [*["2"] * 18, *map(str, rng.integers(3, 13, 72))]
    others = [tuple(text for text in map(str, range(1, 16)) if text != gold) for gold in golds]
    tables = [
        Candidates(gold=gold, candidates=texts, need=4, group="counts", question="How many are there?")
        for gold, texts in zip(golds, others, strict=True)
    ]
    at_random = [rng.permutation(14)[:4].tolist() for _ in golds]
    hits = []
    for given in (at_random, deal(tables, random.Random(4))):
        sets = [[gold, *(texts[at] for at in own)] for gold, texts, own in zip(golds, others, given, strict=True)]
        offered, right = Counter(text for own in sets for text in own), Counter(golds)
        credit = 0.0
        for gold, *wrong in sets:
            best = max((right[text] / offered[text], text) for text in wrong)
            credit += (right[gold] - 1) / offered[gold] > best[0]
        hits.append(credit / len(sets))
    assert hits[1] < 0.8 * hits[0]


def largest_is_right(items: list[Item]) -> list[Item]:
    texts = [sorted((choice.text for choice in item.choices), key=int) for item in items]
    return [choice_item(f"l{n}", own, n % 2 + 2) for n, own in enumerate(texts)]


@pytest.mark.parametrize("family", ["trees", "kernel"])
def test_the_judge_sees_what_is_there_and_nothing_else(family: Family) -> None:
    items = numeric_items(150, 4, 1)
    silent, telling = judge(items, family, 0), judge(largest_is_right(items), family, 0)
    assert silent is not None
    assert telling is not None
    assert silent.p > 0.01
    assert telling.accuracy > 0.4
    assert telling.p < 1e-3
    assert judge(items[:20], family, 0) is None


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
