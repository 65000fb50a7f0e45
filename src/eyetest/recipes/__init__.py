"""Recipes, and what carries them out.

In: a benchmark, a recipe, models or recorded answers. Out: a folder with a verdict on every item at every stage, the
items that are left as a benchmark of their own, and the counts in between.
"""

from eyetest.recipes.loading import check_recipe, load_recipe, recipe_names, recipe_text
from eyetest.recipes.refining import Refined, Refining

__all__ = ["Refined", "Refining", "check_recipe", "load_recipe", "recipe_names", "recipe_text"]
