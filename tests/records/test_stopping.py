"""When a verdict can no longer change, held against all the ways in which it could."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from eyetest.records import StoppingRule, Tally
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


def test_a_rule_in_words() -> None:
    few = StoppingRule(answers=Cut(op=">", value=5), samples=10, falls=Cut(op=">=", value=3), models=4)
    assert few.text == "more than 5 of 10 samples, at least 3 of 4 models"
    assert StoppingRule(falls=Cut(op="<=", value=1), models=3).text == "at most 1 of 3 models"
