"""The pages on which people look at items, served from memory or written as a bundle of files.

In: a collection, and addresses that say which of its items are wanted (`eyetest.pages.item_links`).
Nothing is changed.
"""

from eyetest.review.app.bundle import write_bundle
from eyetest.review.app.server import PortTaken, listen, make_app, serve

__all__ = ["PortTaken", "listen", "make_app", "serve", "write_bundle"]
