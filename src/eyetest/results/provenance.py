"""What a table of scores was made from. It stands in the table itself, and decides whether the table still holds.

Contents are compared, never the times of files, which copies scramble. What answers say is not read for it: the parts
that they lie in are told apart by their sizes and ends.
"""

from pathlib import Path

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import ITEMS
from eyetest.results.mended import MendedBenchmark
from eyetest.runs import Run
from eyetest.runs.frames import part_frame, scan_table
from eyetest.runs.parts import content_id, part_ids
from eyetest.runs.plan import PLAN
from eyetest.scoring import Scorer
from eyetest.scoring.rules import RULE_SETS
from eyetest.version import __version__

KEY = "eyetest.scores"
"""Under which name it stands among the table's own metadata."""
_OUTCOME = ("parts", "planned", "answered", "reworded", "judge", "dropped_judge")
"""What is not compared field by field."""


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Rules, metric, benchmark and answers of a table of scores."""

    version: int = 1
    eyetest: str = __version__
    """The package, whose metrics may change from one version to the next."""
    rules: str
    refusals: str
    """The rules by which a text is read as a refusal."""
    metric: str | None
    rescored: bool
    """Whether scores that others gave were left aside where there were words to score."""
    benchmark: str
    items: str
    mends: str
    """What people had changed of the items by then."""
    plan: str
    parts: dict[int, str]
    """The parts that the answers lay in, and what each held."""
    planned: int = 0
    answered: int = 0
    reworded: int = 0
    """Answers to a wording that people have changed since, which have no score."""
    judge: str = ""
    """The model that read what the rules could not."""
    dropped_judge: str = ""
    """One that had read for an earlier table; its readings are not in this one."""

    @property
    def unanswered(self) -> int:
        """Planned calls that had no answer."""
        return self.planned - self.answered

    def metadata(self) -> dict[str, str]:
        """As it is written into the table."""
        return {KEY: msgspec.json.encode(self).decode()}


def provenance(run: Run, benchmark: Benchmark, scorer: Scorer) -> Provenance:
    """What scores would be made from now. Take it before the answers are read: what comes after it is missed then."""
    return Provenance(
        rules=scorer.rules.version,
        refusals=RULE_SETS["eyetest"].version,
        metric=scorer.metric,
        rescored=scorer.rescore_given,
        benchmark=benchmark.manifest.fingerprint,
        items=_items_id(benchmark),
        mends=benchmark.mends if isinstance(benchmark, MendedBenchmark) else "",
        plan=content_id(run.path / PLAN),
        parts=part_ids(run.path),
    )


def _items_id(benchmark: Benchmark) -> str:
    """What the folder holds besides what it says of itself; where there is nothing, reading it tells."""
    path = benchmark.path / ITEMS
    return content_id(path) if path.is_file() else ""


def read_provenance(table: Path) -> Provenance | None:
    """What a table says of itself; None where there is none, or none that says so."""
    try:
        said = pq.read_metadata(table).metadata or {}
        return msgspec.json.decode(said[KEY.encode()], type=Provenance)
    except (OSError, KeyError, pa.ArrowException, msgspec.DecodeError):
        return None


def holds(made: Provenance, now: Provenance, folder: Path) -> bool:
    """Whether scores that were made then are those that would be made now."""
    if any(getattr(made, name) != getattr(now, name) for name in _COMPARED):
        return False
    if any(now.parts.get(number) != part for number, part in made.parts.items()):
        return False
    new = now.parts.keys() - made.parts.keys()
    return not new or not _are_planned(folder, new)


_COMPARED = [name for name in Provenance.__struct_fields__ if name not in _OUTCOME]


def _are_planned(folder: Path, parts: set[int]) -> bool:
    """Whether some parts answer anything of the plan, and not only what judges and describers were asked."""
    frames = [frame.select("request") for number in parts if (frame := part_frame(folder, number)) is not None]
    if not frames:
        return False
    plan = scan_table(folder / PLAN).select("request")
    return bool(pl.concat(frames).join(plan, on="request", how="semi").head(1).collect().height)
