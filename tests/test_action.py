"""The action for pull requests, whose shell runs here, and the container file, which names what is there."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT

pytestmark = pytest.mark.journey

ROWS = (
    '{"id": 1, "question": "Which?", "options": ["cat", "cat", "dog"], "answer": "C"}',
    '{"id": 2, "question": "Which one?", "options": ["cat", "dog"], "answer": "A"}',
)


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    loaded = yaml.safe_load((ROOT / "action.yml").read_text())
    assert isinstance(loaded, dict)
    return loaded


def run_step(action: dict[str, Any], name: str, here: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """A step as GitHub runs it: inputs with their defaults in its environment, bash that ends at the first error."""
    (step,) = (step for step in action["runs"]["steps"] if step.get("name") == name)
    known = {key: about.get("default", "") for key, about in action["inputs"].items()} | inputs
    surroundings = {
        key: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: known[match[1]], value)
        for key, value in step["env"].items()
    }
    (here / "eyetest").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m eyetest "$@"\n')
    (here / "eyetest").chmod(0o755)
    surroundings |= {"PATH": f"{here}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": str(here / "summary.md")}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    reported = {"cwd": here, "env": os.environ | surroundings, "capture_output": True, "text": True}
    return subprocess.run(command, check=False, **reported)  # type: ignore[call-overload, no-any-return]


def test_a_pull_request_that_spoils_a_benchmark_fails_with_a_page_and_a_summary(
    action: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "my bench.jsonl").write_text("\n".join(ROWS))
    done = run_step(action, "Audit", tmp_path, benchmark="my bench.jsonl", options="--seed 3")
    assert done.returncode == 1, done.stdout
    assert (tmp_path / "eyetest-audit.html").stat().st_size > 10_000
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("### eyetest audit: my bench.jsonl\n```text\n")
    assert "1 item has two equal options" in summary


def test_words_of_a_pull_request_are_never_part_of_a_script(action: dict[str, Any]) -> None:
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


@pytest.mark.parametrize("package", ["", "eyetest==9"])
def test_the_action_installs_from_the_lock_file(action: dict[str, Any], tmp_path: Path, package: str) -> None:
    (tmp_path / "python").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "python").chmod(0o755)
    said = run_step(action, "Install", tmp_path, package=package).stdout.splitlines()
    if package:
        assert said == ["-m pip install --quiet eyetest==9"]
    else:
        assert "--require-hashes" in said[0]
        assert "requirements.lock" in said[0]
        assert "--no-deps" in said[1]


def test_the_container_installs_from_the_lock_file() -> None:
    installs = re.findall(r"pip (?:install|wheel) ([^&;]*)", (ROOT / "Containerfile").read_text())
    free = [words for words in installs if "--require-hashes -r" not in words and "--no-deps" not in words]
    assert [words for words in free if "$EXTRAS" not in words] == []
    assert len(installs) > len(free)


def test_the_container_is_made_of_what_is_there() -> None:
    text = (ROOT / "Containerfile").read_text()
    (listed,) = re.findall(r"^COPY (pyproject.*) \./$", text, re.MULTILINE)
    assert all((ROOT / name).exists() for name in listed.split())
    assert text.index("USER eyetest") < text.index("ENTRYPOINT"), "nothing runs as root"
