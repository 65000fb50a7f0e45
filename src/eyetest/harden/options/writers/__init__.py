"""Writers of options that need no model, one a file."""

from eyetest.harden.options.writers.base import Case, Cases, OptionWriter, Propose
from eyetest.registry import Registry

WRITERS: Registry[OptionWriter] = Registry("writer of options", "eyetest.harden.options.writers", "WRITER")

__all__ = ["WRITERS", "Case", "Cases", "OptionWriter", "Propose"]
