"""The same in Python: what notebooks and programs call. ``import eyetest as et`` has all of it.

A name is loaded when it is first used, so that importing costs next to nothing. A name is added by a line in
``_HOMES``, one in ``__all__`` and one that shows type checkers what it is; a measure of its own needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eyetest import world
    from eyetest.api import measure
    from eyetest.api.audit import Audited, audit
    from eyetest.api.curate import Part, describe, estimate, subset
    from eyetest.api.editions import harden_renew, harden_twins
    from eyetest.api.harden import harden_options, harden_page, harden_screenshot
    from eyetest.api.look import Doctored, Explained, RuleDifference, RunStatus, diff_rules, doctor, explain, status
    from eyetest.api.open_ import open, open_run  # noqa: A004
    from eyetest.api.place import PlaceResult, place
    from eyetest.api.race import RaceResult, race
    from eyetest.api.reconcile import GapTable, reconcile
    from eyetest.api.refine import RefinedFolder as Refined
    from eyetest.api.refine import refine
    from eyetest.api.reform import reform
    from eyetest.api.report import bundle_items, card, chart, charts, report
    from eyetest.api.results import Compared, compare, results, score
    from eyetest.api.review import export_review, import_review, review_decisions, review_outcomes, revise
    from eyetest.api.run import export_answers, import_answers, merge, run, run_models
    from eyetest.api.suite import ToldSuite, suite
    from eyetest.api.views import MeasureTable as Measured
    from eyetest.benchmarks import Benchmark, ReadOptions, export_benchmark, import_benchmark
    from eyetest.errors import EyetestError
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
    "RuleDifference",
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
    "diff_rules",
    "doctor",
    "estimate",
    "explain",
    "export_answers",
    "export_benchmark",
    "export_review",
    "harden_options",
    "harden_page",
    "harden_renew",
    "harden_screenshot",
    "harden_twins",
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
    "world",
]

_HOMES: dict[str, tuple[str, ...]] = {
    "eyetest": ("world",),
    "eyetest.api": ("measure",),
    "eyetest.api.curate": ("Part", "describe", "estimate", "subset"),
    "eyetest.api.look": (
        "Explained",
        "RuleDifference",
        "RunStatus",
        "diff_rules",
        "explain",
        "status",
        "Doctored",
        "doctor",
    ),
    "eyetest.api.run": ("export_answers", "import_answers", "merge", "run", "run_models"),
    "eyetest.api.review": ("export_review", "import_review", "review_decisions", "review_outcomes", "revise"),
    "eyetest.api.suite": ("ToldSuite", "suite"),
    "eyetest.api.audit": ("Audited", "audit"),
    "eyetest.api.harden": ("harden_options", "harden_page", "harden_screenshot"),
    "eyetest.api.results": ("Compared", "compare", "results", "score"),
    "eyetest.api.editions": ("harden_renew", "harden_twins"),
    "eyetest.api.open_": ("open", "open_run"),
    "eyetest.api.place": ("PlaceResult", "place"),
    "eyetest.api.race": ("RaceResult", "race"),
    "eyetest.api.reconcile": ("GapTable", "reconcile"),
    "eyetest.api.refine": ("RefinedFolder", "refine"),
    "eyetest.api.reform": ("reform",),
    "eyetest.api.report": ("bundle_items", "card", "chart", "charts", "report"),
    "eyetest.api.views": ("MeasureTable",),
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
"""Names that mean something else in the rooms below, where these are called otherwise."""
_ROOMS = ("eyetest", "eyetest.api")
"""Where the name is a module of its own."""

if not TYPE_CHECKING:  # so that a type checker still sees a name that is not there

    def __getattr__(name: str) -> Any:
        own = _HOME_NAMES.get(name, name)
        if own not in _HOME_OF:
            whole = import_module("eyetest")
            raise AttributeError(f"module 'eyetest' has no attribute {name!r}", name=name, obj=whole)
        import_module("eyetest.api.open_")
        home = _HOME_OF[own]
        return import_module(f"{home}.{own}") if home in _ROOMS else getattr(import_module(home), own)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
