"""What flows through eyetest: frozen values, no I/O."""

from eyetest.records.condition import Condition
from eyetest.records.finding import Finding, Severity
from eyetest.records.item import (
    IMAGE_FORMATS,
    MAX_CHOICES,
    Choice,
    ImageFormat,
    ImageRef,
    Item,
    Lineage,
    Spelling,
    Turn,
    image_numbers,
    letter,
)
from eyetest.records.manifest import FOLDER_VERSION, Counts, Manifest, Origin
from eyetest.records.settings import Cut, ModelEntry, Panel, Recipe, Stage
from eyetest.records.tables import TABLES, Answer, Asked, Decision, Planned, Score, Verdict, VerdictKind, columns
from eyetest.records.validation import Problem, check, problems

__all__ = [
    "FOLDER_VERSION",
    "IMAGE_FORMATS",
    "MAX_CHOICES",
    "TABLES",
    "Answer",
    "Asked",
    "Choice",
    "Condition",
    "Counts",
    "Cut",
    "Decision",
    "Finding",
    "ImageFormat",
    "ImageRef",
    "Item",
    "Lineage",
    "Manifest",
    "ModelEntry",
    "Origin",
    "Panel",
    "Planned",
    "Problem",
    "Recipe",
    "Score",
    "Severity",
    "Spelling",
    "Stage",
    "Turn",
    "Verdict",
    "VerdictKind",
    "check",
    "columns",
    "image_numbers",
    "letter",
    "problems",
]
