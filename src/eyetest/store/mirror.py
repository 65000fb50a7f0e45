"""A bucket's mirror on this disk: what is read is brought here first, what is written goes there too.

Of every file that is the same here and there a note is kept (``.known``): its version there, its size and time here.
So what changed there is brought, what went there goes here, and what was never sent is kept. A file that grows is
sent again and again; of it the longer one is the newer.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import msgspec

from eyetest.store.files import is_plain_name
from eyetest.store.local import LocalStore, write_all
from eyetest.store.objects import MOST_AT_ONCE, Objects, RemoteError, Span, batches
from eyetest.store.packs import INDEX, LOOSE, PACKS

LEASE = ".lease"
"""How the name of an object ends by which somebody holds a file; never brought."""
_LAST = ".json"
"""How the names of files end that are sent last of a folder, so that one without them is not there yet."""
_KNOWN = ".known"
_BENCHMARK = "benchmark.json"
"""Beside this, pictures stay where they are until somebody looks at them."""
_BYTES_A_RANGE = 8 * 2**20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_log = logging.getLogger(__name__)


class SyncNote(msgspec.Struct):
    """A file that is the same here and there."""

    tag: str
    """Its version there."""
    size: int
    time: int = 0
    """When it was changed here, in nanoseconds."""
    grows: bool = False
    """Whether this machine appends to it, so that it may be longer here."""


class RemoteEntry(NamedTuple):
    """A file there."""

    path: Path
    """Where it lies here, or will."""
    size: int
    tag: str


class Mirror:
    """What of a bucket is on this disk, and the ways there and back."""

    def __init__(self, root: Path, url: str) -> None:
        self.root, self.objects = root, Objects(url)

    def name(self, path: Path) -> str:
        """What the store calls a path."""
        return path.absolute().relative_to(self.root).as_posix()

    def bring(self, path: Path) -> None:
        """Bring what is new or changed of a file or a folder; a benchmark's pictures stay until they are wanted."""
        there = {entry.path: entry for entry in self._listed(path)}
        if not there and "#" in path.name:  # a sheet of a table
            path = path.with_name(path.name.rpartition("#")[0])
            there = {entry.path: entry for entry in self._listed(path)}
        wanted = [entry for entry in there.values() if self._differs(entry)]
        self._fetch(sorted(wanted, key=lambda entry: entry.path.suffix == _LAST))
        self._drop_gone(path, there)
        if wanted:
            _log.info("brought %d files of %s", len(wanted), self.objects.url_of(self.name(path)))

    def _listed(self, path: Path) -> Iterator[RemoteEntry]:
        pending = [path]
        while pending:
            folder = pending.pop()
            name = self.name(folder)
            found = self.objects.listing(name)
            names = {one.name.removeprefix(f"{name}/"): one for one in found if one.name != name}
            if folder == path:
                yield from (
                    RemoteEntry(path, one.size, one.tag) for one in found if one.name == name and not one.is_folder
                )
            left = ({LOOSE} if _BENCHMARK in names else set()) | ({PACKS} if INDEX in names else set())
            for own, one in names.items():
                if own == _KNOWN or not is_plain_name(own):
                    _log.warning("left out, as it is no name for a file here: %r", one.name[:200])
                elif one.is_folder:
                    pending += [folder / own] if own not in left else []
                elif own not in left and not own.endswith(LEASE):
                    yield RemoteEntry(folder / own, one.size, one.tag)

    def _differs(self, entry: RemoteEntry) -> bool:
        try:
            here = entry.path.stat()
        except FileNotFoundError:
            return True
        known = self._known(entry.path)
        if known is not None and known.grows:
            return entry.size > here.st_size
        return known is None or (known.tag, known.size, known.time) != (entry.tag, here.st_size, here.st_mtime_ns)

    def _fetch(self, entries: Sequence[RemoteEntry]) -> None:
        """Small files many at a time, a large one in ranges of its own."""
        for batch in batches(entries, lambda entry: entry.size):
            if batch[0].size > MOST_AT_ONCE:
                self._fetch_large(batch[0])
            else:
                self._fetch_small(batch)

    def _fetch_small(self, batch: Sequence[RemoteEntry]) -> None:
        filled = [entry for entry in batch if entry.size]
        found = self.objects.ranges([Span(self.name(one.path), 0, one.size) for one in filled])
        data = dict(zip((entry.path for entry in filled), found, strict=True))
        for entry in batch:
            if (content := data.get(entry.path, b"")) is not None:
                place(entry.path, content)
                self.note(entry.path, entry.tag)

    def _fetch_large(self, entry: RemoteEntry) -> None:
        """In ranges that are fetched side by side; what a killed process has of this version is not fetched again."""
        part = entry.path.with_name(f".{entry.path.name}.partial-{sha256(entry.tag.encode()).hexdigest()[:16]}")
        part.parent.mkdir(parents=True, exist_ok=True)
        with part.open("ab") as file:
            while (done := file.tell()) < entry.size:
                starts = range(done, min(done + MOST_AT_ONCE, entry.size), _BYTES_A_RANGE)
                name = self.name(entry.path)
                spans = [Span(name, start, min(start + _BYTES_A_RANGE, entry.size)) for start in starts]
                for data in self.objects.ranges(spans):
                    if data is None:
                        raise RemoteError(f"{self.objects.url_of(name)}: gone while it was being read")
                    file.write(data)
                file.flush()
        part.replace(entry.path)
        self.note(entry.path, entry.tag)

    def _drop_gone(self, path: Path, there: Iterable[Path]) -> None:
        """Let go here what was let go there, unless somebody here is writing it.

        What was added to a file that grows after it was last sent is kept, under another name.
        """
        note, there = self._note_path(path), set(there)
        for file in [note] if note.is_file() else [file for file in note.rglob("*") if file.is_file()]:
            gone = self.root / file.relative_to(self.root / _KNOWN)
            known = self._known(gone)
            if gone in there or (known and known.grows and not known.tag) or self.objects.tag(self.name(gone)):
                continue
            if known is None or not known.grows:
                gone.unlink(missing_ok=True)
                file.unlink(missing_ok=True)
                continue
            with LocalStore().claimed(gone) as size:
                if size is not None:
                    gone.rename(beside(gone)) if size > known.size else gone.unlink()
                if size is not None or not gone.exists():
                    file.unlink(missing_ok=True)

    def _known(self, path: Path) -> SyncNote | None:
        try:
            return msgspec.json.decode(self._note_path(path).read_bytes(), type=SyncNote)
        except (OSError, msgspec.DecodeError):
            return None

    def note(self, path: Path, tag: str, new: Path | None = None) -> None:
        """Note that a file, or a new one that takes its place next, is the same here and there."""
        here = (new or path).stat()
        self._note(path, SyncNote(tag, here.st_size, here.st_mtime_ns))

    def note_growing(self, path: Path, tag: str, sent: int) -> None:
        """Note how much of a file that grows here is there."""
        self._note(path, SyncNote(tag, sent, grows=True))

    def _note(self, path: Path, known: SyncNote) -> None:
        place(self._note_path(path), msgspec.json.encode(known))

    def _note_path(self, path: Path) -> Path:
        return self.root / _KNOWN / path.absolute().relative_to(self.root)

    def send(self, new: Path, path: Path, *, create: bool = False) -> None:
        """Put a file there that takes its place here next; a `FileExistsError` where only a new one may be made."""
        self.note(path, self.objects.put(self.name(path), new, create=create), new)

    def send_folder(self, content: Path, path: Path) -> None:
        """Put a folder there: first what it holds, then what says so; last, what an older one held goes."""
        left = content / LOOSE if (content / PACKS).is_dir() else None
        files = [p for p in sorted(content.rglob("*")) if p.is_file() and not (left and p.is_relative_to(left))]
        name = {file: self.name(path / file.relative_to(content)) for file in files}
        last = [file for file in files if file.parent == content and file.suffix == _LAST]
        before = self.objects.below(self.name(path))
        self.objects.put_many([(file, name[file]) for file in files if file not in last])
        for file in last:
            self.objects.put(name[file], file)
        self.objects.remove(*sorted(before - set(name.values())))
        sent = {entry.path: entry for entry in self._listed(path)}
        for file in files:
            entry = sent.get(path / file.relative_to(content))
            if entry and entry.size == file.stat().st_size:
                self.note(entry.path, entry.tag, file)

    def remove(self, path: Path) -> None:
        """Remove a file here, then there, so that one that is only here was never there."""
        path.unlink(missing_ok=True)
        self.objects.remove(self.name(path))
        self._note_path(path).unlink(missing_ok=True)


def beside(path: Path) -> Path:
    """Another name for the end of a part that somebody else has sealed without it; one that parts may have."""
    return path.with_stem(f"{path.stem}z")


def place(path: Path, data: bytes | memoryview) -> None:
    """Put a file in its place in one step; several processes may do so at once."""
    new = path.with_name(f".{token_hex(4)}.partial-")
    try:
        file = os.open(new, _NEW, 0o666)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(new, _NEW, 0o666)
    try:
        write_all(file, data)
        os.close(file)
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
