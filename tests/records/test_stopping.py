"""When a verdict can no longer change, held against all the ways in which it could."""

from contextlib import suppress
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.errors import InputError
from eyetest.records import StoppingRule, Tally, parse_rule
from eyetest.records.tables import Cut

OPERATORS = ("<", "<=", "==", ">=", ">")


def cuts(most: int) -> st.SearchStrategy[Cut]:
    return st.builds(Cut, op=st.sampled_from(OPERATORS), value=st.integers(-1, most + 1))


@st.composite
def situations(draw: st.DrawFn) -> tuple[StoppingRule, list[Tally]]:
    samples, models = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rule = StoppingRule(answers=draw(cuts(samples)), samples=samples, falls=draw(cuts(models)), models=models)
    tallies = []
    for _ in range(models):
        unknown = draw(st.integers(0, samples))
        tallies.append(Tally(hits=draw(st.integers(0, samples - unknown)), unknown=unknown))
    return rule, tallies


def all_ends(rule: StoppingRule, tallies: list[Tally]) -> set[bool]:
    """What the verdict is under every way the unknown samples could have gone."""
    ways = product(*(range(tally.hits, tally.hits + tally.unknown + 1) for tally in tallies))
    return {rule.falls.holds(sum(rule.answers.holds(hits) for hits in way)) for way in ways}


@given(situations())
def test_a_verdict_is_settled_exactly_when_no_ending_could_change_it(
    situation: tuple[StoppingRule, list[Tally]],
) -> None:
    rule, tallies = situation
    ends, verdict = all_ends(rule, tallies), rule.verdict(tallies)
    if verdict is None:
        known = [rule.model_answers(tally) for tally in tallies]
        low, high = known.count(True), known.count(True) + known.count(None)
        assert {rule.falls.holds(count) for count in range(low, high + 1)} == {True, False}
    else:
        assert ends == {verdict}
    if len(ends) == 2:
        assert verdict is None


@given(situations())
def test_a_model_is_settled_exactly_when_its_samples_cannot_change_it(
    situation: tuple[StoppingRule, list[Tally]],
) -> None:
    """… and the fewest samples that could settle it are as many as it takes at best."""
    rule, tallies = situation
    for tally in tallies:
        ends = {rule.answers.holds(hits) for hits in range(tally.hits, tally.hits + tally.unknown + 1)}
        assert rule.model_answers(tally) == (ends.pop() if len(ends) == 1 else None)
        enough = [
            more
            for more in range(tally.unknown + 1)
            for new in range(more + 1)
            if rule.model_answers(Tally(hits=tally.hits + new, unknown=tally.unknown - more)) is not None
        ]
        assert rule.samples_needed(tally) == min(enough)


@given(situations())
def test_the_fewest_models_that_could_settle_an_item(situation: tuple[StoppingRule, list[Tally]]) -> None:
    rule, tallies = situation
    undecided = sum(rule.model_answers(tally) is None for tally in tallies)
    decided = sum(rule.model_answers(tally) is True for tally in tallies)

    def settles(more: int, yes: int) -> bool:
        low = decided + yes
        return len({rule.falls.holds(count) for count in range(low, low + undecided - more + 1)}) == 1

    enough = [more for more in range(undecided + 1) for yes in range(more + 1) if settles(more, yes)]
    assert rule.decisions_needed(tallies) == min(enough)


@pytest.mark.parametrize(
    ("words", "samples", "models", "answers", "falls"),
    [
        ("more than 5 of 10 samples, at least 3 of 4 models", 10, 4, (">", 5), (">=", 3)),
        ("at least 3 of 4 models, more than 5 of 10 samples", 10, 4, (">", 5), (">=", 3)),
        ("at most 1 of 3 models", 1, 3, (">=", 1), ("<=", 1)),
        ("fewer than 4 of 6 samples", 6, 1, ("<", 4), (">=", 1)),
        ("exactly 2 of 5 samples, exactly 0 of 2 models", 5, 2, ("==", 2), ("==", 0)),
        ("at least 1 of 1 model", 1, 1, (">=", 1), (">=", 1)),
        ("at least 2 of 4 models, at least 3 of 4 samples", 4, 4, (">=", 3), (">=", 2)),
    ],
)
def test_rules_in_words(
    words: str, samples: int, models: int, answers: tuple[Any, int], falls: tuple[Any, int]
) -> None:
    parts = {"answers": Cut(op=answers[0], value=answers[1]), "falls": Cut(op=falls[0], value=falls[1])}
    expected = StoppingRule(**parts, samples=samples, models=models)
    assert parse_rule(words, samples=samples, models=models) == expected


@pytest.mark.parametrize(
    ("words", "samples", "models", "message"),
    [
        ("", 2, 1, '"" is no rule; write such as'),
        ("most of them", 2, 1, '"most of them" is no rule'),
        ("> 5 of 10", 10, 1, '"> 5 of 10" is no rule'),
        ("more than 5 of 10 samples,", 10, 1, '"" is no rule'),
        ("more than 5 of 8 samples", 10, 1, '"more than 5 of 8 samples": the run has 10 samples, not 8'),
        ("at least 3 of 4 models", 1, 1, "the run has 1 model, not 4"),
        ("more than 5 of 10 samples", 10, 4, "does not say how many of the 4 models it takes"),
        ("at least 3 of 4 models", 10, 4, "does not say how many of the 10 samples it takes"),
        ("at least 3 of 4 models, at least 2 of 4 models", 1, 4, "says twice how many models it takes"),
        ("more than 5 of 10 samples, at least 3 of 10 samples", 10, 1, "says twice how many samples it takes"),
        ("more than 5 of 10 samples; at least 3 of 4 models", 10, 4, "is no rule"),
        ("at least 5 of 4 models", 1, 4, "is never so; no call could change it"),
        ("more than 4 of 4 models", 1, 4, "is never so"),
        ("fewer than 0 of 4 models", 1, 4, "is never so"),
    ],
)
def test_rules_that_are_none(words: str, samples: int, models: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_rule(words, samples=samples, models=models)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=60))
def test_no_words_crash_it(words: str) -> None:
    with suppress(InputError):
        assert parse_rule(words, samples=3, models=2).samples == 3
