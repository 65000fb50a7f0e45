"""More options for each item: written by models or by rule, guarded, dealt so that golds are not known by their looks.

In: a benchmark, how many options its items shall have, and perhaps a way to ask a writer and a checker. Out: a
benchmark with the same ids and golds, a record of what was written by whom and turned down why, and verdicts for
people to look at.
"""

from eyetest.harden.options.growing import Authors, GrownOptions, grow_options
from eyetest.harden.options.record import OPTIONS_STEP, GrownItem, OptionSettings, OptionsRecord, ProbeFigures

__all__ = [
    "OPTIONS_STEP",
    "Authors",
    "GrownItem",
    "GrownOptions",
    "OptionSettings",
    "OptionsRecord",
    "ProbeFigures",
    "grow_options",
]
