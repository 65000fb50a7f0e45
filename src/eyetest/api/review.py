"""What people decided, from Python."""

from eyetest.api.run import NOTEBOOK
from eyetest.benchmarks import Benchmark
from eyetest.jobs import revise as revising
from eyetest.jobs.opening import AnyPath


def revise(place: AnyPath, to: AnyPath, *, complete: bool = False, overwrite: bool = False) -> Benchmark:
    """The next version of a benchmark: what people decided in a review, carried out.

    ``changes.csv`` beside its items says what was changed, by whom and why. With ``complete`` nothing is written
    while an item is open. Measured with ``bench=`` this one, runs on the version before count by what people decided.

    >>> et.revise("bench-review", to="bench-2")  # doctest: +SKIP
    <Benchmark 'world-7': 58 items in bench-2>
    """
    return revising.revise(place, to, complete=complete, overwrite=overwrite, observer=NOTEBOOK).benchmark
