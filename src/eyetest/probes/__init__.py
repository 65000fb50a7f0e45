"""Checks of a benchmark without any model. A probe is one module here that defines ``PROBE``."""

from eyetest.probes.subject import Probe, Subject
from eyetest.registry import Registry

PROBES: Registry[Probe] = Registry("probe", __name__, "PROBE", "probe")

__all__ = ["PROBES", "Probe", "Subject"]
