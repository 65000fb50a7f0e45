"""What chance alone would blame, checked by hand, and recipes of the zoo that a user can read and run."""

from pathlib import Path

import pytest
from eyetest_world import Truth
from eyetest_world.demo.folder import expected_by_chance, world_recipes
from eyetest_world.demo.kinds import among_highest
from scipy.stats import binom

from eyetest.filters import Seat
from eyetest.recipes.loading import load_recipe
from eyetest.recipes.panels import Seated


def at_least(hits: int, of: int, chance: float) -> float:
    return float(binom.sf(hits - 1, of, chance))


def truth(item: int, options: int, *flaws: str) -> Truth:
    return Truth(item=str(item), flaws=flaws, kind="k", axis="a", options=options, gold="A", gold_before="A")


TRUTHS = [truth(1, 4), truth(2, 2), truth(3, 4, "wrong-gold"), truth(4, 4, "answer-in-question")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mmstar", 2 * at_least(2, 4, 1 / 4) + at_least(2, 4, 1 / 2)),
        ("mmmu-pro", 2 * at_least(3, 4, at_least(3, 5, 1 / 4)) + at_least(3, 4, at_least(3, 5, 1 / 2))),
        ("chance-aware", None),
        ("leaks", None),
        ("everything", None),
    ],
)
def test_who_cannot_see_draws_lots(name: str, expected: float | None, tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(world_recipes()[name])
    recipe = load_recipe(str(tmp_path / "recipe.yaml"))
    panels = {
        panel: Seated(panel, about, tuple(Seat(model, None) for model in about.models))
        for panel, about in recipe.panels.items()
    }
    found = expected_by_chance(recipe, panels, TRUTHS)
    assert found == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(("models", "most"), [(("mole-s", "owl-m", "wren-xs", "hawk-l"), 3), ((), 10)])
def test_bands_fit_a_smaller_panel(models: tuple[str, ...], most: int, tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(world_recipes(models)["everything"])
    bands = load_recipe(str(tmp_path / "recipe.yaml")).stages[-1].bands
    assert bands == {"none right": (0, 0), "some right": (1, most - 1), "all right": (most, most)}


def test_ties_at_the_end_of_a_list_count_by_their_share() -> None:
    counts = {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}
    assert among_highest(counts, {"a"}, 1) == 1
    assert among_highest(counts, {"b"}, 2) == 0.5, "b or c is the second"
    assert among_highest(counts, {"b", "c"}, 3) == 2
    assert among_highest(counts, {"a", "b", "d"}, 9) == 3
    assert among_highest(counts, {"a"}, 0) == 0
