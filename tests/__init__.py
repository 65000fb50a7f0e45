"""Tests, one process a core: threads of linear algebra on top of that only wait for each other."""

import os

for _library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
