"""Whether two formulas are the same, as sympy sees it: in a process of its own, with limits on time and memory.

Formulas are data from strangers. They reach sympy as trees of known nodes, never as text, so nothing of them is ever
evaluated as Python; powers and factorials that would not end are not sent; and what takes too long, or too much
memory, takes only the process with it, and the next question starts another.
"""

import atexit
import json
import math
import subprocess
import sys
import threading
from contextlib import suppress
from functools import lru_cache
from queue import Empty, Queue

from eyetest.scoring.metrics.support.formulas import Tree, nodes, value_at

SECONDS = 5.0
STARTING_SECONDS = 60.0
MOST_NODES = 200
MOST_DIGITS = 3_000
HIGHEST_DEGREE = 60
LARGEST_FACTORIAL = 1_000
_READY = "ready"
_WORKER = "eyetest.scoring.metrics.support.algebra_worker"


class _Worker:
    """The process: started when first needed, used for all questions, replaced when it had to be ended."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.replies: Queue[str] = Queue()
        self.lock = threading.Lock()
        atexit.register(self.close)

    def ask(self, question: str) -> str | None:
        """The worker's reply; None where it gave none in time."""
        with self.lock:
            try:
                if self.process is not None and self.process.poll() is not None:
                    self._end()
                if self.process is None:
                    self._start()
                assert self.process is not None
                assert self.process.stdin is not None
                self.process.stdin.write(question + "\n")
                self.process.stdin.flush()
                reply = self.replies.get(timeout=SECONDS)
            except (Empty, OSError):
                reply = ""
            if not reply:
                self._end()
            return reply or None

    def _start(self) -> None:
        command = [sys.executable, "-P", "-W", "ignore", "-m", _WORKER]
        self.replies = Queue()
        self.process = subprocess.Popen(  # noqa: S603 (our own module, no words of anybody else)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        threading.Thread(target=_forward, args=(self.process, self.replies), daemon=True).start()
        if self.replies.get(timeout=STARTING_SECONDS) != _READY:
            raise BrokenPipeError

    def _end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                with suppress(OSError):
                    if stream is not None:
                        stream.close()
            self.process = None

    def close(self) -> None:
        """End the process; another question would start a new one."""
        with self.lock:
            self._end()


def _forward(process: "subprocess.Popen[str]", replies: "Queue[str]") -> None:
    """Hand on what a worker says, line by line; an empty line when it ended."""
    assert process.stdout is not None
    try:
        for line in process.stdout:
            replies.put(line.strip())
    except (OSError, ValueError):
        pass
    replies.put("")


WORKER = _Worker()


@lru_cache(maxsize=10_000)
def same(one: Tree, other: Tree) -> bool | None:
    """Whether two formulas are the same for all positive values of their symbols; None where that was not decided."""
    if not (is_modest(one) and is_modest(other)):
        return None
    return {"same": True, "different": False}.get(WORKER.ask(json.dumps([one, other])) or "")


def is_modest(tree: Tree) -> bool:
    """Whether exact arithmetic on a formula can end soon: few nodes, no towers of powers, no huge factorials."""
    everything = list(nodes(tree))
    if len(everything) > MOST_NODES:
        return False
    degree = 1.0
    for node in everything:
        if node[0] in ("factorial", "binomial") and not all(_at_most(part, LARGEST_FACTORIAL) for part in node[1:]):
            return False
        if node[0] == "number" and len(str(node[1])) > 50:
            return False
        if node[0] == "pow":
            exponent = _size(node[2])
            if exponent > MOST_DIGITS or (_digits(node[1]) + 1) * exponent > MOST_DIGITS:
                return False
            if any(inner[0] == "symbol" for inner in nodes(node[1])):  # type: ignore[arg-type]
                degree *= max(1.0, exponent)
    return degree <= HIGHEST_DEGREE


def _size(part: object) -> float:
    """How large a formula is at a point; infinite where floats do not say."""
    value = value_at(part) if isinstance(part, tuple) else None
    return abs(value) if value is not None else math.inf


def _at_most(part: object, largest: float) -> bool:
    return _size(part) <= largest


def _digits(part: object) -> float:
    size = _size(part)
    return abs(math.log10(size)) if 0 < size < math.inf else 0.0 if size == 0 else math.inf
