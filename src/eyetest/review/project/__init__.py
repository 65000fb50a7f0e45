"""A review in a folder of its own: people, their links, whose turn it is, and what they decided.

In: a plan and items in order. Out: tasks for people and, appended one by one, their decisions. Several programs may
have the same review open.
"""

from eyetest.review.project.agreement import COEFFICIENTS, AgreementRow
from eyetest.review.project.database import FILE
from eyetest.review.project.judged import STATES, ItemState, JudgedItem
from eyetest.review.project.overview import (
    PersonProgress,
    ReviewOverview,
    ReviewProgress,
    RoundProgress,
    answers_of,
    reason_of,
    round_of,
)
from eyetest.review.project.people import LogRow, PersonRow
from eyetest.review.project.plan import (
    DECIDES,
    DecisionDetails,
    Entered,
    Person,
    ReviewPlan,
    ReviewSession,
    Role,
    Round,
    Task,
)
from eyetest.review.project.project import ReviewProject, decisions_in, is_review
from eyetest.review.project.slots import earlier
from eyetest.review.project.work import UNANSWERED

__all__ = [
    "COEFFICIENTS",
    "DECIDES",
    "FILE",
    "STATES",
    "UNANSWERED",
    "AgreementRow",
    "DecisionDetails",
    "Entered",
    "ItemState",
    "JudgedItem",
    "LogRow",
    "Person",
    "PersonProgress",
    "PersonRow",
    "ReviewOverview",
    "ReviewPlan",
    "ReviewProgress",
    "ReviewProject",
    "ReviewSession",
    "Role",
    "Round",
    "RoundProgress",
    "Task",
    "answers_of",
    "decisions_in",
    "earlier",
    "is_review",
    "reason_of",
    "round_of",
]
