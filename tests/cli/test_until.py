"""``eyetest run --until``: models asked until one leads, or until the rank of a new one is known."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.endpoint import Endpoint
from tests.running.benches import make_bench, stored
from tests.running.processes import Nursery, until
from tests.support.command import call, call_narrowly

pytestmark = pytest.mark.journey

ITEMS = 150
NEW = "new=scripted:right=0.62,seed=99"


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten models that are right 30 to 84 times in a hundred."""
    monkeypatch.chdir(tmp_path)
    make_bench(tmp_path / "b", ITEMS)
    panel = {f"m{n}": f"scripted:right={0.3 + 0.06 * n:.2f},seed={n}" for n in range(10)}
    (tmp_path / "panel.yaml").write_text(yaml.safe_dump(panel))
    call("run", "b", "--models", "panel.yaml", "--to", "recorded").fine()
    return tmp_path


def test_it_reports_between_which_ranks_a_model_lies_and_goes_on_in_pieces(recorded: Path) -> None:
    command = ("run", "b", "-m", NEW, "--answers", "recorded", "--until", "rank of new within 9")
    done = call_narrowly(*command, "--to", "r")
    assert done.code == 0, done.err
    output = " ".join(done.out.split())
    found = re.search(
        r"new has rank (\d+) to (\d+) of 11: a score between (\S+) and (\S+), from (\d+) of 150", output
    )
    assert found, done.out
    best, worst, low, high, asked = (float(word) for word in found.groups())
    assert 1 <= best < worst <= 11
    assert (high - low) / 2 <= 9.05
    assert asked <= len(stored(recorded / "r")) < ITEMS
    first = call(*command, "--to", "pieces", "--budget", "calls=31")
    assert first.code == 0, first.err
    second = call(*command, "--to", "pieces", "--output", "json")
    assert json.loads(second.out)["verdict"] == found[0] + " items"
    assert len(stored(recorded / "pieces")) == len(stored(recorded / "r")), "nothing else is asked, nothing twice"
    assert "asked only until new within 9 points was certain" in call("measure", "accuracy", "r").err


LEADERS = ("-m", "new=scripted:right=0.9,seed=1", "-m", "old=scripted:right=0.4,seed=2")
LEAD = ("run", "b", *LEADERS, "--until", "new>old")
LEAD_ITEMS = 120


def test_others_answers_decide_which_items_come_sooner(recorded: Path) -> None:
    done = call(*LEAD, "--answers", "recorded", "--to", "r")
    assert "new leads old on the whole benchmark" in " ".join(done.fine().split())
    assert len(stored(recorded / "r")) < 2 * ITEMS
    assert "items that tell models apart were likelier to be drawn" in call("measure", "accuracy", "r").err
    call("run", "b", "-m", "x=scripted:right=0.5", "--to", "few").fine()
    refused = call(*LEAD, "--answers", "few", "--to", "s").refused()
    assert "1 other model with modality image; at least 3" in refused


def test_it_says_who_leads_and_between_what_both_scores_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_bench(tmp_path / "b", LEAD_ITEMS)
    done = call_narrowly(*LEAD, "--to", "r")
    assert done.code == 0, done.err
    assert re.search(r"new leads old on the whole benchmark, by between \S+ and \S+ points", done.out)
    rows = re.findall(r"^(new|old) +(\S+) \[(\S+), (\S+)\] +(\d+) +120$", done.out, re.MULTILINE)
    assert [row[0] for row in rows] == ["new", "old"]
    assert all(float(low) <= float(score) <= float(high) for _, score, low, high, _ in rows)
    assert len(stored(tmp_path / "r")) < 2 * LEAD_ITEMS
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
    process = nursery.start(*command)
    until(lambda: endpoint.sent.total() >= 30)
    process.kill()
    done = nursery.run(*command)
    assert done.code == 0, done.stderr
    again = sum(count > 1 for count in endpoint.sent.values())
    assert again <= 2 * 2, "only what was in flight when it was killed"
    sent = endpoint.sent.total()
    assert nursery.run(*command).stdout.splitlines()[:-1] == done.stdout.splitlines()[:-1]
    assert endpoint.sent.total() == sent


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--models", "m.yaml", "--until", "new>x", "--to", "r"), 'no model "x"'),
        ((*LEADERS[:2], "--until", "new>old", "--to", "r"), "old"),
        ((*LEADERS, "--until", "new>old", "--to", "r", "--answers", "gone"), "gone"),
        ((*LEADERS, "--to", "r", "--answers", "gone"), "--answers needs --until"),
        ((*LEADERS, "--until", "new>old", "--to", "r", "--condition", "image,no-image"), "in one way, once"),
    ],
)
def test_bad_words_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make_bench(tmp_path / "b", 8)
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(dict(word.split("=", 1) for word in LEADERS[1::2])))
    assert message in call("run", "b", *more).refused()
    assert not (tmp_path / "r").exists()
