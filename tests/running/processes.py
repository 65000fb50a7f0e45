"""The command line in processes of its own, started in a blink: one process loads eyetest and forks on demand.

Each started command is a real process with its own pid, signals and exit code, and can be killed at any moment.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint import Endpoint

_NURSERY = """
import contextlib, io, json, os, resource, sys
import eyetest.commands.asking, eyetest.commands.run, eyetest.cli.app
import eyetest.prompts.building, pyarrow.dataset, pyarrow.acero
from eyetest.cli import main
from eyetest.models import BACKENDS

list(BACKENDS)
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    sys.argv = ["eyetest", "run", "gone", "--to", "gone", "--model", "scripted:", "--limit", "0"]
    with contextlib.redirect_stderr(io.StringIO()):
        main()

def child(order):
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    if order["most_bytes"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["most_bytes"],) * 2)
    sys.argv = ["eyetest", *order["arguments"]]
    try:
        exec(order["code"]) if order["code"] else main()
        code = 0
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else 1
    except BaseException:
        import traceback
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

for line in sys.stdin:
    order = json.loads(line)
    if "wait" in order:
        print(os.waitstatus_to_exitcode(os.waitpid(order["wait"], 0)[1]), flush=True)
        continue
    pid = os.fork()
    if pid == 0:
        child(order)
    print(pid, flush=True)
"""
_SECRETS = ("OPENAI_API_KEY", "EYETEST_API_KEY")


class Command:
    def __init__(self, nursery: "Nursery", pid: int, place: Path) -> None:
        self._nursery, self.pid, self._place = nursery, pid, place
        self.code: int | None = None

    def wait(self) -> "Command":
        if self.code is None:
            self.code = self._nursery.order({"wait": self.pid})
        return self

    def fine(self) -> "Command":
        """The same, once it has ended as it was told."""
        assert self.wait().code == 0, self.stderr
        return self

    def refused(self) -> str:
        """The one line of a command that found bad input."""
        assert (self.wait().code, self.stdout) == (2, ""), self.stderr
        assert re.fullmatch(r"error: .*\n", self.stderr), self.stderr
        return self.stderr

    def ends_within(self, seconds: float) -> bool:
        """Whether it ends by itself in that time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state == "Z":
                self.wait()
                return True
            time.sleep(0.02)
        return False

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.wait()

    @property
    def stdout(self) -> str:
        return self._place.with_suffix(".out").read_text()

    @property
    def stderr(self) -> str:
        return self._place.with_suffix(".err").read_text()


class Nursery:
    def __init__(self, folder: Path, loaded: str = "", env: dict[str, str] | None = None) -> None:
        """``loaded``: code that loads beforehand what the commands will take; ``env``: more variables for it."""
        self._folder = folder
        self._count = 0
        self._process = subprocess.Popen(
            [sys.executable, "-c", loaded + _NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )

    def home(self, folder: Path) -> None:
        """Where commands run and leave what they say from now on."""
        self._folder, self._count = folder, 0

    def order(self, order: dict[str, Any]) -> int:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def start(
        self,
        *arguments: object,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        most_bytes: int = 0,
        code: str = "",
    ) -> Command:
        """``eyetest ARGUMENTS``, going; or some ``code`` in its place."""
        self._count += 1
        place = self._folder / ".commands" / str(self._count)
        place.parent.mkdir(exist_ok=True)
        clean = {name: value for name, value in os.environ.items() if name not in _SECRETS}
        pid = self.order(
            {
                "arguments": [str(argument) for argument in arguments],
                "cwd": str(cwd or self._folder),
                "env": clean | {"COLUMNS": "200"} | (env or {}),
                "stdout": str(place.with_suffix(".out")),
                "stderr": str(place.with_suffix(".err")),
                "most_bytes": most_bytes,
                "code": code,
            }
        )
        return Command(self, pid, place)

    def run(self, *arguments: object, **more: Any) -> Command:
        """``eyetest ARGUMENTS``, to its end."""
        return self.start(*arguments, **more).wait()

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def until(condition: Callable[[], object], what: str = "it") -> None:
    """Wait for something that is going to be true; a minute is more than anything here takes."""
    deadline = time.monotonic() + 300  # for busy machines
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited in vain for {what}")
        time.sleep(0.002)


def killed_while_asking(
    nursery: Nursery, endpoint: Endpoint, command: Sequence[object], calls: int, pause: float = 0.0
) -> Counter[str]:
    """Kill a command some seconds after so many calls; gives how often it sent what."""
    before = endpoint.sent.copy()
    process = nursery.start(*command)
    until(lambda: endpoint.sent.total() >= before.total() + calls, "calls")
    time.sleep(pause)
    process.kill()
    assert process.code == -9, process.stderr
    until(lambda: endpoint.in_flight == 0, "the server to notice")
    return endpoint.sent - before


@pytest.fixture(scope="session")
def _nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with closing(Nursery(tmp_path_factory.mktemp("nursery"))) as nursery:
        yield nursery


@pytest.fixture
def nursery(_nursery: Nursery, tmp_path: Path) -> Nursery:
    _nursery.home(tmp_path)
    return _nursery
