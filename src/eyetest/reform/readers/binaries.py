"""Pickles and MATLAB files, as some datasets are published: read without ever calling anything that a file names."""

import io
import pickle
import zlib
from pathlib import Path
from typing import Any

from eyetest.errors import InputError, damaged
from eyetest.tabular.table import open_plain

MAX_PICKLE = 2**30
_FIRST_BYTES = (b"\x80", b"(lp", b"(dp")
"""What a pickled list or dict begins with, in any protocol."""

_ODD = (ValueError, TypeError, IndexError, KeyError, EOFError)
"""What readers of damaged files stumble over."""


class PickledArray:
    """Stands for a NumPy array or what belongs to one; keeps the raw bytes, and builds nothing of them."""

    def __init__(self, *parts: Any) -> None:
        self.data = b""

    def __setstate__(self, state: Any) -> None:
        last = state[-1] if isinstance(state, tuple) and state else b""
        self.data = last.encode("latin1") if isinstance(last, str) else last if isinstance(last, bytes) else b""


def _encoded(text: str, encoding: str = "latin1") -> bytes:
    """How Python 2's byte strings are pickled for Python 3: as text that is to be encoded."""
    return text.encode("latin1")


class _PlainUnpickler(pickle.Unpickler):
    """Refuses every name but those of NumPy arrays, for which it has a stand-in of its own."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("_codecs", "encode"):
            return _encoded
        if module.partition(".")[0] == "numpy" and name in ("_reconstruct", "ndarray", "dtype"):
            return PickledArray
        raise pickle.UnpicklingError(f"it names {module}.{name}, and only plain values are read")


def is_pickle(path: Path) -> bool:
    """Whether a file begins as pickles do."""
    with open_plain(path) as file:
        return file.read(3).startswith(_FIRST_BYTES)


def read_pickle(path: Path) -> Any:
    """Lists, dicts, texts and numbers of a pickle; the byte strings of Python 2 as texts, in Latin-1 if need be."""
    with open_plain(path) as file:
        data = file.read(MAX_PICKLE + 1)
    if len(data) > MAX_PICKLE:
        raise InputError(f"{path} is a pickle of more than 1 GB")
    try:
        try:
            return _PlainUnpickler(io.BytesIO(data), encoding="utf-8").load()
        except UnicodeDecodeError:
            return _PlainUnpickler(io.BytesIO(data), encoding="latin1").load()
    except (pickle.UnpicklingError, *_ODD, AttributeError) as error:
        raise damaged(path, error) from None
    except (MemoryError, OverflowError, RecursionError) as error:
        raise InputError(f"{path} is no pickle of plain values: {type(error).__name__}") from None


def read_mat(path: Path) -> dict[str, Any]:
    """What a MATLAB file holds, by name: structures as dicts, matrices as arrays."""
    from scipy.io import loadmat  # noqa: PLC0415 (slow to load, and few datasets need it)
    from scipy.io.matlab import MatReadError  # noqa: PLC0415

    try:
        content: dict[str, Any] = loadmat(path, simplify_cells=True)
    except (
        MatReadError,
        ValueError,
        TypeError,
        NotImplementedError,
        IndexError,
        KeyError,
        OSError,
        zlib.error,
    ) as error:
        raise damaged(path, error) from None
    return {name: value for name, value in content.items() if not name.startswith("__")}
