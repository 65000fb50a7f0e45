"""``eyetest run --until "rank of A within 5"``: a new model among recorded ones, asked as little as that takes."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.endpoint import Endpoint
from tests.running.benches import make_bench, stored
from tests.running.processes import Nursery, until
from tests.support.command import call, call_narrowly

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


def test_it_says_between_which_ranks_a_model_lies_and_goes_on_in_pieces(recorded: Path) -> None:
    command = ("run", "b", "-m", NEW, "--answers", "recorded", "--until", "rank of new within 9")
    done = call_narrowly(*command, "--to", "r")
    assert done.code == 0, done.err
    said = " ".join(done.out.split())
    told = re.search(r"new has rank (\d+) to (\d+) of 11: a score between (\S+) and (\S+), from (\d+) of 150", said)
    assert told, done.out
    best, worst, low, high, asked = (float(word) for word in told.groups())
    assert 1 <= best < worst <= 11
    assert (high - low) / 2 <= 9.05
    assert asked <= len(stored(recorded / "r")) < ITEMS
    first = call(*command, "--to", "pieces", "--budget", "calls=31")
    assert first.code == 0, first.err
    second = call(*command, "--to", "pieces", "--output", "json")
    assert json.loads(second.out)["verdict"] == told[0] + " items"
    assert len(stored(recorded / "pieces")) == len(stored(recorded / "r")), "nothing else is asked, nothing twice"
    assert "were likelier to be drawn" in call("measure", "accuracy", "r").err


def test_killed_it_asks_nothing_twice(recorded: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    model = f"served=openai:m@{endpoint.url}"
    goal = ("--answers", "recorded", "--until", "rank of served within 9")
    command = ("run", "b", "-m", model, *goal, "--to", "r", "--concurrency", 2)
    process = nursery.start(*command)
    until(lambda: endpoint.sent.total() >= 10)
    process.kill()
    done = nursery.run(*command)
    assert done.code == 0, done.stderr
    assert sum(count > 1 for count in endpoint.sent.values()) <= 2, "only what was in flight"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("-m", NEW, "--answers", "recorded"), "--to RUN is missing"),
        (("-m", NEW, "--answers", "few", "--to", "r"), "--answers: 2 other models with modality image; at least 9"),
        (
            ("-m", NEW, "--answers", "recorded", "--to", "r", "--condition", "no-image"),
            "no model was asked with modality no-image",
        ),
        (("-m", "other=scripted:", "--answers", "recorded", "--to", "r"), "only new is asked"),
    ],
)
def test_bad_words_are_one_line(recorded: Path, more: tuple[str, ...], message: str) -> None:
    call("run", "b", "--models", "panel.yaml", "-m", "m1,m2", "--to", "few").fine()
    assert message in call("run", "b", "--until", "rank of new within 5", *more).refused()
    assert not (recorded / "r").exists()
