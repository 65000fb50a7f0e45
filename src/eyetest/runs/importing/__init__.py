"""Answers that other tools collected become a run."""

from eyetest.runs.importing.bringing import Brought, import_answers
from eyetest.runs.importing.mapping import FieldMap, parse_field_map
from eyetest.runs.importing.source import Source

__all__ = ["Brought", "FieldMap", "Source", "import_answers", "parse_field_map"]
