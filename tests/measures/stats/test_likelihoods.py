"""Arithmetic on log-probabilities of choices."""

import math

import numpy as np
import pytest

from eyetest.measures.stats.likelihoods import among_choices, likeliest, moved
from eyetest.records import Choice, Condition, Item, Response, letter
from eyetest.scoring import Scorer

INF, NAN = math.inf, math.nan


def test_the_likeliest_choice_is_the_one_that_scoring_takes() -> None:
    rng = np.random.default_rng(3)
    for options in (1, 2, 3, 5):
        table = rng.choice([-INF, -3.0, -2.0, -1.5, -1.0], size=(200, options))
        item = Item(id="1", question="?", choices=tuple(Choice(f"c{i}", correct=not i) for i in range(options)))
        padded = np.column_stack([table, np.full((200, 2), NAN)])
        for row, chosen in zip(table.tolist(), likeliest(padded).tolist(), strict=True):
            candidates = tuple(None if weight == -INF else weight for weight in row)
            response = Response(request="", outcome="answered", candidates=candidates)
            choice = Scorer().score(item, Condition(method="likelihood"), response).choice
            assert choice == (letter(chosen) if chosen >= 0 else None), row


def test_probability_among_choices_and_how_much_of_it_moves() -> None:
    with np.errstate(divide="ignore"):
        after = np.log([[0.7, 0.2, 0.1], [0.3, 0.1, 0.0], [0.0, 0.0, 0.0], [0.5, 0.25, NAN]])
    before = np.log(np.array([[0.2, 0.3, 0.5], [0.1, 0.3, 0.4], [0.1, 0.1, 0.1], [0.2, 0.6, NAN]]) / 7)
    chances, without = among_choices(after), among_choices(before)
    assert chances[1].tolist() == pytest.approx([0.75, 0.25, 0.0])
    assert np.isnan(chances[2]).all()
    assert chances[3, :2].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert moved(chances, without)[[0, 1, 3]].tolist() == pytest.approx([0.5, 0.625, 2 / 3 - 0.25])
    assert np.isnan(moved(chances, without)[2])
    assert moved(among_choices(after), among_choices(after - 5))[:2].tolist() == pytest.approx([0, 0])
