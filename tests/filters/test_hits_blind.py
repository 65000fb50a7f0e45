"""Items that are answered blind: every operator, hits and shares, answers that are none, panels of another size."""

import pytest

from eyetest.recipes.loading import load_recipe
from tests.filters.answers import Word, evidence, judged, words


def once(*answers: Word) -> list[list[Word]]:
    """Seats that are asked once each."""
    return [[answer] for answer in answers]


@pytest.mark.parametrize("recipe", ["lime", "lime-code"])
def test_lime_drops_captions_that_models_repeat_without_the_image(recipe: str) -> None:
    """The thresholds are those of the image stage: BLEU-4 of .2, not of 1."""
    rule = next(one for one in load_recipe(recipe).stages if one.filter == "blind-count")
    found = judged(rule, evidence({"repeated": once(1.0, 0.3, 0, 0), "other": once(0.19, 0, 0, 0)}, metric="bleu-4"))
    assert words(found) == {"repeated": "drop", "other": "keep"}
