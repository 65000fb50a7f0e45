"""Build a release: wheels and source distributions of both packages, site, SBOM, checksums, signed changelog section.

    python -m tools.release --to build/release --key ~/.ssh/id_ed25519
    python -m tools.release --to DIR --dry-run          the section that is not released yet will do

The section of the changelog ends with the checksums of all other files, so that one signature covers the release:

    ssh-keygen -Y verify -f allowed_signers -I NAME -n eyetest-release -s CHANGELOG.md.sig < CHANGELOG.md
    sha256sum --check SHA256SUMS
"""

import argparse
import gzip
import re
import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path

from eyetest.version import __version__

ROOT = Path(__file__).parent.parent
PROJECTS = (ROOT, ROOT / "packages/eyetest-world")
NAMESPACE = "eyetest-release"
SUMS, SECTION, SBOM = "SHA256SUMS", "CHANGELOG.md", "eyetest.cdx.json"
_UNRELEASED = re.compile("not yet released|unreleased", re.IGNORECASE)


class ReleaseError(Exception):
    """Why there is no release."""


def changes(text: str, version: str, *, dry_run: bool = False) -> str:
    """The section of a changelog about a version; in a dry run, the newest one that is not released yet."""
    sections = re.split(r"(?m)^(?=## )", text)[1:]
    for section in sections:
        title = section.splitlines()[0].removeprefix("## ")
        if dry_run and _UNRELEASED.search(title):
            return section.rstrip() + "\n"
        if re.match(rf"\[?{re.escape(version)}\b", title) and not _UNRELEASED.search(title):
            return section.rstrip() + "\n"
    raise ReleaseError(
        f"CHANGELOG.md has no section about version {version} with a date (--dry-run takes the newest)"
    )


def prepare(to: Path, key: Path | None) -> None:
    """Refuse a key that is not there and a folder with other files; remove the files of an earlier release."""
    if key and not key.is_file():
        raise ReleaseError(f"--key: no file {key}")
    to.mkdir(parents=True, exist_ok=True)
    for path in to.iterdir():
        if path.name not in (SUMS, SECTION, f"{SECTION}.sig", SBOM) and not path.name.endswith((".whl", ".tar.gz")):
            raise ReleaseError(f"--to: {to} holds other files, such as {path.name}")
    for path in to.iterdir():
        path.unlink()


def build(to: Path, *, site: bool = True) -> None:
    """The distributions, the site and the list of components."""
    for project in PROJECTS:
        _call(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(to), str(project))
    if site:
        with tempfile.TemporaryDirectory() as folder:
            _call(sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder)
            _pack(Path(folder), to / f"eyetest-{__version__}-site.tar.gz")
    lock = ("requirements", "requirements.lock", "--pyproject", "pyproject.toml")
    _call(sys.executable, "-m", "cyclonedx_py", *lock, "--output-reproducible", "--of", "JSON", "-o", str(to / SBOM))


def seal(to: Path, section: str, key: Path | None) -> bool:
    """Write checksums and the section with them, and sign it, if a key is named; whether it was."""
    files = sorted(path for path in to.iterdir() if path.name not in (SUMS, SECTION, f"{SECTION}.sig"))
    sums = "".join(f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (to / SUMS).write_text(sums, encoding="utf-8")
    unsigned = "" if key else "**Unsigned**: no key was named.\n\n"
    text = f"# eyetest {__version__}\n\n{unsigned}{section}\n## Checksums (SHA-256)\n\n```\n{sums}```\n"
    (to / SECTION).write_text(text, encoding="utf-8")
    (to / f"{SECTION}.sig").unlink(missing_ok=True)
    if key:
        _call("ssh-keygen", "-Y", "sign", "-q", "-f", str(key), "-n", NAMESPACE, str(to / SECTION))
    return key is not None


def _pack(folder: Path, to: Path) -> None:
    """A folder as an archive without times and owners, so that the same site gives the same bytes."""
    with (
        to.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file,
        tarfile.open(fileobj=file, mode="w") as archive,
    ):
        for path in sorted(folder.rglob("*")):
            archive.add(path, path.relative_to(folder).as_posix(), recursive=False, filter=_anonymous)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
    return entry


def _call(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 (ours)
    if done.returncode:
        raise ReleaseError(f"{' '.join(command[:6])} …: {(done.stderr or done.stdout).strip()[-2000:]}")


def main() -> None:
    """Build into an empty folder, and print what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=ROOT / "build/release", help="its earlier release is replaced")
    parser.add_argument("--key", type=Path, help="private SSH key that signs; without one the release is unsigned")
    parser.add_argument("--dry-run", action="store_true", help="take the section that is not released yet")
    parser.add_argument("--no-site", action="store_true", help="leave the documentation out")
    given = parser.parse_args()
    try:
        section = changes((ROOT / SECTION).read_text("utf-8"), __version__, dry_run=given.dry_run)
        prepare(given.to, given.key)
        build(given.to.resolve(), site=not given.no_site)
        signed = seal(given.to.resolve(), section, given.key and given.key.resolve())
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"{given.to}: {', '.join(sorted(path.name for path in given.to.iterdir()))}")
    print(f"signed with {given.key}" if signed else "UNSIGNED: name a key with --key (make release KEY=…)")


if __name__ == "__main__":
    main()
