"""A faulty endpoint: a server for OpenAI chat completions that fails in every known way, each at a url of its own.

It is for tests of a harness: which of its modes it takes for answers, and which for failures. ``python -m
eyetest.faults`` serves it; `FaultyEndpoint` serves it in a thread of this process.
"""

from eyetest.faults.modes import MODES, Expectation, Mode
from eyetest.faults.server import FaultyEndpoint

__all__ = ["MODES", "Expectation", "FaultyEndpoint", "Mode"]
