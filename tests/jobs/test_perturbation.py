"""Tests of the same question: as usual first, then others that follow from the seed, and none of them twice."""

from collections import Counter

import msgspec
import pytest

from eyetest.errors import InputError
from eyetest.jobs.opening import Observer, observing
from eyetest.jobs.run import PERTURBED, Perturbation, conditions, perturbed, read_perturbation
from eyetest.records import Condition

ALL = "instruction,order,marks"


class Hearing(Observer):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, line: str) -> None:
        self.notes.append(line)


def ways(perturb: str, tests: int | None = None, seed: int = 0, **more: bool) -> tuple[Condition, ...]:
    return perturbed([Condition()], read_perturbation(perturb, tests, seed, **more))


def test_the_first_test_is_as_usual_and_all_axes_vary_together() -> None:
    first, *others = ways(ALL)
    assert first == Condition()
    assert len(others) == 4
    assert all(one.template and one.order for one in others)
    assert [one.marks for one in (first, *others)] == ["upper", "lower", "digit", "upper", "lower"]


def test_no_template_comes_again_before_all_were_used() -> None:
    for seed in range(20):
        templates = [one.template for one in ways(ALL, 15, seed)]
        assert sorted(templates[:6]) == sorted(templates[6:12]) == list(range(6))
        assert max(Counter(templates).values()) == 3


def test_tests_follow_from_the_seed_and_more_of_them_begin_alike() -> None:
    assert ways(ALL, 5, 3) == ways(ALL, 5, 3)
    assert ways(ALL, 5, 3) != ways(ALL, 5, 4)
    assert ways(ALL, 40, 3)[:5] == ways(ALL, 5, 3)
    assert ways(ALL, 5, 3, one_at_a_time=True) == ways(ALL, 9, 3, one_at_a_time=True)[:11]


def test_orders_and_combinations_are_distinct_as_far_as_the_axes_allow() -> None:
    assert len({one.order for one in ways(ALL, 1_000)}) == 1_000
    assert len(set(ways("instruction,marks", 18))) == 18


def test_one_source_at_a_time_shares_the_first_test() -> None:
    alone = ways(ALL, 5, one_at_a_time=True)
    assert alone[0] == Condition()
    changed = [[axis for axis in ("template", "order", "marks") if getattr(one, axis) != getattr(alone[0], axis)]
               for one in alone[1:]]  # fmt: skip
    assert Counter(axis for (axis,) in changed) == {"template": 4, "order": 4, "marks": 2}


def test_an_axis_with_fewer_values_than_tests_says_so() -> None:
    heard = Hearing()
    with observing(heard):
        assert len(perturbed([Condition()], read_perturbation("marks", 5))) == 3
    assert heard.notes == ["marks can be put in 3 ways: 3 tests of it"]


def test_under_likelihood_only_the_instruction_varies() -> None:
    heard = Hearing()
    with observing(heard):
        weighed = perturbed([Condition(method="likelihood")], read_perturbation(ALL, 5))
    assert len({one.template for one in weighed}) == len(weighed) == 5
    assert {(one.order, one.marks) for one in weighed} == {(0, "upper")}
    assert heard.notes == ["under likelihood no options are shown: order, marks cannot vary there"]
    still = read_perturbation("order", 5, one_at_a_time=True)
    assert perturbed([Condition(method="likelihood")], still) == (Condition(method="likelihood"),)


def test_other_axes_combine() -> None:
    both = perturbed(conditions(shots="none,format", marks="digit"), read_perturbation("order,instruction", 4))
    assert len(both) == 8
    assert {one.marks for one in both} == {"digit"}
    plain, shown = ([msgspec.structs.replace(one, shots="none") for one in both if one.shots == shots]
                    for shots in ("none", "format"))  # fmt: skip
    assert plain == shown


def test_nothing_varies_where_nothing_is_said() -> None:
    assert perturbed(conditions(order="0,7"), read_perturbation(None)) == conditions(order="0,7")


@pytest.mark.parametrize(
    ("perturb", "tests", "said", "told"),
    [
        ("ordr", 5, {}, "--perturb: no source 'ordr'; did you mean \"order\"?"),
        ("trial", 5, {}, "--perturb: no source 'trial'; known: instruction, marks, order"),
        (None, 5, {}, "--tests 5 needs --perturb: what varies from test to test (instruction, order, marks)?"),
        ("order", 1, {}, "--tests: found 1, expected 2 to 1,000"),
        (
            "order,marks",
            5,
            {"order": "7"},
            "--perturb order starts from the usual order; leave out --order, or order",
        ),
        ("instruction", 5, {"template": "0,1"}, "leave out --template, or instruction"),
    ],
)
def test_bad_words_are_refused_in_one_line(perturb: str | None, tests: int, said: dict[str, str], told: str) -> None:
    with pytest.raises(InputError) as refused:
        perturbed(conditions(**said), read_perturbation(perturb, tests))
    assert told in str(refused.value)


def test_one_at_a_time_needs_to_know_what() -> None:
    with pytest.raises(InputError, match="--one-at-a-time needs --perturb"):
        read_perturbation(None, one_at_a_time=True)


def test_every_source_is_an_axis() -> None:
    assert PERTURBED == ("instruction", "order", "marks")
    assert perturbed([Condition()], Perturbation()) == (Condition(),)
