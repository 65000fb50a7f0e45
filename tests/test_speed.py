"""The measuring scripts run to their end, at sizes that measure nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

SPEED = Path(__file__).parent.parent / "speed"
SCRIPTS = (
    "audit.py --items 60",
    "import.py --items 60 --rounds 1",
    "merge.py --sizes 50",
    "open.py --items 400 --models 30",
    "reform.py --records 60",
    "report.py --items 60 --models 3",
    "review.py --reviewers 2 --decisions 6 --think 0.1",
    "tables.py --items 400 --models 3",
    "zoo.py --items 18",
)


@pytest.mark.journey
@pytest.mark.parametrize("command", SCRIPTS)
def test_script_runs(command: str) -> None:
    script, *options = command.split()
    run = subprocess.run([sys.executable, SPEED / script, *options], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
