"""The way to a cluster: a Ray that is there already, or one that is started on this machine and ends with the run."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from eyetest.errors import InputError, heading, nearest, short

LOCAL = "ray"
_AT = "ray://"
_BYTES_FOR_OBJECTS = 256 * 2**20
"""Pieces and counts are all that goes through Ray's memory."""


class Cluster(msgspec.Struct, frozen=True):
    """Where a run is carried out, apart from this process."""

    address: str = ""
    """``ray://HOST:PORT``; empty for the Ray that RAY_ADDRESS names, or one on this machine."""
    workers: int | None = None
    """How many ask at once; as many as there are processors where nothing is said."""

    @classmethod
    def parse(cls, on: str, workers: int | None = None) -> "Cluster | None":
        """What a user said; None for this process."""
        if not on:
            if workers is not None:
                raise InputError(f"{heading('workers')}: only with {heading('on')} ray")
            return None
        if on != LOCAL and not on.startswith(_AT):
            raise InputError(
                f"{heading('on')}: no such place as {short(on)}; {nearest(on, (LOCAL, _AT + 'HOST:PORT'))}"
            )
        return cls("" if on == LOCAL else on, workers)


class Resources(msgspec.Struct, frozen=True):
    """What a cluster has in all."""

    processors: float
    gpus: float
    is_here: bool
    """Whether it was started for this run, on this machine."""


@contextmanager
def connected(cluster: Cluster) -> Iterator[tuple[Any, Resources]]:
    """Ray itself, connected until the block ends. One that somebody is connected to already is used and left."""
    ray = import_ray()
    if ray.is_initialized():
        yield ray, _resources(ray, is_here=False)
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    address = cluster.address or os.environ.get("RAY_ADDRESS") or None
    quiet: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    logging.getLogger("ray").setLevel(logging.ERROR)
    own: dict[str, Any] = {"include_dashboard": False, "object_store_memory": _BYTES_FOR_OBJECTS}
    try:
        ray.init(address=address or "local", **quiet, **({} if address else own))
    except (ConnectionError, OSError, ValueError, RuntimeError) as error:
        words = " ".join(str(error).split())[:300]
        raise InputError(f"{heading('on')}: Ray cannot be reached at {address or 'this machine'}: {words}") from None
    try:
        yield ray, _resources(ray, is_here=address is None)
    finally:
        ray.shutdown()


def import_ray() -> Any:
    """Ray, or which extra brings it."""
    try:
        import ray  # noqa: PLC0415 (an extra)
    except ImportError:
        raise InputError("Ray is not installed: pip install 'eyetest[ray]'") from None
    return ray


def _resources(ray: Any, *, is_here: bool) -> Resources:
    there = ray.cluster_resources()
    return Resources(float(there.get("CPU", 1)), float(there.get("GPU", 0)), is_here)
