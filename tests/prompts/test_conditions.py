"""Conditions by name, and tests of the same question: as usual first, then others that follow from the seed."""

from collections import Counter
from pathlib import Path

import pytest

from eyetest.errors import InputError
from eyetest.prompts.conditions import read_conditions
from eyetest.records import REVERSED, Condition

ALL = "perturb=instruction/order/letters"


def ways(words: str, seed: int = 0) -> tuple[Condition, ...]:
    return read_conditions(words, seed)


def test_names_overlays_and_values(tmp_path: Path) -> None:
    assert ways("") == read_conditions([]) == (Condition(),)
    assert ways("image, no-image+cot") == (Condition(), Condition(modality="no-image", ask="cot"))
    assert ways("order=reversed+digits")[0] == Condition(order=REVERSED, letters="digit")
    found = ways("modality=image/no-image+template=0/1/2+order=0/7/0")
    assert len(found) == len(set(found)) == 12
    assert found[0] == Condition()
    assert found[-1] == Condition(modality="no-image", template=2, order=7)
    every = ways("image+all-templates, no-image+all-templates, image+template=2")
    assert len(every) == len(set(every)) == 12
    own = Condition(history="own")
    assert read_conditions(["image,image", own]) == (Condition(), own)
    (tmp_path / "eyetest.yaml").write_text("conditions: {mine: {modality: gray, order: [0, 1]}}")
    project = tmp_path / "eyetest.yaml"
    assert [one.order for one in read_conditions("mine+cot", 0, project)] == [0, 1]


def test_tests_vary_all_axes_or_one_from_the_usual_condition_by_a_seed() -> None:
    first, *others = ways(ALL)
    assert first == Condition()
    assert len(others) == 4
    assert all(one.template and one.order for one in others)
    assert [one.letters for one in (first, *others)] == ["upper", "lower", "digit", "upper", "lower"]
    assert ways(ALL, 3) == ways(ALL, 3) == ways(f"{ALL}+tests=40", 3)[:5] != ways(ALL, 4)
    usual, *alone = ways("perturb=instruction, perturb=order, perturb=letters")
    assert usual == Condition()
    changed = [
        [axis for axis in ("template", "order", "letters") if getattr(one, axis) != getattr(usual, axis)]
        for one in alone
    ]
    assert Counter(axis for (axis,) in changed) == {"template": 4, "order": 4, "letters": 2}


def test_under_likelihood_only_the_instruction_varies() -> None:
    weighed = read_conditions(f"likelihood+{ALL}")
    assert len({one.template for one in weighed}) == len(weighed) == 5
    assert {(one.order, one.letters) for one in weighed} == {(0, "upper")}
    assert len(ways("perturb=letters")) == 3
    assert ways("likelihood+perturb=order") == (Condition(method="likelihood"),)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("imgae", "--condition: no condition 'imgae'; did you mean \"image\"?"),
        ("image+modalty=no-image", "--condition: no axis 'modalty'; did you mean \"modality\"?"),
        ("ask=cott", "--condition: ask: no value 'cott'; did you mean \"cot\"?"),
        ("template=-1", "template: found '-1', expected a number from 0"),
        ("order=1.5", "order: found '1.5', expected a whole number"),
        ("perturb=ordr", "perturb: no source 'ordr'; did you mean \"order\"?"),
        ("tests=5", "--condition: tests needs perturb: what varies (instruction, order, letters)?"),
        ("perturb=order+tests=1", "tests: found 1, expected 2 to 1,000"),
        ("order=7+perturb=order/letters", "perturb=order starts from the usual order; leave out order, or order"),
    ],
)
def test_wrong_words_are_refused_in_one_line(words: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read_conditions(words)
    assert message in str(refused.value)
