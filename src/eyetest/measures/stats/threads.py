"""One way to keep small linear algebra on one core."""

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]


def one_thread() -> AbstractContextManager[object]:
    """Its threads spin when the machine is busy, up to forty times slower, and their number changes last digits."""
    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits
