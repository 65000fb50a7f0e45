"""Reviewing in other tools: decisions and what waits for them, out and in again.

In: items, rounds and forms, and decisions. Out: files that a spreadsheet, Label Studio or Argilla takes; and from
their files decisions again, checked one by one. Every tool asks the same questions (`answers`) in its own form.
"""

from eyetest.review.exchange.assignment import Assignment, Expected, TaskKey
from eyetest.review.exchange.files import Outgoing, ToolFormat, check_target, check_tool, read_files, write_files

__all__ = [
    "Assignment",
    "Expected",
    "Outgoing",
    "TaskKey",
    "ToolFormat",
    "check_target",
    "check_tool",
    "read_files",
    "write_files",
]
