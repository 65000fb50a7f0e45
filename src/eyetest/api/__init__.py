"""The same in Python: what notebooks and programs call. ``import eyetest as et`` has all of it.

A name is loaded when it is first used, so that importing costs next to nothing. A name is added by a line in
``_HOMES``, one in ``__all__`` and one that shows type checkers what it is; a measure of its own needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark, ReadOptions, export_benchmark, import_benchmark
    from eyetest.errors import EyetestError
    from eyetest.jobs import measure_functions as measure
    from eyetest.jobs.answers import export_answers, import_answers, merge, run_models
    from eyetest.jobs.audit import Audited, audit
    from eyetest.jobs.card import card
    from eyetest.jobs.compare import Compared, compare
    from eyetest.jobs.describe import describe
    from eyetest.jobs.doctor import Doctored, doctor
    from eyetest.jobs.harden_options import harden_options
    from eyetest.jobs.harden_screenshot import harden_screenshot
    from eyetest.jobs.look import Explained, RunStatus, explain, status
    from eyetest.jobs.measure import results, score
    from eyetest.jobs.opening import open, open_run  # noqa: A004
    from eyetest.jobs.race import PlaceResult, RaceResult, place, race
    from eyetest.jobs.reconcile import GapTable, reconcile
    from eyetest.jobs.refine import RefinedFolder as Refined
    from eyetest.jobs.refine import refine
    from eyetest.jobs.reform import reform
    from eyetest.jobs.report import bundle_items, chart, charts, report
    from eyetest.jobs.review import review_decisions, review_outcomes, revise
    from eyetest.jobs.review_tools import export_review, import_review
    from eyetest.jobs.run import run
    from eyetest.jobs.subset import Part, estimate, subset
    from eyetest.jobs.suite import ToldSuite, suite
    from eyetest.jobs.views import MeasureTable as Measured
    from eyetest.measures import Results
    from eyetest.records import Choice, Condition, ImageRef, Item, Lineage, Manifest, ModelEntry, Turn
    from eyetest.running import Limits
    from eyetest.runs import Run
    from eyetest.scoring.rules import Reading, read_choice

__all__ = [
    "Audited",
    "Benchmark",
    "Choice",
    "Compared",
    "Condition",
    "Doctored",
    "Explained",
    "EyetestError",
    "GapTable",
    "ImageRef",
    "Item",
    "Limits",
    "Lineage",
    "Manifest",
    "Measured",
    "ModelEntry",
    "Part",
    "PlaceResult",
    "RaceResult",
    "ReadOptions",
    "Reading",
    "Refined",
    "Results",
    "Run",
    "RunStatus",
    "ToldSuite",
    "Turn",
    "audit",
    "bundle_items",
    "card",
    "chart",
    "charts",
    "compare",
    "describe",
    "doctor",
    "estimate",
    "explain",
    "export_answers",
    "export_benchmark",
    "export_review",
    "harden_options",
    "harden_screenshot",
    "import_answers",
    "import_benchmark",
    "import_review",
    "measure",
    "merge",
    "open",
    "open_run",
    "place",
    "race",
    "read_choice",
    "reconcile",
    "refine",
    "reform",
    "report",
    "results",
    "review_decisions",
    "review_outcomes",
    "revise",
    "run",
    "run_models",
    "score",
    "status",
    "subset",
    "suite",
]

_HOMES: dict[str, tuple[str, ...]] = {
    "eyetest.jobs.answers": ("export_answers", "import_answers", "merge", "run_models"),
    "eyetest.jobs.audit": ("Audited", "audit"),
    "eyetest.jobs.card": ("card",),
    "eyetest.jobs.compare": ("Compared", "compare"),
    "eyetest.jobs.describe": ("describe",),
    "eyetest.jobs.doctor": ("Doctored", "doctor"),
    "eyetest.jobs.harden_options": ("harden_options",),
    "eyetest.jobs.harden_screenshot": ("harden_screenshot",),
    "eyetest.jobs.look": ("Explained", "RunStatus", "explain", "status"),
    "eyetest.jobs.measure": ("results", "score"),
    "eyetest.jobs.opening": ("open", "open_run"),
    "eyetest.jobs.race": ("PlaceResult", "RaceResult", "place", "race"),
    "eyetest.jobs.reconcile": ("GapTable", "reconcile"),
    "eyetest.jobs.refine": ("RefinedFolder", "refine"),
    "eyetest.jobs.reform": ("reform",),
    "eyetest.jobs.report": ("bundle_items", "chart", "charts", "report"),
    "eyetest.jobs.review": ("review_decisions", "review_outcomes", "revise"),
    "eyetest.jobs.review_tools": ("export_review", "import_review"),
    "eyetest.jobs.run": ("run",),
    "eyetest.jobs.subset": ("Part", "estimate", "subset"),
    "eyetest.jobs.suite": ("ToldSuite", "suite"),
    "eyetest.jobs.views": ("MeasureTable",),
    "eyetest.benchmarks": ("Benchmark", "ReadOptions", "export_benchmark", "import_benchmark"),
    "eyetest.errors": ("EyetestError",),
    "eyetest.measures": ("Results",),
    "eyetest.records": ("Choice", "Condition", "ImageRef", "Item", "Lineage", "Manifest", "ModelEntry", "Turn"),
    "eyetest.running": ("Limits",),
    "eyetest.runs": ("Run",),
    "eyetest.scoring.rules": ("Reading", "read_choice"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_HOME_NAMES = {"Measured": "MeasureTable", "Refined": "RefinedFolder"}
"""Names that mean something else in the packages below."""

if not TYPE_CHECKING:  # so that a type checker still sees a name that is not there

    def __getattr__(name: str) -> Any:
        own = _HOME_NAMES.get(name, name)
        if name == "measure":
            return import_module("eyetest.jobs.measure_functions")
        if own not in _HOME_OF:
            whole = import_module("eyetest")
            raise AttributeError(f"module 'eyetest' has no attribute {name!r}", name=name, obj=whole)
        return getattr(import_module(_HOME_OF[own]), own)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
