"""Storage of files: this machine's disk (`files`), or a bucket accessed through a mirror (`urls`)."""

from eyetest.store.urls import *  # noqa: F403
from eyetest.store.urls import __all__ as __all__
