"""What an audit finds: a fact about some items, or a test of the whole benchmark."""

from typing import Any, Literal

import msgspec

from eyetest.records.tables import VerdictKind

Severity = Literal["bad", "suspect", "untested", "note", "sound"]
"""``bad`` breaks items, ``suspect`` deserves a look, ``untested`` could not be tested, ``note`` is worth knowing,
``sound`` was tested and held. From the gravest to the least."""
NO_PICTURES = "no-pictures"
"""The kind of every finding that says: no picture is here, so what needs pictures was not tested."""


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that a probe has to say, with the items it rests on.

    A finding with a ``p`` is a test: how likely a sound benchmark would look at least this odd. Its severity is what
    it would be if it held; whether it holds is decided for all tests of an audit together.
    """

    probe: str
    kind: str
    """A short name that stays the same between versions: ``equal-options``."""
    severity: Severity
    title: str
    """One line that a tired person understands, with the number that matters."""
    detail: str = ""
    """How it was measured, and what to do about it."""
    items: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    """Items that belong together, where the finding is about pairs or groups."""
    evidence: dict[str, str] = {}
    """What exactly was seen, by item."""
    verdict: VerdictKind = "review"
    """What the finding suggests for its items."""
    p: float | None = None
    adjusted_p: float | None = None
    """``p`` after Holm's correction over all tests of the audit."""
    numbers: dict[str, Any] = {}
    """The figures behind the title, for another program."""

    @property
    def is_test(self) -> bool:
        """Whether it is a test rather than a fact."""
        return self.p is not None
