"""One reply must not hurt the others: odd fields are left out, the text is kept, and all of it can be read back."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.models import CallError
from eyetest.models.replies import read_completion, read_failure
from eyetest.records import Response
from eyetest.runs import read_responses
from eyetest.runs.journal import from_batch, to_table
from eyetest.runs.stored import stored_health
from tests.endpoint import Endpoint, Reply, completion
from tests.running.benches import make_bench, stored
from tests.runs.written import journal_of
from tests.support.command import MAIN

DEEP = b"[" * 100_000


def with_message(**fields: Any) -> dict[str, Any]:
    return completion("A", message={"content": "A"} | fields)


ODD: dict[str, tuple[object, str]] = {
    "half a token": (completion("A", usage={"prompt_tokens": 5.5, "completion_tokens": "7"}), "A"),
    "tokens of no column": (completion("A", usage={"prompt_tokens": 2**63, "completion_tokens": -5}), "A"),
    "usage is a text": (completion("A", usage="many"), "A"),
    "infinite tokens": (b'{"choices":[{"message":{"content":"A"}}],"usage":{"prompt_tokens":1e999}}', "A"),
    "a long number": (b'{"choices":[{"message":{"content":"A"}}],"usage":{"prompt_tokens":%s}}' % (b"9" * 6000), "A"),
    "finish is a list": (completion("A", finish_reason=["stop"]), "A"),
    "reasoning is an object": (with_message(reasoning={"effort": "low", "steps": []}), "A"),
    "refusal is an object": (with_message(refusal={"x": 1}), "A"),
    "half a pair": (b'{"choices":[{"message":{"content":"A \\ud800 B"}}]}', "A \ufffd B"),
    "a NUL": (completion("A\0B"), "A\0B"),
    "a raw line break": (b'{"choices":[{"message":{"content":"A\nB"}}]}', "A\nB"),
    "a mark of byte order": (b"\xef\xbb\xbf" + json.dumps(completion("é")).encode(), "é"),
    "UTF-16": (json.dumps(completion("é")).encode("utf-16"), "é"),
    "not quite UTF-8": (b'{"choices":[{"message":{"content":"caf\xe9"}}]}', "caf\ufffd"),
    "parts": (completion([{"type": "text", "text": "A"}, 7, None, {"type": "image"}, " B"]), "A B"),  # type: ignore[arg-type]
    "a part alone": (completion({"type": "text", "text": "A"}), "A"),  # type: ignore[arg-type]
    "deep where nothing is read": (
        b'{"choices":[{"message":{"content":"A"}}],"x":%s1%s}' % (b"[" * 900, b"]" * 900),
        "A",
    ),
    "a refusal": (with_message(content=None, refusal="no"), "no"),
    "text without a role": ({"choices": [{"message": {"content": "bare"}}]}, "bare"),
    "choices in another order": ({"choices": [{"index": n, "message": {"content": f"{n}"}} for n in (2, 0, 1)]}, "0"),
    "words about an error": (completion("The error is in line 3, so B"), "The error is in line 3, so B"),
    "no usage": (completion("x", usage=None, logprobs={"content": None}, finish_reason="eos"), "x"),
    "ten million letters": (completion("A" * 10_000_000), "A" * 10_000_000),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_answer_is_not_thrown_away_for_what_stands_beside_it(tmp_path: Path, kind: str) -> None:
    body, text = ODD[kind]
    response = read_completion("00", body if isinstance(body, bytes) else msgspec.json.encode(body))
    assert (response.outcome, response.text) == ("answered", text)
    assert read_back(response, tmp_path) == response
    if kind == "half a token":
        assert (response.tokens_in, response.tokens_out) == (6, 7), "budgets hold"


@pytest.mark.parametrize("data", [DEEP, b'{"choices":' + DEEP, b'{"error":' * 50_000, b'{"a":' * 90_000 + b"1"])
def test_depth_is_no_reason_to_fall(data: bytes) -> None:
    with pytest.raises(CallError) as caught:
        read_completion("00", data)
    assert caught.value.kind == "garbage"
    assert read_failure(400, {}, data).kind == "bad-request"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"object": "error", "message": "The model `m` does not exist.", "type": "NotFoundError", "code": 404}),
        (404, {"error": {"message": 'model "m" not found, try pulling it first', "type": "api_error"}}),
        (404, [{"error": {"code": 404, "message": "models/m is not found", "status": "NOT_FOUND"}}]),
        (404, {"error": {"code": "DeploymentNotFound", "message": "The API deployment does not exist"}}),
        (400, {"error": {"message": "m is not a valid model ID", "code": 400}}),
        (400, {"error": {"message": "Model Not Exist", "type": "invalid_request_error"}}),
        (400, {"error": {"message": "no", "code": "model_not_found"}}),
    ],
    ids=lambda part: json.dumps(part)[:40],
)
def test_an_unknown_model_is_hopeless(status: int, body: object) -> None:
    failed = read_failure(status, {}, json.dumps(body).encode())
    assert (failed.kind, failed.hopeless, failed.passing) == ("not-found", True, False)


def read_back(response: Response, folder: Path) -> Response:
    """What the journal gives for it, and what the sealed file gives."""
    place = Path(tempfile.mkdtemp(dir=folder))
    journal_of(place, response).close()
    assert stored_health(place) == (0, [])
    (found,) = read_responses(place)
    return found


_FIELDS = """choices message content usage finish_reason text logprobs token logprob top_logprobs reasoning
reasoning_content refusal prompt_tokens completion_tokens error"""
_names = st.sampled_from(_FIELDS.split())
_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=6) | st.just("-inf"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=5),
    max_leaves=10,
)
_tokens = st.lists(st.dictionaries(_names, _anything), max_size=3)
_choices = st.fixed_dictionaries(
    {"message": st.dictionaries(_names, _anything)},
    optional={"finish_reason": _anything, "logprobs": _anything | st.fixed_dictionaries({"content": _tokens})},
)
_completions = st.fixed_dictionaries(
    {"choices": st.lists(_choices, max_size=2)}, optional={"usage": _anything | st.dictionaries(_names, _anything)}
)


@given(_anything | _completions)
def test_what_is_kept_can_always_be_read_back(value: Any) -> None:
    data = json.dumps(value).encode()
    read_failure(500, {}, data)
    try:
        response = read_completion("00", data)
    except CallError as error:
        error_row = Response(request="00", outcome="failed", text=None, error=error.kind, detail=str(error))
        assert msgspec.json.decode(msgspec.json.encode(error_row), type=Response) == error_row
        return
    assert msgspec.json.decode(msgspec.json.encode(response), type=Response) == response
    (batch,) = to_table([response]).to_batches()
    assert list(from_batch(batch)) == [response]


@pytest.mark.slow
def test_memory_stays_bounded_under_large_replies(tmp_path: Path, endpoint: Endpoint) -> None:
    make_bench(tmp_path / "b", 60, image_count=0)
    large = b'{"choices":[' + b"{}," * 9_000_000 + b"0]}"
    endpoint.rule = lambda attempt: Reply(body=large) if int(attempt.key, 16) % 3 == 0 else None
    words = ["run", "b", "--models", str(endpoint.models(attempts=1, patience=1)), "--to", "r"]
    command = [*MAIN, *words]
    with subprocess.Popen(command, cwd=tmp_path) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 2)
    good = {attempt.key for attempt in endpoint.attempts if int(attempt.key, 16) % 3}
    assert len([row for row in stored(tmp_path / "r") if row.outcome == "answered"]) == len(good) > 30
    assert used.ru_maxrss < 2 * 2**20, "kilobytes"
