"""A release from end to end: what is built, checksums, signature, and a wheel of it in another environment."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

from eyetest.version import __version__
from tests.conftest import ROOT
from tests.test_distributions import borrow
from tools.release import NAMESPACE, SBOM, SECTION, SUMS, ReleaseError, changes, prepare, seal

CHANGES = "# Changes\n\n## 1.1.0, not yet released\n\n- new\n\n## 1.0.0, 2026-11-18\n\n- old\n"


def test_the_section_is_that_of_the_version() -> None:
    assert changes(CHANGES, "1.0.0") == "## 1.0.0, 2026-11-18\n\n- old\n"
    assert "- new" in changes(CHANGES, "1.1.0", dry_run=True)
    for missing in ("1.1.0", "2.0.0"):  # not released, and not there
        with pytest.raises(ReleaseError, match="no section about version"):
            changes(CHANGES, missing)


def test_without_a_key_it_is_called_unsigned(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"a")
    assert seal(tmp_path, "## 1\n", None) is False
    assert "**Unsigned**" in (tmp_path / SECTION).read_text()
    assert not (tmp_path / f"{SECTION}.sig").exists()
    assert (tmp_path / SUMS).read_text() == f"{sha256(b'a').hexdigest()}  a.whl\n"


def test_other_files_are_never_removed(tmp_path: Path) -> None:
    for name in ("a.whl", "thesis.tex"):
        (tmp_path / name).write_text("mine")
    with pytest.raises(ReleaseError, match=r"thesis\.tex"):
        prepare(tmp_path, None)
    assert (tmp_path / "a.whl").exists()
    with pytest.raises(ReleaseError, match="--key: no file"):
        prepare(tmp_path / "new", tmp_path / "key")


def ssh(*words: str, text: bytes = b"") -> int:
    return subprocess.run(["ssh-keygen", *words], input=text, capture_output=True, check=False).returncode


@pytest.mark.journey
def test_a_dry_run_gives_a_release_that_can_be_verified_and_installed(tmp_path: Path) -> None:
    pytest.importorskip("cyclonedx_py", reason="the development dependencies are not installed")
    if shutil.which("ssh-keygen") is None:
        pytest.skip("no ssh-keygen is installed")
    key, to = tmp_path / "key", tmp_path / "release"
    assert ssh("-q", "-t", "ed25519", "-N", "", "-f", str(key)) == 0
    command = [sys.executable, "-m", "tools.release", "--dry-run", "--to", str(to), "--key", str(key)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"signed with {key}" in done.stdout

    sums = {name: digest for digest, name in (line.split("  ") for line in (to / SUMS).read_text().splitlines())}
    kinds = ("eyetest-{}-py3-none-any.whl", "eyetest-{}.tar.gz", "eyetest-{}-site.tar.gz")
    world = ("eyetest_world-{}-py3-none-any.whl", "eyetest_world-{}.tar.gz")
    assert set(sums) == {SBOM, *(kind.format(__version__) for kind in (*kinds, *world))}
    assert all(sha256((to / name).read_bytes()).hexdigest() == digest for name, digest in sums.items())
    section = (to / SECTION).read_bytes()
    assert (to / SUMS).read_bytes() in section

    (tmp_path / "signers").write_text(f"us {key.with_suffix('.pub').read_text()}")
    verify = ("-Y", "verify", "-f", str(tmp_path / "signers"), "-I", "us", "-n", NAMESPACE, "-s")
    assert ssh(*verify, str(to / f"{SECTION}.sig"), text=section) == 0
    assert ssh(*verify, str(to / f"{SECTION}.sig"), text=section + b" ") != 0

    components = {(one["name"], one["version"]) for one in json.loads((to / SBOM).read_text())["components"]}
    locked = re.findall(r"(?m)^([A-Za-z0-9._-]+)(?:\[.*?\])?==(\S+)", (ROOT / "requirements.lock").read_text())
    assert components == set(locked)
    with tarfile.open(to / kinds[2].format(__version__)) as site:
        assert {"index.html", "stability/index.html"} <= set(site.getnames())

    elsewhere = borrow(tmp_path, to / kinds[0].format(__version__), to / world[0].format(__version__))
    assert __version__ in elsewhere.call("eyetest", "--version")
