"""Parameters that had another name: an old one does what it did, and a warning says the new one."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


def renamed(**today: str) -> Callable[[Callable[Given, Made]], Callable[Given, Made]]:
    """A function that still takes old names of parameters: ``renamed(html="page")``."""

    def taking(function: Callable[Given, Made]) -> Callable[Given, Made]:
        @wraps(function)
        def call(*said: Given.args, **more: Given.kwargs) -> Made:
            words: dict[str, Any] = dict(more)
            for old in today.keys() & words:
                warnings.warn(f"{old}= is {today[old]}= now", FutureWarning, stacklevel=2)
                words.setdefault(today[old], words.pop(old))
            return function(*said, **words)

        return call

    return taking
