"""Why two scores of one run differ: every point of the gap, on the item and the cause that it comes from."""

from eyetest.results.reconcile.attribution import CauseTotal, Reconciled, Share, attribute, reconciled
from eyetest.results.reconcile.causes import CAUSES
from eyetest.results.reconcile.credits import Account, Credit
from eyetest.results.reconcile.published import ExplainedNumber, Published, Reckoning, explained, read_published

__all__ = [
    "CAUSES",
    "Account",
    "CauseTotal",
    "Credit",
    "ExplainedNumber",
    "Published",
    "Reckoning",
    "Reconciled",
    "Share",
    "attribute",
    "explained",
    "read_published",
    "reconciled",
]
