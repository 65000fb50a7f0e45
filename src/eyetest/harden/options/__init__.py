"""More options for each item: by models or by rule, checked, and chosen so that surface cues do not tell the key."""

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
