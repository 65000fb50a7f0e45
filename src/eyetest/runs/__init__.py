"""A run on disk: plan, journal, sealed responses; readable while it is written."""

from eyetest.runs.folder import BENCHMARK, Run, RunWriter, is_run, open_answers, read_answers
from eyetest.runs.journal import Journal
from eyetest.runs.stored import StoredResponses, read_responses, responses_table

__all__ = [
    "BENCHMARK", "Journal", "Run", "RunWriter", "StoredResponses", "is_run", "open_answers", "read_answers",
    "read_responses", "responses_table",
]  # fmt: skip
