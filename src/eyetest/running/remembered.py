"""A plan that was gone through is remembered, so that whoever goes on with a large run waits for no prompt.

In: a plan. Out: its ledger as an earlier session wrote it, ``ledger.parquet``, or nothing if anything differs from
which calls follow: items and their order, models and their settings, conditions, our own wording. Then the plan is
gone through again. Losing the file costs time and nothing else.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path

import msgspec
import numpy as np

from eyetest.errors import InputError
from eyetest.models import ProbedModel
from eyetest.running.ledger import Estimate, Ledger
from eyetest.running.planning import GoneThrough, Plan
from eyetest.runs.folder import LEDGER
from eyetest.runs.parts import content_id
from eyetest.runs.plan import PLAN
from eyetest.store import replacing_file
from eyetest.store.files import has_checksum
from eyetest.tabular.record_files import read_parquet, write_parquet
from eyetest.version import __version__

_FEWEST = 20_000
"""Rows from which on going through a plan takes seconds."""
_MADE_BY = ("prompts", "records", "running/planning.py")
"""What calls are made by: whoever changes it without a new version number plans anew as well."""


def remember(folder: Path, plan: Plan, estimate: Estimate, ledger: Ledger) -> None:
    """Keep what going through a plan came to, beside the plan itself."""
    if len(ledger.codes) < _FEWEST or not _is_fixed(plan):
        return
    about = _PlanNote(_name(plan), content_id(folder / PLAN), dict(estimate.not_applicable), ledger.sights)
    table = ledger.table().replace_schema_metadata({"plan": msgspec.json.encode(about)})
    with replacing_file(folder / LEDGER) as new:
        write_parquet(table, new)


def recall(folder: Path, plan: Plan) -> GoneThrough | None:
    """What an earlier session remembered, if this plan would come to the same and stands in the folder."""
    path = folder / LEDGER
    if not path.is_file() or not _is_fixed(plan):
        return None
    try:
        table = read_parquet(path) if has_checksum(path) else None
        about = msgspec.json.decode((table.schema.metadata or {})[b"plan"], type=_PlanNote) if table else None
        if table is None or about is None or about.plan != content_id(folder / PLAN) or about.name != _name(plan):
            return None
        ledger = Ledger.of_table(plan.models, table, about.sights, len(plan.positions))
    except (InputError, OSError, KeyError, ValueError, msgspec.DecodeError):
        return None
    estimate = plan.new_estimate()
    estimate.not_applicable = Counter(about.not_applicable)
    return estimate, ledger, Ledger.empty(plan.models)


class _PlanNote(msgspec.Struct):
    """What stands beside the columns."""

    name: str
    plan: str
    """What the plan's file held."""
    not_applicable: dict[str, int]
    sights: dict[str, int]


def _is_fixed(plan: Plan) -> bool:
    """Whether calls follow from the plan alone, and not from answers that were brought in or given meanwhile."""
    return plan.dialogues is None and not len(plan.recorded)


def _name(plan: Plan) -> str:
    """Everything that the calls of a plan follow from, in short."""
    models = [
        {
            "name": model.name,
            "settings": dict(model.settings),
            "knows_items": model.knows_items,
            "likelihoods": model.likelihoods,
            "prefill": model.entry.prefill,
            "refusals": dict(model.refusals) if isinstance(model, ProbedModel) else {},
        }
        for model in plan.models
    ]
    told = {
        "eyetest": [__version__, _wording()],
        "items": plan.benchmark.manifest.fingerprint,
        "order": blake2b(np.asarray(plan.positions, np.int64).tobytes()).hexdigest(),
        "models": models,
        "conditions": plan.conditions,
        "own": {name: dict(axes) for name, axes in plan.own.items()},
        "trials": plan.trials,
        "sampling": plan.sampling,
        "seed": plan.seed,
    }
    return blake2b(msgspec.json.encode(told, order="deterministic"), digest_size=16).hexdigest()


@cache
def _wording() -> str:
    digest = blake2b(digest_size=8)
    for path in _files(Path(__file__).parents[1]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _files(package: Path) -> Iterator[Path]:
    for name in _MADE_BY:
        place = package / name
        found = (place,) if place.is_file() else sorted(place.rglob("*"))
        yield from (path for path in found if path.is_file() and path.suffix != ".pyc")
