"""The pages on which people decide, for a collection and a review of it.

In: calls, each let through or refused by one gate. Out: pages, and decisions that the project keeps.
"""

from eyetest.review.app.reviewing.limits import CallLimits
from eyetest.review.app.reviewing.pages import make_review_app

__all__ = ["CallLimits", "make_review_app"]
