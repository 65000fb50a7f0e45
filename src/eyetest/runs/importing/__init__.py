"""Import of answers that other tools collected."""

from eyetest.runs.importing.bringing import Brought, import_answers
from eyetest.runs.importing.layouts import answer_files
from eyetest.runs.importing.mapping import AnswerFile, FieldMap, parse_field_map

__all__ = ["AnswerFile", "Brought", "FieldMap", "answer_files", "import_answers", "parse_field_map"]
