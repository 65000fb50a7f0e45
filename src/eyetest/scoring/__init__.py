"""Read and score answers."""

from eyetest.scoring.rules import RULE_SETS, Reading, read_choice
from eyetest.scoring.scorer import Scored, Scorer, is_hit, quoted

__all__ = ["RULE_SETS", "Reading", "Scored", "Scorer", "is_hit", "quoted", "read_choice"]
