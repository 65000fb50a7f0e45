"""Recipes and their execution: from a benchmark and models or recorded answers to a refined benchmark."""

from eyetest.recipes.loading import check_recipe, load_recipe, recipe_names, recipe_text
from eyetest.recipes.refining import Refined, Refining

__all__ = ["Refined", "Refining", "check_recipe", "load_recipe", "recipe_names", "recipe_text"]
