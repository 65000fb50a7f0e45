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
    from eyetest.benchmarks import (
        Benchmark as Benchmark,
        ReadOptions as ReadOptions,
        export_benchmark as export_benchmark,
        import_benchmark as import_benchmark,
    )
    from eyetest.commands.asking import (
        DescribeResult as DescribeResult,
        RaceResult as RaceResult,
        RunResult as RunResult,
    )
    from eyetest.commands.audit import AuditResult as AuditResult, audit as audit
    from eyetest.commands.base import open as open, open_run as open_run  # noqa: A004
    from eyetest.commands.certify import Certificate as Certificate, certify as certify
    from eyetest.commands.compare import CompareResult as CompareResult, compare as compare
    from eyetest.commands.doctor import doctor as doctor
    from eyetest.commands.exchange import export_file as export_file, import_file as import_file
    from eyetest.commands.gathering import results as results
    from eyetest.commands.harden import harden_options as harden_options, harden_screenshot as harden_screenshot
    from eyetest.commands.leaderboard import leaderboard as leaderboard
    from eyetest.commands.measure import MeasureResult as MeasureResult, measure as measure
    from eyetest.commands.merge import merge as merge
    from eyetest.commands.open import browse as browse
    from eyetest.commands.pool import pool as pool
    from eyetest.commands.reconcile import ReconcileResult as ReconcileResult, reconcile as reconcile
    from eyetest.commands.refine import RefineResult as RefineResult, refine as refine
    from eyetest.commands.reform import reform as reform
    from eyetest.commands.report import chart as chart, report as report
    from eyetest.commands.results import Found as Found
    from eyetest.commands.review import (
        ReviewStatus as ReviewStatus,
        export_review as export_review,
        import_review as import_review,
        invite as invite,
        review as review,
        review_decisions as review_decisions,
        review_outcomes as review_outcomes,
        review_status as review_status,
        revise as revise,
    )
    from eyetest.commands.run import PlanResult as PlanResult, run as run
    from eyetest.commands.score import ScoreResult as ScoreResult, score as score
    from eyetest.commands.show import StatusResult as StatusResult, show as show
    from eyetest.commands.similar import similar as similar
    from eyetest.commands.subset import SubsetResult as SubsetResult, subset as subset
    from eyetest.errors import EyetestError as EyetestError
    from eyetest.integrations.training import Evaluator as Evaluator
    from eyetest.measures import Results as Results
    from eyetest.records import (
        Choice as Choice,
        Condition as Condition,
        ImageRef as ImageRef,
        Item as Item,
        Lineage as Lineage,
        Manifest as Manifest,
        ModelEntry as ModelEntry,
        Turn as Turn,
    )
    from eyetest.running import Limits as Limits
    from eyetest.runs import Run as Run
    from eyetest.scoring.rules import Reading as Reading, read_choice as read_choice

_HOMES = {
    "eyetest.benchmarks": "Benchmark ReadOptions export_benchmark import_benchmark",
    "eyetest.commands.asking": "DescribeResult RaceResult RunResult",
    "eyetest.commands.audit": "AuditResult audit",
    "eyetest.commands.base": "open open_run",
    "eyetest.commands.certify": "Certificate certify",
    "eyetest.commands.compare": "CompareResult compare",
    "eyetest.commands.doctor": "doctor",
    "eyetest.commands.exchange": "export_file import_file",
    "eyetest.commands.gathering": "results",
    "eyetest.commands.harden": "harden_options harden_screenshot",
    "eyetest.commands.leaderboard": "leaderboard",
    "eyetest.commands.measure": "MeasureResult measure",
    "eyetest.commands.merge": "merge",
    "eyetest.commands.open": "browse",
    "eyetest.commands.pool": "pool",
    "eyetest.commands.reconcile": "ReconcileResult reconcile",
    "eyetest.commands.refine": "RefineResult refine",
    "eyetest.commands.reform": "reform",
    "eyetest.commands.report": "chart report",
    "eyetest.commands.results": "Found",
    "eyetest.commands.review": "ReviewStatus export_review import_review invite review review_decisions "
    "review_outcomes review_status revise",
    "eyetest.commands.run": "PlanResult run",
    "eyetest.commands.score": "ScoreResult score",
    "eyetest.commands.show": "StatusResult show",
    "eyetest.commands.similar": "similar",
    "eyetest.commands.subset": "SubsetResult subset",
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
__all__ = [*_HOME_OF, "__version__"]  # noqa: PLE0604 (words)

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
