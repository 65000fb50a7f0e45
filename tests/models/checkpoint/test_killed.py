"""A process that is killed in the middle of a batch: what was stored stays, what was in flight is asked again."""

import io
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from eyetest_world import load_rates, new_world

from eyetest.runs import Run

pytestmark = pytest.mark.journey

ROOT = Path(__file__).resolve().parents[3]
BATCH, IN_FLIGHT = 12, 2
"""Calls in a batch, and batches that a checkpoint works on at once."""
ITEMS, TEMPLATES = 24, 3
SCRIPT = """
import sys, time
import tests.models.checkpoint.tiny  # which repairs torchvision where it was built for another PyTorch
import eyetest as et
from eyetest.models.checkpoint.model import CheckpointModel

bench, checkpoint, log, to = sys.argv[1:]
CheckpointModel.batch, respond = {batch}, CheckpointModel._respond

def noted(self, calls):
    with open(log, "a") as file:
        file.writelines(call.id + "\\n" for call in calls)
    time.sleep(0.2)
    return respond(self, calls)

CheckpointModel._respond = noted
ways = [et.Condition(method="likelihood", template=template) for template in range({templates})]
et.run(bench, models={{"own": "transformers:" + checkpoint}}, condition=ways, to=to)
"""


def test_at_most_the_batches_in_flight_are_asked_again(checkpoints: Any, tmp_path: Path) -> None:
    bench = new_world(tmp_path / "world", load_rates("none"), items=ITEMS, seed=5)
    log, to = tmp_path / "asked.txt", tmp_path / "run"
    script = SCRIPT.format(batch=BATCH, templates=TEMPLATES)
    words = [bench.path, checkpoints("llava"), log, to]
    command = [sys.executable, "-c", script, *map(str, words)]
    with subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, cwd=ROOT) as process:
        while process.poll() is None and _stored(to) < 2 * BATCH:
            time.sleep(0.02)
        assert process.poll() is None, (process.stderr or io.BytesIO()).read().decode()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    before = _stored(to)
    subprocess.run(command, check=True, capture_output=True, timeout=600, cwd=ROOT)
    times = Counter(log.read_text().split())
    table = pl.from_arrow(Run(to).responses())
    assert isinstance(table, pl.DataFrame)
    assert table.height == table["request"].n_unique() == len(times) == ITEMS * TEMPLATES
    twice = sum(count - 1 for count in times.values())
    assert before >= 2 * BATCH
    assert 0 < twice <= IN_FLIGHT * BATCH


def _stored(to: Path) -> int:
    """How many answers lie in the journal."""
    return sum(path.read_bytes().count(b"\n") for path in to.glob("journal/*.jsonl"))
