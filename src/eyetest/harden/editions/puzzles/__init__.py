"""Puzzles with one part missing, one category of PuzzleVQA each, from its published description: families by file."""

from eyetest.harden.editions.puzzles.puzzle import Puzzle
from eyetest.registry import Registry

PUZZLES: Registry[Puzzle] = Registry("puzzle", __name__, "PUZZLES")
