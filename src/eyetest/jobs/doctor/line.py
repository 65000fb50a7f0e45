"""One line of what was found."""

from typing import Literal

import msgspec

State = Literal["ok", "note", "missing", "wrong"]
"""``note``: worth knowing. ``missing``: not there, and not asked for. ``wrong``: asked for, and does not work."""


class DoctorLine(msgspec.Struct, frozen=True):
    """Something that was looked at, how it is, and what to do about it."""

    about: str
    """Under which heading it stands: this machine, extras, programs, folders, models."""
    name: str
    state: State
    told: str
    mend: str = ""
