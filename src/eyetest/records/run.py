"""What a run folder says about itself."""

from pathlib import Path

import msgspec

from eyetest.records.item import Manifest
from eyetest.records.settings import ModelEntry

RUN_VERSION = 2
"""2: parts of answers are named by their writer."""


class RunBenchmark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which benchmark a run's answers are about."""

    name: str
    path: str = ""
    fingerprint: str = ""
    items: int = 0

    @classmethod
    def of(cls, manifest: Manifest, path: Path) -> "RunBenchmark":
        """The benchmark that lies in a folder."""
        place = str(path.resolve())
        return cls(name=manifest.name, path=place, fingerprint=manifest.fingerprint, items=manifest.counts.items)


class RunStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that was done to a run: calls that were planned, or answers that were brought in."""

    what: str
    time: str = ""
    eyetest: str = ""
    """The version that did it."""
    seed: int = 0
    options: dict[str, str] = {}
    planned: int = 0
    requests: int = 0
    """Distinct requests among what was planned."""
    saved: int = 0
    """Calls that a stopping rule made needless."""
    not_applicable: dict[str, int] = {}
    """Why a condition could not be put to an item, and how often."""


class RunManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``run.json``."""

    benchmark: RunBenchmark | None = None
    models: dict[str, ModelEntry] = {}
    steps: tuple[RunStep, ...] = ()
    parts: dict[str, int] = {}
    """The parts in which answers lay when the last writer left, and how many each held; those that go are missed."""
    run_version: int = RUN_VERSION
