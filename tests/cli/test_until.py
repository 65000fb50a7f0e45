"""``eyetest run --until``: models asked until one leads."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.endpoint import Endpoint
from tests.running.benches import make_bench, stored
from tests.running.processes import Nursery, killed_while_asking
from tests.support.command import call, call_narrowly

pytestmark = pytest.mark.journey

LEADERS = ("-m", "new=scripted:right=0.9,seed=1", "-m", "old=scripted:right=0.4,seed=2")
LEAD = ("run", "b", *LEADERS, "--until", "new>old")
LEAD_ITEMS = 120


def test_it_says_who_leads_and_between_what_both_scores_lie(workdir: Path) -> None:
    make_bench(workdir / "b", LEAD_ITEMS)
    done = call_narrowly(*LEAD, "--to", "r")
    assert done.code == 0, done.err
    assert re.search(r"new leads old on the whole benchmark, by between \S+ and \S+ points", done.out)
    rows = re.findall(r"^(new|old) +(\S+) \[(\S+), (\S+)\] +(\d+) +120$", done.out, re.MULTILINE)
    assert [row[0] for row in rows] == ["new", "old"]
    assert all(float(low) <= float(score) <= float(high) for _, score, low, high, _ in rows)
    assert len(stored(workdir / "r")) < 2 * LEAD_ITEMS
    again = call(*LEAD, "--to", "r", "--output", "json")
    reported = json.loads(again.out)
    assert reported["leader"] == "new"
    assert 0 < reported["lead_low"] < reported["lead_high"]
    assert [row["model"] for row in reported["scores"]] == ["new", "old"]
    assert "r: asked only until new>old was certain; answers themselves chose" in call("compare", "r").err


def test_killed_it_goes_on_and_asks_nothing_twice(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", LEAD_ITEMS)
    (tmp_path / "m.yaml").write_text(
        yaml.safe_dump({name: f"openai:{name}@{endpoint.url}" for name in ("new", "old")})
    )
    command = ("run", "b", "--models", "m.yaml", "--until", "new>old", "--to", "r", "--concurrency", 2)
    killed_while_asking(nursery, endpoint, command, 30)
    done = nursery.run(*command).fine()
    again = sum(count > 1 for count in endpoint.sent.values())
    assert again <= 2 * 2, "only what was in flight when it was killed"
    sent = endpoint.sent.total()
    assert nursery.run(*command).stdout.splitlines()[:-1] == done.stdout.splitlines()[:-1]
    assert endpoint.sent.total() == sent
