"""Where a reply says that it is no answer: under which names, in which places, and what says nothing of the kind."""

import json
from typing import Any

import pytest

from eyetest.models import CallError
from eyetest.models.replies import read_completion


def outcome_of(place: str = "body", finish: object = "stop", **fields: Any) -> str:
    """The outcome of a reply with further fields in its body, choice or message; or the kind of its failure."""
    message: dict[str, Any] = {"role": "assistant", "content": "the red one"}
    choice: dict[str, Any] = {"index": 0, "message": message}
    if finish is not None:
        choice["finish_reason"] = finish
    body: dict[str, Any] = {"object": "chat.completion", "choices": [choice]}
    {"body": body, "choice": choice, "message": message}[place].update(fields)
    try:
        return str(read_completion("00", json.dumps(body).encode()).outcome)
    except CallError as error:
        return error.kind


@pytest.mark.parametrize("place", ["body", "choice", "message"])
@pytest.mark.parametrize(
    "name",
    [
        "finish_reason",
        "finishReason",
        "stop_reason",
        "stopReason",
        "done_reason",
        "finish_details",
        "native_finish_reason",
    ],
)
def test_a_finish_reason_counts_under_each_name_and_in_each_place(place: str, name: str) -> None:
    value = {"type": "max_tokens"} if name == "finish_details" else "max_tokens"
    assert outcome_of(place, None, **{name: value}) == "truncated"
    assert outcome_of(place, None, **{name: "end_turn"}) == "answered"
    if (place, name) != ("choice", "finish_reason"):
        assert outcome_of(place, "stop", **{name: value}) == "truncated"


@pytest.mark.parametrize("value", [151645, 2, "2", "</tool_call>", "\n\n", "Question", "END!", None, ""])
def test_a_text_or_token_that_ended_the_reply_is_no_finish_reason(value: object) -> None:
    assert outcome_of("choice", "stop", stop_reason=value) == "answered"
    assert outcome_of("choice", None, stop_reason=value) == "answered"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"status": "incomplete"}, "truncated"),
        ({"status": "in_progress"}, "server"),
        ({"status": "queued"}, "server"),
        ({"status": "Cancelled"}, "server"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "blocked"),
        ({"status": "completed", "incomplete_details": None}, "answered"),
        ({"status": "fine"}, "answered"),
        ({"done": False}, "server"),
        ({"done": True, "done_reason": "stop", "truncated": False}, "answered"),
        ({"truncated": True}, "truncated"),
    ],
)
def test_the_state_of_a_reply_is_read(fields: dict[str, Any], expected: str) -> None:
    assert outcome_of(**fields) == expected


FILTERS: list[tuple[str, dict[str, Any]]] = [
    ("choice", {"content_filter_results": {"self_harm": {"filtered": True}}}),
    ("message", {"content_filter_results": {"hate": {"filtered": True}}}),
    ("body", {"prompt_filter_results": [{"content_filter_results": {"hate": {"filtered": True}}}]}),
    ("body", {"output_sensitive": True}),
    ("body", {"amazon-bedrock-guardrailAction": "INTERVENED"}),
    ("body", {"guardrail": {"action": "blocked"}}),
    ("choice", {"moderation": {"flagged": True}}),
    ("body", {"moderation_results": [{"flagged": True}]}),
    ("body", {"promptFeedback": {"blockReason": "OTHER"}}),
]


@pytest.mark.parametrize(("place", "fields"), FILTERS)
def test_a_filter_that_stopped_the_reply_blocks_it(place: str, fields: dict[str, Any]) -> None:
    assert outcome_of(place, **fields) == "blocked"
    assert outcome_of(place, "length", **fields) == "blocked"


@pytest.mark.parametrize(
    "fields",
    [
        {"content_filter_results": {"hate": {"filtered": False, "detected": True}}},
        {"output_sensitive": False, "case_sensitive": "yes"},
        {"guardrailAction": "NONE", "guardrail": {"id": "blocked-words"}},
        {"moderation": {"flagged": False}},
        {"prompt_feedback": {"block_reason": "BLOCK_REASON_UNSPECIFIED"}},
        {"prompt_feedback": None},
    ],
)
def test_a_filter_that_found_nothing_is_no_sign(fields: dict[str, Any]) -> None:
    assert {outcome_of(place, **fields) for place in ("body", "choice", "message")} == {"answered"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"httpStatus": 429}, "rate-limit"),
        ({"status_code": "503"}, "overloaded"),
        ({"response_status": 500}, "server"),
        ({"status": 504}, "server"),
        ({"status": 200, "http_status": 201}, "answered"),
        ({"ok": "False"}, "server"),
        ({"success": False}, "server"),
        ({"ok": True, "success": "true"}, "answered"),
        ({"isError": "true"}, "server"),
        ({"has_error": True}, "server"),
        ({"has_error": False, "is_error": None}, "answered"),
        ({"retcode": 12, "retmsg": "backend is gone"}, "server"),
        ({"ret": 0, "msg": "backend is here"}, "answered"),
        ({"code": 20001, "message": "Request succeeded"}, "answered"),
        ({"code": 20001, "message": "处理成功"}, "answered"),
        ({"code": 20001, "message": "not successful"}, "server"),
        ({"code": 20001, "message": "quota"}, "server"),
    ],
)
def test_codes_and_flags_of_a_body(fields: dict[str, Any], expected: str) -> None:
    assert outcome_of(**fields) == expected


@pytest.mark.parametrize("role", ["user", "system", "tool", "Developer"])
def test_a_message_of_another_role_is_no_answer(role: str) -> None:
    assert outcome_of("message", role=role) == "garbage"


@pytest.mark.parametrize("role", ["assistant", "model", "Assistant", "", None])
def test_a_message_of_the_model_is_an_answer(role: str | None) -> None:
    assert outcome_of("message", role=role) == "answered"


@pytest.mark.parametrize(
    "fields",
    [
        {"attempts": [{"provider": "east", "error": {"message": "full"}}]},
        {"router": {"retries": [{"exception": "timeout"}]}},
        {"debug_info": {"error": "first try"}},
        {"metadata": {"errors": ["one"]}},
        {"web_search_results": [{"type": "error", "title": "What is a type error?"}]},
        {"fallbacks": [{"error": "east is full"}]},
        {"scale": {"error": 0.2}},
        {"errors": 3},
    ],
)
def test_history_and_measures_are_no_errors_of_the_reply(fields: dict[str, Any]) -> None:
    assert outcome_of(**fields) == "answered"


def test_a_number_that_is_a_status_or_a_code_is_an_error() -> None:
    assert outcome_of(error=503) == "overloaded"
    assert outcome_of(error_code=77) == "server"
    assert outcome_of("choice", error={"code": 77}) == "server"
