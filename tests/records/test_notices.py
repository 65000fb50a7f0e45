"""Which replies are notices that a call failed, and which are answers."""

import json
from pathlib import Path

import polars as pl
import pytest

from eyetest.records.request import failure_notice

NOTICES = (
    "Error: rate limit exceeded",
    "Error: Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29871.",
    "429 Too Many Requests",
    "openai.RateLimitError: Error code: 429 - {'error': {'message': 'You exceeded your current quota'}}",
    "You exceeded your current quota, please check your plan and billing details.",
    "Internal server error",
    "502 Bad Gateway",
    "Service Unavailable",
    "503 Service Temporarily Unavailable",
    "upstream connect error or disconnect/reset before headers. reset reason: connection timeout",
    "no healthy upstream",
    "Request timed out after 600 seconds",
    "ReadTimeout: HTTPSConnectionPool(host='api.example.com', port=443): Read timed out. (read timeout=60)",
    "ConnectionError: ('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))",
    "The server had an error while processing your request. Sorry about that!",
    "The model is currently overloaded. Please try again later.",
    "That model is currently overloaded with other requests. You can retry your request.",
    "An error occurred while processing your request: API connection failed",
    "Sorry, an error occurred while generating the response (api timeout).",
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    "Your request was rejected as a result of our safety system.",
    "Content filtered",
    "[Content filtered by safety settings]",
    "Response blocked due to safety settings.",
    "Error: content policy violation",
    "Input data may contain inappropriate content.",
    "Error code: 400 - {'error': {'code': 'content_filter', 'message': 'The response was filtered'}}",
    "This model's maximum context length is 4096 tokens. However, your messages resulted in 5120 tokens.",
    "Error: Incorrect API key provided: sk-…",
    "CUDA out of memory. Tried to allocate 2.00 GiB",
    "RuntimeError: CUDA error: device-side assert triggered",
    "Max retries exceeded with url: /v1/chat/completions",
    '{"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}',
    '{"detail": "Internal Server Error"}',
    '{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","code":404}',
    "<html>\n<head><title>502 Bad Gateway</title></head>\n<body><center><h1>502 Bad Gateway</h1></center></body></html>",  # noqa: E501
    "<!DOCTYPE html><html><head><title>Error 1015 | Rate limited</title></head><body>You are being rate limited</body></html>",  # noqa: E501
    "Failed to obtain answer via API.",
    "[REQUEST_FAILED after 5 retries]",
    "ValueError: The `response.text` quick accessor only works when the response contains a valid `Part`. The candidate's finish_reason is SAFETY (safety settings).",  # noqa: E501
    "An unexpected error has occurred on the server.",
    "Error 429: quota exhausted for project 1234",
    "model_overloaded: try again later",
    "TimeoutError",
    "Exception: Connection to server lost",
    "Error: 'choices'",
    "The request was aborted: could not create SSL/TLS secure channel.",
    "failed to generate completion: context canceled",
    "Sorry, we could not process your request because it was flagged by our moderation system.",
    "Your prompt was flagged as potentially violating our usage policy.",
    "I apologize, but a server error occurred. Please try again.",
    "<html><body><h1>504 Gateway Time-out</h1>The server didn't respond in time.</body></html>",
    '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    '{"code":"DataInspectionFailed","message":"Output data may contain inappropriate content."}',
    "ERR_CONTENT_FILTER",
    "litellm.ContentPolicyViolationError: AzureException - The response was filtered",
    "HTTP Error 500",
    "Error generating response: list index out of range",
    "GPU out of memory error in worker 3",
    "RESPONSE_BLOCKED_BY_PROVIDER",
    "Provider returned error",
    "No response from the model server (timeout 120 s)",
    "INTERNAL: server terminated the stream unexpectedly",
)
ANSWERS = (
    "B",
    "(B)",
    "The error is in line 3, so B",
    "Error",
    "Error bars overlap, so B.",
    "Error: B",
    "The answer is B.",
    "I'm sorry, but I can't help with that.",
    "I cannot answer this question.",
    "Internal server error is what the screen shows, so the answer is C.",
    "The screenshot shows a 404 Not Found error page.",
    "404",
    "503 people",
    "$500",
    'The image shows a browser with the message "Error: rate limit exceeded". The answer is (D).',
    "The timeout was called by the home team.",
    "Timeout",
    "A timeout was called, so A.",
    "The content of the image is filtered light through leaves.",
    "Content: a cat on a mat.",
    "Filtered coffee is made with paper.",
    "The gateway arch in St. Louis.",
    "The connection between the two neurons is a synapse.",
    "Connection A is in series, so B.",
    "Blocked shots: 5",
    "The road was blocked by a fallen tree.",
    "Response variable: height",
    "The response was positive in 3 of 5 patients.",
    "The rate limit is 60 km/h.",
    "The server is carrying a tray of drinks.",
    "The server hands over the plate. Answer: A",
    "Model T",
    "The model is currently wearing a red dress.",
    '{"answer": "B"}',
    '{"error": "A", "answer": "B"}',
    '{"message": "hello", "x": 1}',
    "[1, 2, 3]",
    "{}",
    "<html><head><title>My page</title></head><body>Hello</body></html>",
    "<think>error?</think> B",
    "Standard error: 0.05",
    "Type I error",
    "Mean squared error",
    "Error in measurement is 2 %, so the answer is 4.9.",
    "Exception: mammals that lay eggs, so B.",
    "The request was denied by the bank.",
    "Request for a refund",
    "Service unavailable on Sundays: option C",
    "An error occurred in step 2: the sign is wrong. The correct value is -3, so the answer is B.",
    "Traceback of the function shows that x is 3.",
    "Unauthorized entry is prohibited",
    "Failed to stop at the red light",
    "Access denied to minors",
    "The truck is overloaded.",
    "Your request is on the second page",
    "Input: 3, Output: 9, so the answer is 81",
    "A) Error detection",
    "C. Error 404",
    "The prompt was completed at 5 pm.",
    "Something went wrong with the cake: it is burnt, so option B.",
)


@pytest.mark.parametrize("text", NOTICES)
def test_notices(text: str) -> None:
    assert failure_notice(text)
    assert failure_notice(f"\n {text}\n")


@pytest.mark.parametrize("text", ANSWERS)
def test_answers(text: str) -> None:
    assert failure_notice(text) == ""


def test_kinds() -> None:
    expected = {"Error: rate limit exceeded": "rate-limit", "Content filtered": "content-filter"}
    expected |= {"Request timed out.": "timeout", "502 Bad Gateway": "server", "Error: invalid API key": "auth"}
    assert {text: failure_notice(text) for text in expected} == expected


@pytest.mark.science
def test_published_replies_are_answers(shared: Path) -> None:
    """Of 80,000 replies only twelve are notices, in which a client says that there is no text."""
    found = []
    for name in ("mathvista", "mmmu_pro"):
        replies = pl.read_parquet(shared / f"data/{name}/predictions.parquet").get_column("raw_output")
        found += [reply for reply in replies if failure_notice(reply or "")]
    assert [reply for reply in found if not reply.startswith('{"error": "Invalid operation: The `response.')] == []
    assert len(found) == 12
    for path in (shared / "data/replies").glob("*.jsonl"):
        assert not any(failure_notice(json.loads(line)["reply"] or "") for line in path.read_text().splitlines())
