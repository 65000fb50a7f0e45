"""Recipes and their execution: from a benchmark and models or recorded answers to a refined benchmark."""
