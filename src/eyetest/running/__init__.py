"""Making calls: plan, limits, retries, early stopping."""

from eyetest.running.execution import Hit, execute, execute_panels
from eyetest.running.limits import Asking, Budget, Cluster, Limits, Progress
from eyetest.running.planning import Estimate, Plan
from eyetest.running.runner import NotAskedError, Runner
from eyetest.running.session import Session

__all__ = [
    "Asking", "Budget", "Cluster", "Estimate", "Hit", "Limits", "NotAskedError", "Plan", "Progress", "Runner",
    "Session", "execute", "execute_panels",
]  # fmt: skip
