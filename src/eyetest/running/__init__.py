"""How calls are made: plan, limits, retries, early stopping."""

from eyetest.running.cluster.connection import Cluster
from eyetest.running.execution import Hit, execute, execute_panels
from eyetest.running.ledger import Estimate
from eyetest.running.limits import Budget, Limits
from eyetest.running.planning import Plan
from eyetest.running.progress import Progress
from eyetest.running.runner import NotAskedError, Runner
from eyetest.running.session import Asking, Session
from eyetest.running.stopping import ItemPanel

__all__ = [
    "Asking",
    "Budget",
    "Cluster",
    "Estimate",
    "Hit",
    "ItemPanel",
    "Limits",
    "NotAskedError",
    "Plan",
    "Progress",
    "Runner",
    "Session",
    "execute",
    "execute_panels",
]
