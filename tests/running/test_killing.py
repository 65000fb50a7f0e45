"""Killed at any moment and started again, a run loses no answer and pays for none twice."""

import random
import re
from collections import Counter
from pathlib import Path

from eyetest.runs import Run, read_responses
from tests.endpoint import Endpoint
from tests.running.benches import answers, keys_in, make_bench, stored
from tests.running.processes import Nursery, killed_while_asking

KILLS = 20


def test_kill_9_at_twenty_moments(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 400, image_count=30)
    endpoint.latency = 0.02
    command = ("run", "b", "--models", endpoint.models(backoff=0.01), "--concurrency", 6)
    killed = (*command, "--to", "r")
    rng = random.Random(5)
    may_come_again: Counter[str] = Counter()
    kept: set[str] = set()
    moments_with_answers = 0
    for kills in range(KILLS):
        # six fly at once, so the seventh is sent only after the first is stored
        calls, most = (rng.randrange(7, 18), 0.02) if kills % 3 else (0, 0.25)
        sent = killed_while_asking(nursery, endpoint, killed, calls, rng.uniform(0, most))
        known_before, now = len(kept), set(keys_in(list(read_responses(tmp_path / "r"))))
        assert kept <= now, "what was stored once stays stored"
        kept = now
        lost = sent.keys() - kept
        assert len(lost) <= 6, "only calls in flight can be lost"
        may_come_again.update(lost)
        moments_with_answers += len(kept) > known_before
    assert moments_with_answers >= 13, "the kills have to fall into the middle of the asking"
    assert len(kept) < 400, "the last kill has to fall before the end"

    nursery.run(*killed).fine()
    rows = stored(tmp_path / "r")
    delivered = Counter(keys_in(rows))
    assert len(rows) == len(delivered) == len({row.request for row in rows}) == 400
    assert set(delivered.values()) == {1}, "every answer is in the journal exactly once"
    assert set(endpoint.sent) == set(delivered)
    for key, times in endpoint.sent.items():
        assert times == 1 + may_come_again[key], "only what was in flight at a kill is sent again"

    again = nursery.run(*killed).fine()
    assert re.search(r"to ask +0 calls", again.stderr)
    assert stored(tmp_path / "r") == rows
    assert endpoint.sent.total() == 400 + may_come_again.total(), "a complete run asks nothing"

    nursery.run(*command, "--to", "whole").fine()
    assert answers(tmp_path / "r") == answers(tmp_path / "whole")
    assert Run(tmp_path / "r").plan().equals(Run(tmp_path / "whole").plan())


def test_a_torn_last_line_is_skipped_told_and_asked_again(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery
) -> None:
    make_bench(tmp_path / "b", 5)
    command = ("run", "b", "--model", f"openai:m@{endpoint.url}", "--to", "r")
    nursery.run(*command, "--limit", 3).fine()
    whole = answers(tmp_path / "r")
    journal = tmp_path / "r/journal/000002.jsonl"
    journal.write_bytes(b'{"request":"' + b"0" * 32 + b'","outcome":"answered","text":"A. not')
    assert answers(tmp_path / "r") == whole
    status = nursery.run("show", "r").fine()
    assert "1 journal lines were cut off by a kill" in status.stderr
    nursery.run(*command).fine()
    assert len(answers(tmp_path / "r")) == 5
    assert Run(tmp_path / "r").health.torn == 1, "told also after it was sealed"
    assert len(endpoint.attempts) == 5
