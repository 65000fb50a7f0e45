"""What runs at GitHub: actions at a commit that nobody can move, packages of the lock file with their hashes."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
PLACES = [*WORKFLOWS, ROOT / "action.yml", ROOT / "docs" / "ci.md"]
# The commits of the tags, read from the repositories of the actions. A tag can be moved, a commit cannot.
COMMITS = {
    "actions/checkout v4.3.1": "34e114876b0b11c390a56381ad16ebd13914f8d5",
    "actions/setup-python v5.6.0": "a26af69be951a213d495a4c3e4e4022e16d87065",
    "actions/upload-artifact v4.6.2": "ea165f8d65b6e75b540449e92b4886f43607fa02",
}
_USES = re.compile(r"^\s*-?\s*uses:\s*(?P<action>\S+?)@(?P<commit>\S+)(?:\s+#\s*(?P<version>\S+))?\s*$", re.MULTILINE)
_OURS = ("OWNER/eyetest",)  # the example in the documentation of a user's own workflow
_OWN_PACKAGES = {".", "packages/eyetest-world", "$HERE"}


@pytest.mark.parametrize("path", PLACES, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(path: Path) -> None:
    text = path.read_text()
    uses = [use for use in _USES.finditer(text) if use["action"] not in _OURS]
    assert len(uses) + sum(name in text for name in _OURS) == text.count("uses:")
    for use in uses:
        assert COMMITS.get(f"{use['action']} {use['version']}") == use["commit"], use[0].strip()


def installs(value: Any) -> Iterator[list[str]]:
    """The words of every ``pip install`` in the steps of a workflow."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key == "run":
                lines = str(part).splitlines()
                yield from (shlex.split(line) for line in lines if "pip" in line and "install" in line)
            else:
                yield from installs(part)
    elif isinstance(value, list):
        for part in value:
            yield from installs(part)


def packages(words: list[str]) -> set[str]:
    """What an installation names: neither options nor the files behind them."""
    rest = words[words.index("install") + 1 :]
    return {word for place, word in enumerate(rest) if not word.startswith("-") and rest[place - 1] != "-r"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_installs_what_the_lock_files_name_and_nothing_else(path: Path) -> None:
    commands = list(installs(yaml.safe_load(path.read_text())))
    assert ["python", "-m", "pip", "install", "--require-hashes", "-r", "requirements-dev.lock"] in commands
    for words in commands:
        if "--require-hashes" in words:
            assert not packages(words), words
        else:
            assert "--no-deps" in words, words
            assert "--no-build-isolation" in words, words
            assert packages(words) <= _OWN_PACKAGES, words


def test_the_action_installs_eyetest_with_the_packages_of_its_lock_file() -> None:
    locked = [
        words for words in installs(yaml.safe_load((ROOT / "action.yml").read_text())) if "$PACKAGE" not in words
    ]
    assert any("--require-hashes" in words for words in locked)
    for words in locked:
        assert "--require-hashes" in words or "--no-deps" in words


@pytest.mark.parametrize("name", ["requirements-dev.lock", "requirements.lock"])
def test_every_package_of_a_lock_file_has_a_version_and_hashes(name: str) -> None:
    entries = re.split(r"\n(?=\S)", (ROOT / name).read_text().strip())
    for entry in entries:
        assert re.match(r"[\w.\[\],-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry
