"""What looks damaged because another process replaces it is read again; what is damaged stays refused."""

import pytest

from eyetest.errors import InputError
from eyetest.runs import stored
from eyetest.runs.stored import read_beside_writers


def failing(times: int) -> tuple[list[int], object]:
    """The attempts so far, and a function that fails so many times before it returns."""
    attempts: list[int] = []

    def read() -> str:
        attempts.append(len(attempts))
        if len(attempts) <= times:
            raise InputError("r is damaged")
        return "whole"

    return attempts, read


@pytest.mark.parametrize(("times", "is_read"), [(0, True), (2, True), (3, True), (4, False)])
def test_a_table_that_is_being_replaced_is_read_again(
    times: int, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "sleep", lambda seconds: None)
    attempts, read = failing(times)
    if is_read:
        assert read_beside_writers(read) == "whole"  # type: ignore[arg-type]
        assert len(attempts) == times + 1
    else:
        with pytest.raises(InputError, match="damaged"):
            read_beside_writers(read)  # type: ignore[arg-type]
