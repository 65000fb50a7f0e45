"""A suite: many benchmarks put to the same models in the same ways, and measured together."""

from collections.abc import Mapping, Sequence
from typing import Any

from eyetest.api.run import NOTEBOOK
from eyetest.jobs import suite as job
from eyetest.jobs.measure import settings
from eyetest.jobs.opening import AnyPath, several
from eyetest.jobs.suite_results import ToldSuite, measure_suite, write_suite
from eyetest.running import Limits
from eyetest.store.urls import local_path


def suite(
    suite: Mapping[str, Any] | AnyPath,
    *,
    to: AnyPath,
    only: str | Sequence[str] = (),
    unseen: bool = False,
    retry_failed: bool = False,
    limits: Limits | None = None,
    level: float = 0.95,
    resamples: int = 2_000,
) -> ToldSuite:
    """Ask about every benchmark of a suite, a YAML file or its contents, and tell what came of it.

    ``tables`` of the result has ReForm-Eval's tables by name, ``notes`` what has to be said beside them; the folder
    ``to`` holds the answers, the same tables as CSV and a page. ``only`` (``"dimension=CG,FG"``) and ``unseen`` (no
    dataset that a compared model was trained on) keep to a part of the answers. Interrupt it whenever you like and
    call it again.

    >>> asked = et.suite(
    ...     {"benchmarks": ["world/benchmark"], "models": ["scripted:right=0.8"], "perturb": "order", "tests": 2},
    ...     to="suite",
    ... )
    >>> "accuracy-by-dimension" in asked.tables
    True
    """
    prepared = job.prepare(suite, local_path(to), limits=limits, retry_failed=retry_failed, observer=NOTEBOOK)
    job.ask(prepared, NOTEBOOK)
    how = settings((), level, prepared.suite.seed, resamples)
    told = measure_suite(prepared, how, several(only), unseen_only=unseen, observer=NOTEBOOK)
    write_suite(prepared, told, observer=NOTEBOOK)
    return told


__all__ = ["ToldSuite", "suite"]
