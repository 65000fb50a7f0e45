"""Killed at any moment and started again, a refinement ends in the bytes of one that was not disturbed."""

import random
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from eyetest.runs import read_responses
from tests.endpoint import Endpoint
from tests.recipes.benches import by_item, make_bench, outcome, write_yaml
from tests.running.processes import Nursery, until

pytestmark = pytest.mark.journey

KILLS = 20
RECIPE: dict[str, Any] = {
    "panels": {
        "inspectors": {"size": 3, "modality": "no-image-guess", "samples": 5, "sampling": {"temperature": 0.7}},
        "contestants": {"size": 2},
        "judges": {"size": 1},
    },
    "stages": [
        {"grade": "difficulty", "panel": "contestants", "bands": {"easy": [2, 2], "middle": [1, 1], "hard": [0, 0]}},
        {"filter": "zero-pass", "panel": "contestants", "judge": "judges"},
        {
            "filter": "blind-hits",
            "panel": "inspectors",
            "answers": {"op": ">", "value": 2},
            "keep": {"hits": {"op": "<", "value": 2}},
        },
        {"select": {"per": "core", "count": 12, "proportional": ["difficulty"], "short": "keep-all"}},
    ],
}
SCREEN = RECIPE["stages"][2]
WHO = ("--panel", "inspectors=i1,i2,i3", "--panel", "contestants=e1,e2", "--panel", "judges=judge")


def test_kill_9_at_twenty_moments(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    """Three panels, early stopping, refusals, calls that fail for good, a judge."""
    make_bench(tmp_path / "b", 60)
    endpoint.answer = lambda attempt: "NO" if int(attempt.key, 16) % 2 else "YES"
    endpoint.latency = 0.01
    models = {
        "i1": "scripted:blind=0.7,seed=1,lag=0.02",
        "i2": "scripted:blind=0.5,seed=2,lag=0.02,refuse=0.1",
        "i3": "scripted:blind=0.5,seed=3,lag=0.02,dead=0.1",
        "e1": "scripted:right=0.4,seed=4,lag=0.02",
        "e2": "scripted:right=0.3,seed=5,lag=0.02,dead=0.05",
        "judge": f"openai:judge@{endpoint.url}",
    }
    write_yaml(tmp_path / "models.yaml", {name: {"spec": spec, "concurrency": 3} for name, spec in models.items()})
    write_yaml(tmp_path / "recipe.yaml", RECIPE)
    command = ("refine", "b", "--recipe", "recipe.yaml", "--models", "models.yaml", *WHO)
    whole = nursery.run(*command, "--to", "whole")
    assert whole.code == 0, whole.stderr
    assert set(by_item(tmp_path / "whole").values()) >= {"keep", "drop", "review"}
    needed = len(list(read_responses(tmp_path / "whole/run")))
    sent = len(endpoint.attempts)

    rng = random.Random(7)
    stored = kills = inside = 0
    while kills < KILLS:
        process = nursery.start(*command, "--to", "killed")
        if kills % 4 == 3:
            time.sleep(rng.uniform(0, 0.3))
        else:
            wanted = max(stored + 1, round(0.85 * needed * (kills + rng.random()) / KILLS))
            until(lambda wanted=wanted: answered(tmp_path / "killed") >= wanted, "answers")  # type: ignore[misc]
            time.sleep(rng.uniform(0, 0.02))
        process.kill()
        assert process.code == -9, process.stderr
        kills += 1
        now = len({response.request for response in read_responses(tmp_path / "killed/run")})
        assert now >= stored, "what was stored once stays stored"
        inside += now > stored
        stored = now
    print(f"{stored} of {needed} answers after {inside} kills inside")
    assert inside >= 10, "the kills have to fall into the middle of the asking"
    assert not (tmp_path / "killed/verdicts.parquet").exists(), "the last kill has to fall before the end"

    done = nursery.run(*command, "--to", "killed")
    assert done.code == 0, done.stderr
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")
    requests = [response.request for response in read_responses(tmp_path / "killed/run")]
    assert len(requests) == len(set(requests)) == needed, "nothing is stored twice, nothing asked that was not needed"
    assert len(endpoint.attempts) - sent <= sent + 3 * KILLS, "only what was in flight is sent again"
    again = nursery.run(*command, "--to", "killed")
    assert again.code == 0
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")


def answered(folder: Path) -> int:
    """How many answers are on disk, whichever process writes there; at a glance, as it is called often."""
    time.sleep(0.01)
    try:
        sealed: list[int] = [pq.read_metadata(path).num_rows for path in (folder / "run/responses").glob("*.parquet")]
        return sum(sealed) + sum(path.read_bytes().count(b"\n") for path in (folder / "run/journal").glob("*.jsonl"))
    except FileNotFoundError:
        return answered(folder)


def test_kill_9_while_the_results_are_written(tmp_path: Path, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 60)
    write_yaml(tmp_path / "models.yaml", {f"i{n}": f"scripted:blind=0.5,seed={n}" for n in range(3)})
    write_yaml(tmp_path / "recipe.yaml", {"panels": RECIPE["panels"], "stages": [SCREEN]})
    command = ("refine", "b", "--recipe", "recipe.yaml", "--models", "models.yaml")
    who = ("--panel", "inspectors=i0,i1,i2", "--panel", "contestants=i0,i1", "--panel", "judges=i0")
    assert nursery.run(*command, *who, "--to", "whole").code == 0
    assert nursery.run(*command, *who, "--to", "killed").code == 0
    began = time.monotonic()
    assert nursery.run(*command, *who, "--to", "killed").code == 0
    takes = time.monotonic() - began
    rng = random.Random(3)
    for _ in range(5):
        process = nursery.start(*command, *who, "--to", "killed")
        time.sleep(takes * rng.uniform(0.3, 1))
        process.kill()
        assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole"), "what is there is whole at any time"
    assert nursery.run(*command, *who, "--to", "killed").code == 0
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")
    left = [path.name for path in (tmp_path / "killed").iterdir()]
    assert not [name for name in left if ".partial-" in name], "the dead are swept"
