"""What is refused, and in which words."""

from collections.abc import Callable

import pytest

from eyetest.errors import InputError


def refusal(call: Callable[..., object], *given: object, error: type[Exception] = InputError, **named: object) -> str:
    """The one line that says why a call is refused."""
    with pytest.raises(error) as caught:
        call(*given, **named)
    line = str(caught.value)
    assert "\n" not in line
    return line
