"""MATLAB files, as some datasets are published."""

import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

from eyetest.errors import InputError, damaged

_MEMORY, _SECONDS = 2**29, 60  # limits of the child process: bytes (with SciPy) and seconds of processor time
_ODD = (ValueError, TypeError, IndexError, KeyError, EOFError)  # what readers of damaged files stumble over
_CHILD = """
import resource, sys
from scipy.io import loadmat
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[2]),) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[3]),) * 2)
try:
    loadmat(sys.argv[1], simplify_cells=True)
except MemoryError:
    sys.exit(1)
except Exception:
    pass  # the caller meets the same, and reports it
"""


def read_mat(path: Path) -> dict[str, Any]:
    """Read a MATLAB file by name, first in a child process with limits, since a megabyte can stand for gigabytes."""
    from scipy.io import loadmat  # noqa: PLC0415 (slow to load, and few datasets need it)
    from scipy.io.matlab import MatReadError  # noqa: PLC0415

    command = [sys.executable, "-c", _CHILD, str(path), str(_MEMORY), str(_SECONDS)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    if subprocess.run(command, capture_output=True, env=environment, check=False).returncode:  # noqa: S603
        raise InputError(f"{path} takes more than {_MEMORY // 2**20} MB or {_SECONDS} s to read")
    try:
        content: dict[str, Any] = loadmat(path, simplify_cells=True)
    except (MatReadError, NotImplementedError, OSError, zlib.error, *_ODD) as error:
        raise damaged(path, error) from None
    return {name: value for name, value in content.items() if not name.startswith("__")}
