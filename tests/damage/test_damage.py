"""Files that came back damaged: no crash, no traceback, nothing untrue, nothing lost but what was hit."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.damage.readers import SUBJECTS

pytestmark = pytest.mark.journey

FEW, MANY = 25, 2_000
AT_ONCE = 500
MOST_MEGABYTES = 2_048


def read_damaged(subject: str, folder: Path, first: int, last: int) -> None:
    command = [sys.executable, "-m", "tests.damage.readers", subject, str(folder), str(first), str(last)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seed = (done.stderr.split() or ["?"])[-1]
    assert done.returncode >= 0, f"{subject}: signal {-done.returncode} at {seed}"
    *found, memory = done.stdout.splitlines()
    assert done.returncode == 0, "\n".join(found)
    assert int(memory) < MOST_MEGABYTES


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_few_damages(tmp_path: Path, subject: str) -> None:
    SUBJECTS[subject].make(tmp_path)
    read_damaged(subject, tmp_path, 0, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS)
def test_many_damages(tmp_path: Path, subject: str) -> None:
    SUBJECTS[subject].make(tmp_path)
    for first in range(FEW, MANY, AT_ONCE):
        read_damaged(subject, tmp_path, first, min(first + AT_ONCE, MANY))
