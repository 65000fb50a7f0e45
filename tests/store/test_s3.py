"""A real server of S3's protocol: killed runs resume, and two writers lose nothing of each other."""

import random
from collections import Counter

import pytest

from eyetest.runs import Run, read_responses
from eyetest.store.urls import local_path
from tests.endpoint import Endpoint
from tests.running.benches import answers, keys_in, make_bench, stored
from tests.running.processes import Nursery, killed_while_asking
from tests.runs.test_writers import check_both, write_at_once
from tests.store.test_remote import objects, wipe_mirrors

pytestmark = pytest.mark.journey

KILLS = 4
AT_ONCE = 6


def test_kill_9_and_go_on_with_a_run_on_s3(s3: str, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(local_path(f"{s3}/b"), 120, image_count=30)
    endpoint.latency = 0.02
    command = ("run", f"{s3}/b", "--model", f"openai:m@{endpoint.url}", "--to", f"{s3}/r", "--concurrency", AT_ONCE)
    rng, kept, again = random.Random(11), set[str](), Counter[str]()
    for _ in range(KILLS):
        sent = killed_while_asking(nursery, endpoint, command, rng.randrange(7, 20), rng.uniform(0, 0.02))
        now = set(keys_in(list(read_responses(local_path(f"{s3}/r")))))
        assert kept <= now, "what was stored once stays stored"
        kept, lost = now, Counter({key: times for key, times in sent.items() if key not in now})
        assert len(lost) <= AT_ONCE, "only calls in flight can be lost"
        again += lost
    assert 0 < len(kept) < 120
    done = nursery.run(*command).fine()
    assert f"{s3}/r" in done.stdout + done.stderr
    assert "remote-" not in done.stdout + done.stderr
    rows = stored(local_path(f"{s3}/r"))
    assert len(rows) == len({row.request for row in rows}) == 120, "every answer is there exactly once"
    assert all(times == 1 + again[key] for key, times in endpoint.sent.items()), "only calls in flight come again"
    assert not [name for name in objects(f"{s3}/r") if name.endswith(".jsonl")]
    wipe_mirrors()
    assert len(answers(local_path(f"{s3}/r"))) == 120, "all of it is in the bucket"
    assert Run(local_path(f"{s3}/r")).manifest.benchmark.path == f"{s3}/b"  # type: ignore[union-attr]


def test_without_its_mirror_a_killed_run_asks_again_what_was_not_uploaded(
    s3: str, endpoint: Endpoint, nursery: Nursery
) -> None:
    make_bench(local_path(f"{s3}/b"), 120)
    endpoint.latency = 0.02
    command = ("run", f"{s3}/b", "--model", f"openai:m@{endpoint.url}", "--to", f"{s3}/r", "--concurrency", 2)
    nursery.run(*command, "--budget", "calls=30").fine()
    killed_while_asking(nursery, endpoint, command, 20)
    wipe_mirrors()
    kept = len(set(keys_in(list(read_responses(local_path(f"{s3}/r"))))))
    assert kept == 30, "what was sealed is in the bucket"
    before = endpoint.sent.total()
    nursery.run(*command).fine()
    assert len(answers(local_path(f"{s3}/r"))) == 120
    assert endpoint.sent.total() - before == 120 - kept, "nothing is asked again that was in the bucket"


def test_two_processes_write_to_one_run_and_lose_nothing(s3: str) -> None:
    place = local_path(f"{s3}/r")
    write_at_once(place, 30)
    wipe_mirrors()
    local_path(f"{s3}/r")
    check_both(place, 30)
