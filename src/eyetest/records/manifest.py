"""What a benchmark folder says about itself."""

import msgspec

from eyetest.records.item import Lineage

FOLDER_VERSION = 1


class Counts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``benchmark.json``."""

    name: str
    version: str = "1"
    counts: Counts = Counts()
    licence: str = ""
    source: str = ""
    canary: str = ""
    lineage: tuple[Lineage, ...] = ()
    origin: Origin = Origin()
    fingerprint: str = ""
    """A hash of all items in order: two benchmarks with the same one hold the same items."""
    folder_version: int = FOLDER_VERSION
