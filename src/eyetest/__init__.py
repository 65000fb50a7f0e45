"""An eye test for vision-language benchmarks and the models evaluated on them.

Commands are functions of the same name: ``eyetest audit mybench`` is ``eyetest.audit("mybench")``. A name is loaded
when it is first used.

>>> import eyetest as et
>>> bench = et.open("world/benchmark")
>>> len(bench)
60
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from eyetest.version import __version__

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark, ReadOptions, export_benchmark, import_benchmark
    from eyetest.commands.asking import DescribeResult, PlaceResult, RaceResult, RunResult
    from eyetest.commands.audit import AuditResult, audit
    from eyetest.commands.base import open, open_run  # noqa: A004
    from eyetest.commands.certify import Certificate, certify
    from eyetest.commands.compare import CompareResult, compare
    from eyetest.commands.doctor import DoctorResult, doctor
    from eyetest.commands.exchange import export_file, import_file
    from eyetest.commands.gathering import results
    from eyetest.commands.harden import harden_options, harden_screenshot
    from eyetest.commands.init import init
    from eyetest.commands.leaderboard import LeaderboardResult, leaderboard
    from eyetest.commands.measure import MeasureResult, measure
    from eyetest.commands.merge import MergeResult, merge
    from eyetest.commands.open import browse
    from eyetest.commands.pool import PoolResult, pool
    from eyetest.commands.reconcile import ReconcileResult, reconcile
    from eyetest.commands.refine import RefineResult, refine
    from eyetest.commands.reform import reform
    from eyetest.commands.report import ReportResult, chart, report
    from eyetest.commands.review import (
        ReviewStatus,
        export_review,
        import_review,
        invite,
        review,
        review_decisions,
        review_outcomes,
        review_status,
        revise,
    )
    from eyetest.commands.run import PlanResult, run
    from eyetest.commands.score import ReadingResult, ScoreResult, score
    from eyetest.commands.show import BenchmarkResult, ShowResult, StatusResult, show
    from eyetest.commands.similar import SimilarResult, similar
    from eyetest.commands.subset import SubsetResult, subset
    from eyetest.commands.suite import SuiteResult, suite
    from eyetest.errors import EyetestError
    from eyetest.integrations.training import Evaluator
    from eyetest.measures import Results
    from eyetest.records import Choice, Condition, ImageRef, Item, Lineage, Manifest, ModelEntry, Turn
    from eyetest.running import Limits
    from eyetest.runs import Run
    from eyetest.scoring.rules import Reading, read_choice

__all__ = [
    "AuditResult",
    "Benchmark",
    "BenchmarkResult",
    "Certificate",
    "Choice",
    "CompareResult",
    "Condition",
    "DescribeResult",
    "DoctorResult",
    "Evaluator",
    "EyetestError",
    "ImageRef",
    "Item",
    "LeaderboardResult",
    "Limits",
    "Lineage",
    "Manifest",
    "MeasureResult",
    "MergeResult",
    "ModelEntry",
    "PlaceResult",
    "PlanResult",
    "PoolResult",
    "RaceResult",
    "ReadOptions",
    "Reading",
    "ReadingResult",
    "ReconcileResult",
    "RefineResult",
    "ReportResult",
    "Results",
    "ReviewStatus",
    "Run",
    "RunResult",
    "ScoreResult",
    "ShowResult",
    "SimilarResult",
    "StatusResult",
    "SubsetResult",
    "SuiteResult",
    "Turn",
    "__version__",
    "audit",
    "browse",
    "certify",
    "chart",
    "compare",
    "doctor",
    "export_benchmark",
    "export_file",
    "export_review",
    "harden_options",
    "harden_screenshot",
    "import_benchmark",
    "import_file",
    "import_review",
    "init",
    "invite",
    "leaderboard",
    "measure",
    "merge",
    "open",
    "open_run",
    "pool",
    "read_choice",
    "reconcile",
    "refine",
    "reform",
    "report",
    "results",
    "review",
    "review_decisions",
    "review_outcomes",
    "review_status",
    "revise",
    "run",
    "score",
    "show",
    "similar",
    "subset",
    "suite",
]
_HOMES = {
    "eyetest.benchmarks": "Benchmark ReadOptions export_benchmark import_benchmark",
    "eyetest.commands.asking": "DescribeResult PlaceResult RaceResult RunResult",
    "eyetest.commands.audit": "AuditResult audit",
    "eyetest.commands.base": "open open_run",
    "eyetest.commands.certify": "Certificate certify",
    "eyetest.commands.compare": "CompareResult compare",
    "eyetest.commands.doctor": "DoctorResult doctor",
    "eyetest.commands.exchange": "export_file import_file",
    "eyetest.commands.gathering": "results",
    "eyetest.commands.harden": "harden_options harden_screenshot",
    "eyetest.commands.init": "init",
    "eyetest.commands.leaderboard": "LeaderboardResult leaderboard",
    "eyetest.commands.measure": "MeasureResult measure",
    "eyetest.commands.merge": "MergeResult merge",
    "eyetest.commands.open": "browse",
    "eyetest.commands.pool": "PoolResult pool",
    "eyetest.commands.reconcile": "ReconcileResult reconcile",
    "eyetest.commands.refine": "RefineResult refine",
    "eyetest.commands.reform": "reform",
    "eyetest.commands.report": "ReportResult chart report",
    "eyetest.commands.review": "ReviewStatus export_review import_review invite review review_decisions "
    "review_outcomes review_status revise",
    "eyetest.commands.run": "PlanResult run",
    "eyetest.commands.score": "ReadingResult ScoreResult score",
    "eyetest.commands.show": "BenchmarkResult ShowResult StatusResult show",
    "eyetest.commands.similar": "SimilarResult similar",
    "eyetest.commands.subset": "SubsetResult subset",
    "eyetest.commands.suite": "SuiteResult suite",
    "eyetest.errors": "EyetestError",
    "eyetest.integrations.training": "Evaluator",
    "eyetest.measures": "Results",
    "eyetest.records": "Choice Condition ImageRef Item Lineage Manifest ModelEntry Turn",
    "eyetest.running": "Limits",
    "eyetest.runs": "Run",
    "eyetest.scoring.rules": "Reading read_choice",
}
"""The modules of the public names."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

if not TYPE_CHECKING:  # a type checker reports a name that is not there

    class _Package(ModuleType):
        """Keeps ``eyetest.reform`` the function when the package of that name is imported."""

        def __setattr__(self, name: str, value: Any) -> None:
            if name not in _HOME_OF or not isinstance(value, ModuleType):
                super().__setattr__(name, value)

        def __getattr__(self, name: str) -> Any:
            if name not in _HOME_OF:
                raise AttributeError(f"module 'eyetest' has no attribute {name!r}", name=name, obj=self)
            return getattr(import_module(_HOME_OF[name]), name)

        def __dir__(self) -> list[str]:
            return list(__all__)

    sys.modules[__name__].__class__ = _Package
