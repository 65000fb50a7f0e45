"""The command line inside the test's own process, because starting one for each case takes longer than the case."""

import signal
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from eyetest.cli import main


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    def refused(self) -> str:
        """The one line of a command that found bad input."""
        assert (self.code, self.out) == (2, ""), self
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("error: ")
        assert len(lines[0]) < 500
        return lines[0]

    def fine(self) -> str:
        """Everything that a command said that did what it was told."""
        assert self.code == 0, self.err
        return self.out + self.err


Eyetest = Callable[..., Done]


@pytest.fixture
def eyetest(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Eyetest]:
    """Calls the command line with these arguments."""
    handler = signal.getsignal(signal.SIGTERM)

    def call(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["eyetest", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        return Done(int(stop.value.code or 0), said.out, said.err)

    yield call
    signal.signal(signal.SIGTERM, handler)
