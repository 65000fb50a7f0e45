"""What this machine, the models of a file and some folders can do: a line each, and what mends what cannot be done.

Nothing is changed, no key is shown, and no call is made that costs anything unless the user wants one.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from eyetest.jobs.doctor.machine import look_at_machine
from eyetest.jobs.doctor.places import DoctorLine, State, look_at_places
from eyetest.records import ModelEntry

__all__ = ["DoctorLine", "State", "doctor"]


def doctor(entries: Mapping[str, ModelEntry], places: Sequence[Path], *, call: bool = False) -> list[DoctorLine]:
    """Look at the machine, then at models and folders that are named. ``call``: put a question to each model."""
    lines = [*look_at_machine(), *look_at_places(places)]
    if entries:
        endpoints = import_module("eyetest.jobs.doctor.endpoints")  # loads all that asking needs
        lines += endpoints.look_at_models(entries, call=call)
    return lines
