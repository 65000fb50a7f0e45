"""Puzzles: what is hidden is found again from what is seen, in puzzles posed anew, in twins and in real ones."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from eyetest_world.editions import NotRenewable, Original
from eyetest_world.editions.puzzles import GENERATOR, PUZZLES, asked

from eyetest.benchmarks import Benchmark
from eyetest.records import Choice, Item
from world_tests.editions.solving_puzzles import SOLVERS

DRAWS = 60


def test_every_category_has_a_solver() -> None:
    assert set(PUZZLES) == set(SOLVERS)
    assert len(PUZZLES) == 11


@pytest.mark.parametrize("name", SOLVERS)
def test_new_puzzles_and_their_twins_have_the_answer_that_can_be_found(name: str) -> None:
    puzzle = PUZZLES[name]
    answers, changed = set(), 0
    for draw in range(DRAWS):
        rng = Random(f"{name}/{draw}")
        options = list(puzzle.options(rng))
        answer = rng.choice(options)
        scene = puzzle.pose(rng, answer, options)
        assert len(set(options)) == len(options)
        assert SOLVERS[name](scene) == scene["answer"] == answer
        assert puzzle.holds(scene)
        answers.add(answer)
        for other in options:
            twin = puzzle.change(scene, other) if other != answer else None
            if twin is not None:
                assert SOLVERS[name](twin) == twin["answer"] == other
                assert twin.get("of") == scene.get("of")
                changed += 1
    assert len(answers) >= 3
    assert changed >= DRAWS


def test_real_puzzles_are_understood_and_can_have_other_answers(real_benchmark: Callable[[str], Benchmark]) -> None:
    changed = 0
    items = [item for item in real_benchmark("puzzlevqa") if item.tags["category"] in PUZZLES]
    for item in items:
        puzzle, text = PUZZLES[item.tags["category"]], item.choices[item.gold[0]].text
        answer = int(text) if text.isdigit() else text
        scene = puzzle.read(item.tags["caption_gold"], item.question, answer)
        assert SOLVERS[puzzle.name](scene) == answer
        assert puzzle.holds(scene)
        others = [type(answer)(choice.text) for choice in item.choices if not choice.correct]
        twins = [twin for other in others if (twin := puzzle.change(scene, other)) is not None]
        assert all(SOLVERS[puzzle.name](twin) == twin["answer"] != answer for twin in twins)
        changed += bool(twins)
    assert changed >= 0.95 * len(items)
    for item in items[::100]:
        for drawn in GENERATOR.twins(Original(item, Path()), Random(item.id)):
            right = str(SOLVERS[item.tags["category"]](drawn.scene))
            assert [choice.text for choice in drawn.choices if choice.correct] == [right]
            assert [choice.text for choice in drawn.choices] == [choice.text for choice in item.choices]
            assert (drawn.question, drawn.tags["explanation"]) == (item.question, None)


@pytest.mark.parametrize("name", sorted(set(SOLVERS) - {"polygon_sides_number"}))
def test_a_wrong_gold_makes_no_wrong_twin(name: str) -> None:
    """A puzzle that says something else than its gold is refused, or its twin is right all the same."""
    puzzle, refused = PUZZLES[name], 0
    for draw in range(15):
        rng = Random(f"wrong/{name}/{draw}")
        options = list(puzzle.options(rng))
        answer, wrong, *_ = rng.sample(options, 2)
        scene = puzzle.pose(rng, answer, options)
        choices = tuple(Choice(str(option), option == wrong) for option in options)
        question, told = asked("What, if it is a 3?", scene), puzzle.say(scene)
        item = Item(id="1", question=question, choices=choices, description=told, tags={"category": name})
        try:
            twins = list(GENERATOR.twins(Original(item, Path()), rng))
        except NotRenewable:
            refused += 1
        else:
            assert all(SOLVERS[name](twin.scene) == twin.scene["answer"] for twin in twins)
    assert refused


def test_a_puzzle_without_its_caption_has_editions_and_no_twin() -> None:
    choices = tuple(Choice(text, text == "red") for text in ("red", "blue", "green", "yellow"))
    item = Item(id="1", question="Which color?", choices=choices, tags={"category": "color_grid"})
    assert GENERATOR.renew(Original(item, Path()), Random(1)).description
    with pytest.raises(NotRenewable, match="no caption"):
        next(GENERATOR.twins(Original(item, Path()), Random(1)))
    said = Item(id="1", question="?", choices=choices, tags={"category": "color_grid", "caption_gold": "[1, [2"})
    with pytest.raises(NotRenewable, match="color_grid"):
        next(GENERATOR.twins(Original(said, Path()), Random(1)))
