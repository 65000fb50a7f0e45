"""What a benchmark folder says about itself."""

import msgspec

from eyetest.records.item import Lineage

FOLDER_VERSION = 2
READABLE_VERSIONS = (1, 2)
"""Folders of version 1 know neither who wrote an option nor what a benchmark was before it was changed."""


class ItemCounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much there is, so that nobody has to read the items to know."""

    items: int = 0
    choice_items: int = 0
    text_items: int = 0
    images: int = 0
    """Distinct pictures; several items may share one."""
    image_bytes: int = 0
    options: dict[str, int] = {}
    """Items by their number of options."""


class Origin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The file a benchmark was read from, and what an export needs to give it back as it was."""

    file: str = ""
    format: str = ""
    columns: tuple[str, ...] = ()
    fields: dict[str, str] = {}
    """Our field → the column it was read from."""


class Revision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a benchmark was before it was changed."""

    fingerprint: str
    version: str
    time: str
    """When it was changed."""
    change: str
    """What was done to it."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``benchmark.json``."""

    name: str
    version: str = "1"
    counts: ItemCounts = ItemCounts()
    licence: str = ""
    source: str = ""
    canary: str = ""
    lineage: tuple[Lineage, ...] = ()
    origin: Origin = Origin()
    fingerprint: str = ""
    """A hash of all items in order: two benchmarks with the same one hold the same items."""
    revisions: tuple[Revision, ...] = ()
    """What it was before, the oldest first."""
    folder_version: int = FOLDER_VERSION

    def holding(self, counts: ItemCounts, fingerprint: str, time: str) -> "Manifest":
        """The manifest of these items; where it spoke of others, those become an earlier revision."""
        revisions = self.revisions
        if self.fingerprint and self.fingerprint != fingerprint:
            last = self.lineage[-1] if self.lineage else Lineage(step="change")
            change = f"{last.step}: {last.note}" if last.note else last.step
            before = Revision(fingerprint=self.fingerprint, version=self.version, time=time, change=change)
            revisions = (*revisions, before)
        return msgspec.structs.replace(self, counts=counts, fingerprint=fingerprint, revisions=revisions)
