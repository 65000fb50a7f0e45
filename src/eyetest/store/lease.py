"""A lease: how somebody holds a file of a store that knows no locks, until they let go or are not heard of any more.

A lease is an object beside the file, ``NAME.lease``, that only one can create. Its holder writes it anew every few
seconds, from a thread. One that was not renewed for long, by the clock of the store itself, may be taken over; so may
at once one of a process of this machine that is dead. Whoever finds that another has taken it stops writing.
"""

import logging
import os
import socket
import threading
from functools import cache
from pathlib import Path
from secrets import token_hex
from time import monotonic, sleep

import msgspec

from eyetest.store.local import BusyError
from eyetest.store.mirror import LEASE, Mirror
from eyetest.store.objects import RemoteError

RENEW_SECONDS = 5.0
EXPIRES_SECONDS = 30.0
"""So long a lease holds that is not renewed, by the clock of the store."""
_SETTLE_SECONDS = 1.0
"""Where objects cannot be put only if nobody else has: so long who takes a lease over waits to see who has it."""
_log = logging.getLogger(__name__)


class Holder(msgspec.Struct):
    """Who holds a lease."""

    host: str
    machine: str
    """Tells machines, and containers on them, apart."""
    pid: int
    started: str
    """When the process was started: numbers are used again."""
    token: str
    beat: int = 0

    @property
    def is_dead(self) -> bool:
        """Whether it was a process of this machine that is no more."""
        return self.machine == _machine() and _started(self.pid) != self.started

    def __str__(self) -> str:
        return f"{self.pid} on {self.host}"


class Lease:
    """A file held, or to be held, by this process."""

    def __init__(self, mirror: Mirror, path: Path) -> None:
        self.path = path.with_name(path.name + LEASE)
        self._objects, self._name = mirror.objects, mirror.name(self.path)
        self._tag, self._renewed = "", 0.0
        self._me = Holder(socket.gethostname(), _machine(), os.getpid(), _started(os.getpid()), token_hex(8))
        self._lock, self._is_over = threading.Lock(), False
        self.lost = False
        """Whether somebody else has taken it over."""

    def take(self) -> None:
        """Hold it from now on, or raise a `BusyError` that says who does."""
        self._renewed = monotonic()
        try:
            self._tag = self._put()
        except FileExistsError:
            self._take_over()
        _keeper().keep(self)

    def release(self) -> None:
        """Let go."""
        _keeper().forget(self)
        is_ours = self.holds()
        with self._lock:
            self._is_over = True
            if is_ours:
                self._objects.remove(self._name)

    def holds(self) -> bool:
        """Whether it is still ours; asked of the store if we have not been able to renew it for a while."""
        if not self.lost and monotonic() - self._renewed > EXPIRES_SECONDS / 2:
            self.renew()
        return not self.lost

    def renew(self) -> None:
        """Say that we are alive."""
        with self._lock:
            if self._is_over:
                return
            now, self._me.beat = monotonic(), self._me.beat + 1
            try:
                if not self._objects.is_s3:
                    raise FileNotFoundError
                self._tag = self._put(self._tag)
            except OSError:  # somebody's by now, or gone, or only a reply that was lost
                holder, self._tag = self._read_holder()
                self.lost = holder is not None and holder.token != self._me.token
                if self.lost:
                    return
                self._tag = self._put(self._tag)
            self._renewed = now

    def holder(self) -> Holder | None:
        """Who holds it now, if they are alive; who may only read cannot see the store's clock, and believes it."""
        holder, _ = self._read_holder()
        try:
            return None if holder is None or holder.is_dead or self._age() > EXPIRES_SECONDS else holder
        except RemoteError:
            return holder

    def _take_over(self) -> None:
        holder, tag = self._read_holder()
        if holder is not None and holder.token == self._me.token:  # a reply was lost
            self._tag = tag
            return
        if holder is not None and not holder.is_dead and (age := self._age()) <= EXPIRES_SECONDS:
            raise BusyError(
                f"is being written by process {holder}, heard of {max(age, 0):.0f} s ago; wait for it, or stop it"
            )
        if holder is not None:
            _log.info("taking over %s from process %s", self._objects.url_of(self._name), holder)
        try:
            self._tag = self._put(tag)
        except OSError as error:
            raise BusyError(f"was just taken by another process, or cannot be: {error}") from None
        if not self._objects.is_s3:
            sleep(_SETTLE_SECONDS)
            if (holder := self._read_holder()[0]) is None or holder.token != self._me.token:
                raise BusyError("was just taken by another process; wait for it, or stop it")

    def _put(self, instead_of: str = "") -> str:
        """Put it in the place of what we know to be there, be it nothing."""
        data = msgspec.json.encode(self._me)
        return self._objects.put(self._name, data, create=not instead_of, instead_of=instead_of)

    def _read_holder(self) -> tuple[Holder | None, str]:
        """Who holds it, and in which version of the object that stands."""
        tag = self._objects.tag(self._name)
        data = self._objects.read(self._name) if tag else None
        try:
            return (msgspec.json.decode(data, type=Holder) if data else None), tag
        except msgspec.DecodeError:
            return None, tag

    def _age(self) -> float:
        """Seconds since it was renewed, by the store's own clock: that of an object that is made now to see it."""
        probe = f"{self._name.removesuffix(LEASE)}.{self._me.token}{LEASE}"
        self._objects.put(probe, b"")
        try:
            return self._objects.seconds(probe) - self._objects.seconds(self._name)
        except FileNotFoundError:
            return EXPIRES_SECONDS + 1
        finally:
            self._objects.remove(probe)


class _Keeper:
    """Renews all leases of this process until it ends."""

    def __init__(self) -> None:
        self._leases: set[Lease] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._renew, name="leases", daemon=True).start()

    def keep(self, lease: Lease) -> None:
        with self._lock:
            self._leases.add(lease)

    def forget(self, lease: Lease) -> None:
        with self._lock:
            self._leases.discard(lease)

    def _renew(self) -> None:
        while True:
            sleep(RENEW_SECONDS)
            with self._lock:
                self._leases = {lease for lease in self._leases if not lease.lost}
                leases = list(self._leases)
            for lease in leases:
                try:
                    lease.renew()
                except Exception as error:
                    _log.warning("a lease cannot be renewed: %s", error)


_keepers: dict[int, _Keeper] = {}


def _keeper() -> _Keeper:
    """The one of this process, which a process that was forked off does not have."""
    return _keepers.setdefault(os.getpid(), _Keeper()) if os.getpid() not in _keepers else _keepers[os.getpid()]


@cache
def _machine() -> str:
    """What tells this boot of this machine, and this view of its processes, from others."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 (not a path)
    except OSError:
        return token_hex(16)


def _started(pid: int) -> str:
    """When a process was started, in ticks; empty where there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]
