"""What chance alone would blame, checked by hand, and recipes of the zoo that a user can read and run."""

from pathlib import Path

import pytest
from eyetest_world import Truth
from eyetest_world.demo.folder import expected_by_chance, world_recipes
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
