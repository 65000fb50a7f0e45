"""Native file formats of datasets, recognized by contents: annotation files become annotations."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from eyetest.errors import InputError, RowError
from eyetest.reform.annotation import Annotations, oddity, refuse_row
from eyetest.reform.readers.base import AnnotationFiles, Reader
from eyetest.registry import Registry

READERS: Registry[Reader] = Registry("annotation format", __name__, "READER", "reader")

__all__ = ["READERS", "AnnotationFiles", "Reader", "read_annotations"]


def read_annotations(
    reader: str,
    paths: Sequence[Path],
    settings: msgspec.Struct,
    refuse: Callable[[RowError], None] = refuse_row,
) -> Annotations:
    """Read the annotations in files; an error in one line where they are of another kind, or look odd.

    ``refuse`` is called with what is wrong with a record, which is left out unless it raises.
    """
    try:
        annotations = READERS[reader].read(AnnotationFiles(paths, refuse), settings)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        names = ", ".join(str(path) for path in paths[:3])
        raise InputError(f"{names}: an annotation: {oddity(error)}") from error
    annotations.refuse = refuse
    return annotations
