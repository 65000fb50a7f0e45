"""Messages that a terminal shows name options."""

import pytest

from eyetest.errors import heading, param


@pytest.mark.parametrize(
    ("name", "value", "mentioned", "headed"),
    [
        ("hold_out", None, "--hold-out", "--hold-out"),
        ("where", "metric=…", "--where metric=…", "--where metric=…"),
        ("overwrite", True, "--overwrite", "--overwrite"),
        ("own", "task=TAG", "--set task=TAG", "--set task=TAG"),
        ("values", "order=x>reversed", "--map-values 'order=x>reversed'", "--map-values order=x>reversed"),
        ("spec", "NAME=SPEC", "--model NAME=SPEC", "--model NAME=SPEC"),
    ],
)
def test_parameters_are_options(name: str, value: str | bool | None, mentioned: str, headed: str) -> None:
    assert (param(name, value), heading(name, value)) == (mentioned, headed)
