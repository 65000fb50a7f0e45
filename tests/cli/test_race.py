"""``eyetest run --until "A>B"``: two models asked until one leads, in processes that may be killed."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
import yaml

import eyetest as et
from eyetest.runs.stored import plan_rows, plan_table
from tests.endpoint import Endpoint
from tests.running.benches import make_bench, stored
from tests.running.processes import Nursery, until
from tests.support.command import call, call_narrowly

NEW, OLD = "new=scripted:right=0.9,seed=1", "old=scripted:right=0.4,seed=2"
RACE = ("run", "b", "-m", NEW, "-m", OLD, "--until", "new>old")
ITEMS = 120


def test_it_says_who_leads_and_between_what_both_scores_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_bench(tmp_path / "b", ITEMS)
    done = call_narrowly(*RACE, "--to", "r")
    assert done.code == 0, done.err
    assert re.search(r"new leads old on the whole benchmark, by between \S+ and \S+ points", done.out)
    rows = re.findall(r"^(new|old) +(\S+) \[(\S+), (\S+)\] +(\d+) +120$", done.out, re.MULTILINE)
    assert [row[0] for row in rows] == ["new", "old"]
    assert all(float(low) <= float(score) <= float(high) for _, score, low, high, _ in rows)
    assert len(stored(tmp_path / "r")) < 2 * ITEMS
    again = call(*RACE, "--to", "r", "--output", "json")
    told = json.loads(again.out)
    assert told["leader"] == "new"
    assert 0 < told["lead_low"] < told["lead_high"]
    assert [row["model"] for row in told["scores"]] == ["new", "old"]
    assert "r: asked only until new>old was certain; answers themselves chose" in call("compare", "r").err


def test_with_answers_of_others_items_on_which_they_differ_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All others are right on the first half of the items, and differ on the second."""
    monkeypatch.chdir(tmp_path)
    make_bench(tmp_path / "b", ITEMS)
    said = [
        {"item": f"q{item}", "model": f"m{n}", "text": "ABCD"[(item + (item >= ITEMS // 2 and (item + n) % 2)) % 4]}
        for n in range(5)
        for item in range(ITEMS)
    ]
    et.import_file(pl.DataFrame(said), bench=tmp_path / "b", to=tmp_path / "others")
    models = ("-m", "a=scripted:right=0.8,seed=1", "-m", "b=scripted:right=0.7,seed=2", "--until", "a>b")
    limits = ("--budget", "calls=60", "--concurrency", 2)
    done = call("run", "b", *models, "--to", "r", "--answers", "others", *limits)
    assert done.code == 0, done.err
    asked = {row.request for row in stored(tmp_path / "r")}
    items = [int(row.item[1:]) for row in plan_rows(plan_table(tmp_path / "r")) if row.request in asked]
    assert sum(item >= ITEMS // 2 for item in items) > 0.6 * len(items)
    assert "were likelier to be drawn" in call("measure", "accuracy", "r").err


def test_killed_it_goes_on_and_asks_nothing_twice(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", ITEMS)
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
        (("-m", NEW, "--until", "new>old", "--to", "r"), "old"),
        (("-m", NEW, "-m", OLD, "--until", "new>old"), "--to RUN is missing"),
        (("-m", NEW, "-m", OLD, "--until", "new>old", "--to", "r", "--answers", "gone"), "gone"),
        (
            ("-m", NEW, "-m", OLD, "--until", "new>old", "--to", "r", "--condition", "image,no-image"),
            "in one way, once",
        ),
        (("-m", NEW, "-m", OLD, "--to", "r", "--answers", "gone"), "--answers needs --until"),
    ],
)
def test_bad_words_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make_bench(tmp_path / "b", 8)
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(dict(word.split("=", 1) for word in (NEW, OLD))))
    assert message in call("run", "b", *more).refused()
    assert not (tmp_path / "r").exists()
