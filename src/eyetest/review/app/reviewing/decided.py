"""Decisions item by item, for whoever runs a review: what each number of the overview counts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple
from urllib.parse import urlencode

from eyetest.errors import InputError, nearest, short
from eyetest.records import Decision
from eyetest.review.app.address import Address
from eyetest.review.app.reviewing.desk import shown_decision
from eyetest.review.decisions import Decided, standing
from eyetest.review.project import ReviewProject

PAGE_SIZE = 40
_LABEL = "label."
_KEYS = ("state", "round", "person", "decision", "reason")
NO_REASON = "no reason"
_SETTLING = {("round", "0"): "adjudication"}


class JudgedItem(NamedTuple):
    """An item with what it has come to, and every last word on it."""

    item: str
    outcome: Decided
    said: Sequence[Decision]
    state: str


def judged_items(project: ReviewProject) -> list[JudgedItem]:
    """All items of a review, in the order of its queue."""
    said: dict[str, list[Decision]] = {}
    for one in standing(project.decisions()):
        said.setdefault(one.item, []).append(one)
    return [
        JudgedItem(item, outcome, said.get(item, ()), _state(outcome, said.get(item, ())))
        for item, outcome in project.outcomes().items()
    ]


def _state(outcome: Decided, said: Sequence[Decision]) -> str:
    if any(one.adjudicates for one in said):
        return "adjudicated"
    if outcome.verdict != "review":
        return "agreed"
    if outcome.disputed:
        return "disputed"
    return "begun" if said else "untouched"


STATES = ("agreed", "adjudicated", "disputed", "begun", "untouched")


def decided_page(project: ReviewProject, asked: Mapping[str, str]) -> dict[str, Any]:
    """What the template is filled with: the items that a filter means, with their decisions side by side."""
    filters = {key: value for key, value in asked.items() if value and key != "page"}
    for key in filters:
        if key not in _KEYS and not key.startswith(_LABEL):
            raise InputError(f"no filter {short(key)}; {nearest(key, _KEYS)}")
    rows = [one for one in judged_items(project) if _is_meant(one, filters)]
    pages = max(1, ceil(len(rows) / PAGE_SIZE))
    number = asked.get("page", "")
    page = min(int(number) if number.isdecimal() and len(number) < 10 else 1, pages) or 1
    shown = rows[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    return {
        "number": len(rows),
        "filters": [
            {
                "label": _SETTLING.get((key, value)) or f"{key.removeprefix(_LABEL)}: {value}",
                "href": decided_href(_other(filters, key)),
            }
            for key, value in filters.items()
        ],
        "states": [{"label": one, "href": decided_href(filters | {"state": one})} for one in STATES],
        "rows": [_row(one) for one in shown],
        "page": page,
        "pages": pages,
        "to_page": [decided_href(filters | {"page": str(number)}) for number in range(1, pages + 1)],
    }


def decided_href(filters: Mapping[str, object]) -> str:
    """The address of the items behind a number."""
    return "decisions" + ("?" + urlencode(filters, errors="surrogatepass") if filters else "")


def _other(filters: Mapping[str, str], key: str) -> dict[str, str]:
    return {name: value for name, value in filters.items() if name != key}


def _is_meant(judged: JudgedItem, filters: Mapping[str, str]) -> bool:
    """Whether an item is in that state, and somebody said of it all that is asked for, in one decision."""
    if filters.get("state") not in (None, judged.state):
        return False
    tests = [_test(key, value) for key, value in filters.items() if key != "state"]
    return not tests or any(all(test(one) for test in tests) for one in judged.said)


def _test(key: str, value: str) -> Callable[[Decision], bool]:
    if key == "round":
        return lambda one: str(0 if one.adjudicates else one.round) == value
    if key == "person":
        return lambda one: one.reviewer == value
    if key == "decision":
        return lambda one: one.decision == value
    if key == "reason":
        return lambda one: one.decision == "drop" and (one.reason or NO_REASON) == value
    return lambda one: value in _answers(one.labels.get(key.removeprefix(_LABEL)))


def _answers(answer: Any) -> Iterable[str]:
    return answer if isinstance(answer, list) else [str(answer)]


def _row(judged: JudgedItem) -> dict[str, Any]:
    return {
        "item": judged.item,
        "href": f"items/{Address(item=judged.item).href}",
        "state": judged.state,
        "verdict": judged.outcome.verdict if judged.state in ("agreed", "adjudicated") else "",
        "reason": judged.outcome.reason,
        "said": [shown_decision(one) for one in judged.said],
    }
