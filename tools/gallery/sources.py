"""Files of public repositories, read from their git directories at a fixed commit."""

import hashlib
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path


class UnavailableError(Exception):
    """A source that is not here, or not the one that the manifest names."""


def repository(folder: Path, name: str) -> Path:
    """The git directory of ``owner/name`` in a folder of sources: ``repo``, or ``.git`` in it."""
    found = folder / name.replace("/", "+") / "repo"
    if not found.is_dir():
        raise UnavailableError(f"no {found}: git clone --bare https://github.com/{name} {found}")
    return found / ".git" if (found / ".git").is_dir() else found


def bring(git: Path, commit: str, files: Mapping[str, str], folders: Iterable[str], to: Path) -> None:
    """Write files, checked by their SHA-256, and all files of some folders, pinned by the commit, to a folder."""
    blobs = listed(git, commit, (*files, *folders))
    for path in files:
        if path not in blobs:
            raise UnavailableError(f"{git.parent.name} has no {path} at {commit[:12]}")
    for path, content in contents(git, blobs):
        if content is None:
            if path in files:
                raise UnavailableError(f"{git.parent.name}: {path} is not in this clone")
            continue
        if path in files and (found := hashlib.sha256(content).hexdigest()) != files[path]:
            raise UnavailableError(
                f"{git.parent.name}: {path} has SHA-256 {found}, the manifest {files[path] or 'none'}"
            )
        file = to / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def head(git: Path) -> str:
    """The newest commit of a git directory."""
    command = ["git", "--git-dir", str(git), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode().strip()  # noqa: S603


def listed(git: Path, commit: str, paths: Iterable[str]) -> dict[str, str]:
    """The blobs below some paths of a commit, by path."""
    command = ["git", "--git-dir", str(git), "ls-tree", "-r", "-z", commit, "--", *paths]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        raise UnavailableError(f"{git.parent.name} has no commit {commit[:12]}: fetch it")
    entries = (entry.decode().partition("\t") for entry in done.stdout.split(b"\0") if entry)
    return {path: known.split()[2] for known, _, path in entries if known.split()[1] == "blob"}


def contents(git: Path, blobs: Mapping[str, str]) -> Iterator[tuple[str, bytes | None]]:
    """The bytes of each blob; None where the clone lacks it."""
    command = ["git", "--git-dir", str(git), "cat-file", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603
        asked, answered = process.stdin, process.stdout
        if asked is None or answered is None:
            raise OSError("git cat-file has no pipes")
        for path, blob in blobs.items():
            asked.write(f"{blob}\n".encode())
            asked.flush()
            kind = answered.readline().split()
            if kind[-1] == b"missing":
                yield path, None
                continue
            yield path, answered.read(int(kind[2]))
            answered.read(1)
        asked.close()
