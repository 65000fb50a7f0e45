"""Decisions item by item, for whoever runs a review: what each number of the overview counts."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any
from urllib.parse import urlencode

from eyetest.errors import InputError, nearest, short
from eyetest.records import Decision
from eyetest.review.app.address import Address
from eyetest.review.app.reviewing.desk import shown_decision
from eyetest.review.project import STATES, JudgedItem, ReviewProject, answers_of, reason_of, round_of

PAGE_SIZE = 40
_LABEL = "label."
_KEYS = ("state", "round", "person", "decision", "reason")
Test = Callable[[Decision], bool]
_SETTLING = {("round", "0"): "adjudication"}


def decided_page(project: ReviewProject, asked: Mapping[str, str]) -> dict[str, Any]:
    """What the template is filled with: the items that a filter means, with their decisions side by side."""
    filters = {key: value for key, value in asked.items() if value and key != "page"}
    for key in filters:
        if key not in _KEYS and not key.startswith(_LABEL):
            raise InputError(f"no filter {short(key)}; {nearest(key, _KEYS)}")
    tests = [_test(key, value) for key, value in filters.items() if key != "state"]
    rows = [one for one in project.judged() if _is_meant(one, filters.get("state"), tests)]
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


def _is_meant(judged: JudgedItem, state: str | None, tests: Sequence[Test]) -> bool:
    """Whether an item is in that state, and somebody said of it all that is asked for, in one decision."""
    if state not in (None, judged.state):
        return False
    return not tests or any(all(test(one) for test in tests) for one in judged.said)


def _test(key: str, value: str) -> Test:
    if key == "round":
        return lambda one: str(round_of(one)) == value
    if key == "person":
        return lambda one: one.reviewer == value
    if key == "decision":
        return lambda one: one.decision == value
    if key == "reason":
        return lambda one: one.decision == "drop" and reason_of(one) == value
    return lambda one: value in answers_of(one.labels.get(key.removeprefix(_LABEL)))


def _row(judged: JudgedItem) -> dict[str, Any]:
    return {
        "item": judged.item,
        "href": f"items/{Address(item=judged.item).href}",
        "state": judged.state,
        "verdict": judged.outcome.verdict if judged.state in ("agreed", "adjudicated") else "",
        "reason": judged.outcome.reason,
        "said": [shown_decision(one) for one in judged.said],
    }
