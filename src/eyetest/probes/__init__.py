"""Checks of a benchmark without any model. A probe is one module here that defines ``PROBE``."""

from collections.abc import Iterable
from typing import Protocol

from eyetest.probes.subject import Subject
from eyetest.records import Finding
from eyetest.registry import Registry


class Probe(Protocol):
    """Checks one aspect of a benchmark."""

    name: str
    summary: str  # one line: the question it asks

    def run(self, subject: Subject) -> Iterable[Finding]:
        """All findings, including tests that passed."""


PROBES: Registry[Probe] = Registry("probe", __name__, "PROBE", "probe")

__all__ = ["PROBES", "Probe", "Subject"]
