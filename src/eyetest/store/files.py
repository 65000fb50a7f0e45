"""Files of this machine: read only inside the folder that the user named, locked, appended to, replaced atomically.

Parquet files contain their own hash in the footer's last field, which other readers skip; records in JSON and
editable texts have one, too.
New content is in a hidden sibling, ``.NAME.partial-…``; a killed writer loses its lock, and the next removes it.
"""

import ctypes
import errno
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import Any, BinaryIO

import msgspec

from eyetest.errors import EyetestError, InputError, system_error, system_words

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:
    fcntl = None
    import msvcrt

_HUB_REPOSITORY = re.compile("(?:datasets|models|spaces)--.+")
_LONGEST_NAME = 255
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}


def inside(path: Path, root: Path) -> Path:
    """The resolved path of a name inside ``root``; one that leads out is refused."""
    try:
        real, home = path.resolve(), root.resolve()
    except (OSError, RuntimeError, ValueError):
        raise InputError(f"{path} leads nowhere") from None
    if os.path.islink(real):  # noqa: PTH114 (a link to itself, of which Python says nothing from 3.13 on; never raises)
        raise InputError(f"{path} leads nowhere")
    if not real.is_relative_to(home) and not real.is_relative_to(_hub_blobs(home) or home):
        raise InputError(f"{path} is a link that leaves {root}")
    return real


def open_regular(path: Path | str) -> int:
    """A descriptor of a regular file, never of a link; opening never waits for a writer."""
    is_link = not hasattr(os, "O_NOFOLLOW") and Path(path).is_symlink()
    try:
        file = -1 if is_link else os.open(path, _READ_ONLY)
    except OSError as error:
        is_link = error.errno in (errno.ELOOP, errno.EMLINK)
        if error.errno in (errno.ENXIO, errno.EOPNOTSUPP):
            raise InputError(f"{path} is a socket, not a file") from None
        if not is_link:
            raise
    if is_link:
        raise InputError(f"{path} is a symbolic link, not a file")
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode):
        os.close(file)
        raise InputError(f"{path} is {_kind(mode)}, not a file")
    return file


def read_regular(path: Path, root: Path, most: int = -1) -> bytes:
    """The content of a regular file inside a folder, or its first ``most`` bytes."""
    with open(open_regular(inside(path, root)), "rb") as file:
        return file.read(most)


def refuse_special(path: Path) -> None:
    """Raise before a pipe, socket or device that the user named is read: it may never end."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(f"{path} is {_kind(mode)}; write what comes out of it to a file, and name that")


def is_plain_name(name: str) -> bool:
    """Whether an external name stays in its folder and is valid on this disk."""
    return (
        name not in ("", ".", "..")
        and name.isprintable()
        and not set(name) & set("/\\")
        and len(name.encode("utf-8", "replace")) <= _LONGEST_NAME
    )


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def _hub_blobs(root: Path) -> Path | None:
    """The blobs of a hub snapshot, if a folder is in one: ``datasets--NAME/snapshots/REVISION/…``."""
    for folder in root.parents:
        if folder.name == "snapshots" and _HUB_REPOSITORY.fullmatch(folder.parent.name):
            return folder.parent / "blobs"
    return None


_MAGIC = b"PAR1"
_NAME = b"eyetest.sha-256:"
_SIZE = hashlib.sha256().digest_size
_FIELD = b"\x08\xfe\xff\x03" + bytes([len(_NAME) + _SIZE]) + _NAME  # Thrift compact: binary field 32767, length, name
_END = 1 + 4 + len(_MAGIC)  # A footer's last byte, its length and the magic number
_MOST_WRONG = 2  # bytes of that field that may be damaged before the file is taken for one without a checksum
_AT_ONCE = 2**20
_CHECKSUM = "checksum"  # the last field of a record in JSON
_SIGNED, _SIGNED_END = "<!-- written by eyetest; the same until it is edited: ", " -->\n"


def add_checksum(path: Path) -> None:
    """Write a finished Parquet file's checksum into its footer."""
    with path.open("r+b") as file:
        start = file.seek(-_END, os.SEEK_END)
        length = int.from_bytes(file.read(_END)[1:5], "little") + len(_FIELD) + _SIZE
        end = b"\0" + length.to_bytes(4, "little") + _MAGIC
        digest = _digest(file, start, _FIELD + end)
        file.seek(start)
        file.write(_FIELD + digest + end)


def has_checksum(path: Path) -> bool:
    """Whether a file has a checksum, which is verified. A wrong one raises an error of one line."""
    with open(open_regular(path), "rb") as file:
        start = os.fstat(file.fileno()).st_size - _END - _SIZE - len(_FIELD)
        file.seek(max(start, 0))
        rest = file.read()
        wrong = sum(ours != theirs for ours, theirs in zip(_FIELD, rest, strict=False))
        if start < 0 or wrong > _MOST_WRONG or not rest.endswith(_MAGIC):
            return False
        stored, end = rest[len(_FIELD) : -_END], rest[-_END:]
        if wrong or _digest(file, start, _FIELD + end) != stored:
            raise InputError(f"{path} is damaged: its checksum does not fit what it holds")
        return True


def _digest(file: BinaryIO, length: int, rest: bytes) -> bytes:
    digest = hashlib.sha256()
    file.seek(0)
    while length > 0 and (piece := file.read(min(_AT_ONCE, length))):
        digest.update(piece)
        length -= len(piece)
    digest.update(rest)
    return digest.digest()


def signed(text: str) -> str:
    """A Markdown text with an invisible last line that holds its checksum."""
    body = text.rstrip("\n") + "\n"
    return f"{body}\n{_SIGNED}{_text_digest(body)}{_SIGNED_END}"


def is_as_written(path: Path) -> bool:
    """Whether a file is a signed text that was not edited since; an edited one must not be replaced."""
    try:
        body, begin, rest = read_regular(path, path.parent).decode("utf-8").rpartition(f"\n{_SIGNED}")
    except (OSError, InputError, UnicodeDecodeError):
        return False
    return bool(begin) and rest == f"{_text_digest(body)}{_SIGNED_END}"


def sealed(value: Any) -> bytes:
    """A record as JSON whose last field is the checksum of the others, in whatever layout they are."""
    text = msgspec.json.encode(value)
    fields = msgspec.json.decode(text)
    return msgspec.json.encode({**fields, _CHECKSUM: _fields_digest(fields)})


def sealed_json(value: Any) -> bytes:
    """The same, readable."""
    return msgspec.json.format(sealed(value), indent=2) + b"\n"


def unsealed_json(data: bytes) -> bytes:
    """The JSON of a record without its checksum; refused where the checksum does not fit. It may have none."""
    fields = msgspec.json.decode(data)
    if not isinstance(fields, dict) or _CHECKSUM not in fields:
        return data
    stored_digest = fields.pop(_CHECKSUM)
    if stored_digest != _fields_digest(fields):
        hint = f'if you changed it yourself, delete its field "{_CHECKSUM}"'
        raise msgspec.DecodeError(f"its checksum does not fit what it holds ({hint})")
    return msgspec.json.encode(fields)


def _fields_digest(fields: dict[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()[:24]


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]


_BINARY: int = getattr(os, "O_BINARY", 0)
_READ_ONLY = _BINARY | sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))
_LOCKED_BYTE = 2**40  # Windows refuses reads of locked bytes: the lock is far behind the content
_AT_FDCWD = -100
_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_NOT_POSSIBLE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def _lock(file: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock an open file until it is closed or the process ends; False where another process holds a lock on it."""
    try:
        if fcntl is not None:
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(file, kind | (0 if wait else fcntl.LOCK_NB))
        else:
            _lock_byte(file, wait=wait)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _lock_byte(file: int, *, wait: bool) -> None:
    """Lock a byte of a file, as Windows does; its own waiting ends after ten attempts."""
    while True:
        before = os.lseek(file, 0, os.SEEK_CUR)
        try:
            os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError as error:  # EDEADLK: not to be had in ten attempts
            if not (wait and error.errno == errno.EDEADLK):
                raise
        else:
            return
        finally:
            os.lseek(file, before, os.SEEK_SET)


def _sync(file: int) -> None:
    """Flush the content of a file to disk; on macOS, fsync alone leaves it in the drive's memory."""
    if sys.platform == "darwin" and fcntl is not None:
        try:
            fcntl.fcntl(file, fcntl.F_FULLFSYNC)
        except OSError:  # network drives lack it
            os.fsync(file)
    else:
        getattr(os, "fdatasync", os.fsync)(file)


def _flush(path: Path) -> None:
    """Flush a file or, where the system can, a directory entry to disk."""
    if os.name == "nt" and path.is_dir():
        return
    file = os.open(path, (os.O_RDWR if os.name == "nt" else os.O_RDONLY) | _BINARY)
    try:
        _sync(file)
    finally:
        os.close(file)


def _exchange(new: Path, old: Path) -> None:
    """Swap two folders: in one step where the system can, so that ``old`` exists at any moment."""
    names = os.fsencode(new), os.fsencode(old)
    failed = -1
    if sys.platform == "linux" and (rename := getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)):
        failed = rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _SWAP)
    elif sys.platform == "darwin" and (rename := getattr(ctypes.CDLL(None, use_errno=True), "renamex_np", None)):
        failed = rename(*names, _SWAP)
    if failed == 0:
        return
    if (number := ctypes.get_errno()) not in (0, *_NOT_POSSIBLE):
        raise OSError(number, os.strerror(number), str(new))
    aside = new.parent / "old"
    old.rename(aside)
    new.rename(old)


_ATTEMPTS = 40
_SECONDS_BETWEEN_ATTEMPTS = 0.01
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | _BINARY
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY
_LOCK = "lock"


class BusyError(EyetestError):
    """Another process holds a lock."""


class GrowingFile:
    """A file that is appended to, locked as long as its writer runs."""

    def __init__(self, path: Path) -> None:
        self.size, self.torn = 0, False
        while True:
            self._file = os.open(path, _APPEND, 0o666)
            _lock(self._file, wait=True)
            if path.exists():  # it was not taken for a dead writer's between its making and its locking
                return
            os.close(self._file)

    def add(self, data: bytes) -> None:
        """Append a piece, completely or not at all."""
        try:
            write_all(self._file, data)
        except OSError:
            try:
                os.ftruncate(self._file, self.size)
            except OSError:
                self.torn = True
            raise
        self.size += len(data)

    def sync(self) -> None:
        """Flush to disk; a file that is closed meanwhile is synced by the closing thread."""
        try:
            _sync(self._file)
        except OSError as error:
            if error.errno not in (errno.EBADF, *_NOT_POSSIBLE):
                raise

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, -1
        with suppress(OSError):
            os.close(file)


class LocalStore:
    """The disk of this machine; refusals of the system are raised as `OSError`."""

    @contextmanager
    def lock(self, path: Path) -> Iterator[None]:
        """Hold a lock until the block or the process ends; a `BusyError` if another process has it."""
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            for _ in range(_ATTEMPTS):  # a reader that tests the lock holds it for a moment
                if _lock(file):
                    break
                sleep(_SECONDS_BETWEEN_ATTEMPTS)
            else:
                pid = _first_line(file) or "unknown"
                raise BusyError(f"is being written by process {pid}; wait for it, or stop it")
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, f"{os.getpid()}\n".encode())
            try:
                yield
            finally:
                os.ftruncate(file, 0)
        finally:
            os.close(file)

    def holder(self, path: Path) -> int | None:
        """The id of the process that holds a lock."""
        try:
            file = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            return None if _lock(file, shared=True) else int(_first_line(file) or 0)
        finally:
            os.close(file)

    @contextmanager
    def claimed(self, path: Path) -> Iterator[int | None]:
        """The size of a file that no process appends to, and that no other claims until the block ends."""
        try:
            file = open_regular(path)
        except (FileNotFoundError, InputError):
            yield None
            return
        try:
            yield os.fstat(file).st_size if _lock(file) and path.exists() else None
        finally:
            os.close(file)

    @contextmanager
    def replacing_folder(self, target: Path, *, overwrite: bool = True) -> Iterator[Path]:
        """Yield an empty folder; it becomes ``target`` when the block ends, and is removed if it fails."""
        with _sibling(target) as sibling:
            content = sibling / "content"
            content.mkdir()
            yield content
            for path in (*(p for p in content.iterdir() if p.is_file()), content):
                _flush(path)
            try:
                content.rename(target)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                if not overwrite:
                    raise taken(target) from None
                _exchange(content, target)
            _flush(target.parent)

    @contextmanager
    def replacing_file(self, target: Path, *, overwrite: bool = True) -> Iterator[Path]:
        """Yield a path to write; the file becomes ``target`` when the block ends, and is removed if it fails."""
        with _sibling(target) as sibling:
            content = sibling / target.name
            yield content
            _flush(content)
            if overwrite or not _has_linked(content, target):
                content.replace(target)
            _flush(target.parent)

    def write(self, path: Path, data: bytes | memoryview) -> None:
        """Write a file, and create its folder."""
        try:
            file = os.open(path, _WRITE, 0o666)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, _WRITE, 0o666)
        try:
            write_all(file, data)
        finally:
            os.close(file)

    def remove(self, path: Path) -> None:
        """Remove a file, if it exists."""
        path.unlink(missing_ok=True)

    def missing(self, path: Path) -> bytes | None:
        """The content of an image that is not on this disk: none, where the disk is the store."""
        return None

    def sweep(self, target: Path) -> None:
        """Remove what killed writers of the same target left: siblings that are not locked."""
        for sibling in target.parent.iterdir():
            if sibling.name.startswith(_prefix(target)):
                with suppress(OSError):
                    file = os.open(sibling / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
                    is_left = _lock(file)
                    os.close(file)  # Windows removes no open file
                    if is_left:
                        shutil.rmtree(sibling, ignore_errors=True)


def write_all(file: int, data: bytes | memoryview) -> None:
    """Write all bytes, with as many system calls as it takes."""
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, data[written:])


def taken(target: Path) -> InputError:
    """The error where another process has written a new file or folder first."""
    return InputError(f"{target} was written by another process meanwhile; choose another place")


def _has_linked(content: Path, target: Path) -> bool:
    """Whether a new file got its name, which no other process can take meanwhile; False on a disk without links."""
    try:
        os.link(content, target)
    except FileExistsError:
        raise taken(target) from None
    except OSError:
        if target.exists():
            raise taken(target) from None
        return False
    return True


@contextmanager
def _sibling(target: Path) -> Iterator[Path]:
    made = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        LocalStore().sweep(target)
        sibling, file = _make_locked(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {system_words(error)}") from None
    try:
        yield sibling
    except Exception as error:
        system = system_error(error)
        paths = (system.filename, system.filename2) if system is not None else ()
        names = [Path(os.fsdecode(name)) for name in paths if isinstance(name, str | bytes)]
        elsewhere = bool(names) and not any(name.is_relative_to(sibling) for name in names)
        if system is None or elsewhere:  # an error that names no file is about the one being written
            raise
        raise InputError(f"cannot write {target}: {system_words(system)}") from None
    finally:
        os.close(file)  # Windows removes no open file
        shutil.rmtree(sibling, ignore_errors=True)
        for folder in made:
            with suppress(OSError):
                folder.rmdir()


def _make_locked(target: Path) -> tuple[Path, int]:
    while True:
        sibling = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
        with suppress(FileNotFoundError):
            file = os.open(sibling / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
            _lock(file, wait=True)
            if (sibling / _LOCK).exists():  # it was not swept between its making and its locking
                return sibling, file
            os.close(file)


def _prefix(target: Path) -> str:
    return f".{target.name}.partial-"


def _first_line(file: int) -> str:
    """The process id in a lock file."""
    os.lseek(file, 0, os.SEEK_SET)
    return os.read(file, 32).decode().strip()
