"""More options for each item: by models or by rule, guarded, and dealt so that no gold is known by its looks.

In: a benchmark, how many options its items shall have, and perhaps a way to ask a writer and a checker. Out: a
benchmark with the same ids and golds, a record of what was written by whom and turned down why, and verdicts for
people to look at.
"""

from eyetest.harden.options.growing import GrownOptions, OptionAuthors, grow_options
from eyetest.harden.options.record import OPTIONS_STEP, GrownItem, OptionSettings, OptionsRecord, ProbeFigures

__all__ = [
    "OPTIONS_STEP",
    "GrownItem",
    "GrownOptions",
    "OptionAuthors",
    "OptionSettings",
    "OptionsRecord",
    "ProbeFigures",
    "grow_options",
]
