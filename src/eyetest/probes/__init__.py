"""What can be learnt about a benchmark with no model at all. A probe is one module here that defines ``PROBE``."""

from collections.abc import Iterable
from typing import Protocol

from eyetest.probes.subject import Subject
from eyetest.records import Finding
from eyetest.registry import Registry


class Probe(Protocol):
    """Looks at a benchmark from one side."""

    name: str
    summary: str
    """One line: the question it asks."""

    def run(self, subject: Subject) -> Iterable[Finding]:
        """Everything it has to say, tests that held included."""


PROBES: Registry[Probe] = Registry("probe", __name__, "PROBE")

__all__ = ["PROBES", "Probe", "Subject"]
