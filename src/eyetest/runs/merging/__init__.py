"""Several runs become one: answers by request, plans by who was asked what, models by name, steps with their origin.

Nothing is decided silently. What two runs say differently is counted and refused, unless the user says which counts.
"""

from eyetest.runs.merging.choosing import PREFERENCES, Preference
from eyetest.runs.merging.folders import MergedRuns, merge_runs

__all__ = ["PREFERENCES", "MergedRuns", "Preference", "merge_runs"]
