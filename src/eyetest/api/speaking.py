"""Errors and notes in Python's words: the rooms below speak of the command line's options.

Who types ``where=`` in a notebook should not read of ``--where``.
"""

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from eyetest.errors import EyetestError

Given = ParamSpec("Given")
Result = TypeVar("Result")

_OPTION = re.compile(r"--([a-z][a-z-]*)(:| \S+=| \S+:)?")
_COMMAND = re.compile(r"\beyetest (import|measure|refine|run|score)\b")
"""A line to be typed in a terminal stays as it is."""
_OWN = "--set "
"""What is behind it is a keyword in Python."""
_NAMES = {"panel": "panels", "map": "columns", "set": "settings"}
_YES_OR_NO = ("all-pairs", "bootstrap", "overwrite", "rescore-given", "retry-failed", "skip-review")


def in_python(words: str) -> str:
    """The same with Python's keywords: ``--bench`` is ``bench=``, ``--set task=TAG`` is ``task=TAG``."""
    return words if _COMMAND.search(words) else _OPTION.sub(_keyword, words.replace(_OWN, ""))


def speaks_python(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """A function whose errors speak of its keywords."""

    @wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except EyetestError as error:
            error.args = tuple(in_python(part) if isinstance(part, str) else part for part in error.args)
            raise

    return call


def _keyword(found: re.Match[str]) -> str:
    option, value = found[1], found[2]
    name = _NAMES.get(option, option).replace("-", "_")
    return f"{name}{value}" if value else f"{name}={option in _YES_OR_NO or ''}"
