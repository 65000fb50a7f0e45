"""The pages on which people look at items, served from memory or written as a bundle of files, and decide about them.

In: a collection, and addresses that say which of its items are wanted (`eyetest.pages.item_links`). Looking changes
nothing; what people decide goes to a `ReviewProject` (`reviewing/`).
"""

from eyetest.review.app.bundle import write_bundle
from eyetest.review.app.reviewing import CallLimits, make_review_app
from eyetest.review.app.server import PortTaken, listen, make_app, serve

__all__ = [
    "CallLimits",
    "PortTaken",
    "listen",
    "make_app",
    "make_review_app",
    "serve",
    "write_bundle",
]
