"""Native file formats of datasets, one module each: annotation files become annotations.

A reader tells its files by what is in them, not by what they are called, because people rename and cut files.
"""

from eyetest.reform.readers.base import AnnotationFiles, Reader
from eyetest.registry import Registry

READERS: Registry[Reader] = Registry("annotation format", __name__, "READER")

__all__ = ["READERS", "AnnotationFiles", "Reader"]
