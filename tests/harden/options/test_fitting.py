"""Numbers that fit their question: what similar questions offer, and what the numbers of the question give."""

import random

import numpy as np
import pytest

from eyetest.harden.options.dealing import deal
from eyetest.harden.options.fitting import QuestionFit, question_numbers, simple_results
from eyetest.harden.options.writers import Cases, Numbers, read_written
from eyetest.records import Item
from eyetest.reform.distractors.written import Case

THINGS = ("windows", "legs", "boats", "pages", "coins", "trees", "stairs", "chairs", "birds", "lamps")


def template_cases(count: int, seed: int) -> list[Case]:
    """Open questions by templates, each of which has its own range of keys."""
    chance = random.Random(seed)
    cases = []
    for number in range(count):
        at = number % len(THINGS)
        low = 4 + 3 * at
        item = Item(id=f"t{number}", question=f"How many {THINGS[at]} are in the picture?")
        cases.append(Case(item, str(chance.randint(low, low + 5)), need=9))
    return cases


def dealt_numbers(cases: list[Case], seed: int) -> list[list[int]]:
    """The key and the distractors that each case is given."""
    chance = random.Random(seed)
    propose = Numbers().start(Cases(cases))
    tables = [(case, dict(propose(case, chance))) for case in cases]  # type: ignore[arg-type, var-annotated]
    return [[int(case.gold), *map(int, texts)] for case, texts in zip(cases, deal(tables, chance), strict=True)]


def test_the_results_of_a_question_are_of_two_of_its_numbers() -> None:
    numbers = question_numbers("A box of 12 eggs costs 3 dollars; 12 eggs are boiled.")
    assert numbers == [12, 3]
    assert {15, 9, -9, 36, 4, 0.25} == simple_results(numbers)


def test_numbers_fit_a_question_if_they_are_offered_beside_similar_ones() -> None:
    items = []
    for number in range(80):
        thing, keys = (("legs", ["4", "6"]), ("pages", ["310", "280"]))[number % 2]
        items.append((f"How many {thing} are shown in it?", [*keys, "5", "300"]))
    fit = QuestionFit(items, [2] * len(items))
    labels = np.tile([True, True, False, False], 80)
    folds = np.random.default_rng(1).permutation(np.arange(80) % 4)
    logits = fit.cross_fitted(labels, np.ones(len(labels)), folds).reshape(80, 4)
    assert np.all(logits[:, :2].min(axis=1) > logits[:, 2:].max(axis=1))


def test_distractors_come_from_the_range_of_their_template() -> None:
    cases = template_cases(200, 1)
    apart = []
    for at, numbers in enumerate(dealt_numbers(cases, 2)):
        middle = 6.5 + 3 * (at % len(THINGS))
        apart += [abs(number - middle) for number in numbers[1:]]
    assert np.mean(np.array(apart) <= 3) > 0.35  # at most 5 of 9 can be


def test_results_from_the_question_are_proposed_where_odds_can_be_corrected() -> None:
    question = "The sides are 14 and 35 long. How long are both?"
    cases = [Case(Item(id=f"s{number}", question=question), "49", need=9) for number in range(80)]
    for count, is_proposed in ((80, True), (20, False)):
        texts = set(Numbers().start(Cases(cases[:count]))(cases[0], random.Random(3)))
        assert ({"21", "35", "14"} <= texts) is is_proposed


@pytest.mark.parametrize("text", ["24cm^{2}", "24πcm^{2}", "$24 \\mathrm{~cm}^2$", "24 in^3"])
def test_the_exponent_of_a_unit_belongs_to_the_writing_of_a_number(text: str) -> None:
    number = read_written(text)
    assert number is not None
    assert number.value == 24
    assert number.written(number.value) == text
    assert read_written("2^3") is None
