"""Which replies are notices that a call failed, and which are answers."""

import json
from pathlib import Path

import polars as pl
import pytest
import yaml

from eyetest.records.tables import failure_notice

REPLIES = yaml.safe_load(Path(__file__).with_name("replies.yaml").read_text("utf-8"))


@pytest.mark.parametrize("text", REPLIES["notices"])
def test_notices(text: str) -> None:
    assert failure_notice(text)
    assert failure_notice(f"\n {text}\n")


@pytest.mark.parametrize("text", REPLIES["answers"])
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
