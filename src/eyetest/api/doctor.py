"""What this machine, models and folders can do."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import polars as pl

from eyetest.api.views import card, lines_of, words_of
from eyetest.jobs import doctor as job
from eyetest.jobs.opening import AnyPath, Models, model_entries, path_of, several


@dataclass(frozen=True, repr=False)
class Doctored:
    """What was found: a row each, and what mends what does not work."""

    frame: pl.DataFrame
    """``about``, ``name``, ``state`` (ok, note, missing or wrong), ``told`` and ``mend``."""

    @property
    def ok(self) -> bool:
        """Whether all that was named works."""
        return "wrong" not in self.frame["state"]

    def __repr__(self) -> str:
        return "\n".join(lines_of(self.frame))

    def _repr_html_(self) -> str:
        return card("doctor", words_of(self.frame))


def doctor(places: AnyPath | Sequence[AnyPath] = (), *, models: Models | None = None, call: bool = False) -> Doctored:
    """Say what is installed, what is missing and how to get it, which endpoints answer, and where things lie.

    ``places`` are runs, benchmarks or folders to look at. Keys are told by the names of their variables and never
    shown. Only with ``call`` is each model asked two short questions and for likelihoods, which may cost a little.

    >>> et.doctor("run", models={"seer": "scripted:right=0.9"}).ok
    True
    """
    named: list[AnyPath] = several(places)
    folders = [path_of(place, "places") for place in named]
    lines = job.doctor(model_entries(models) if models is not None else {}, folders, call=call)
    schema = dict.fromkeys(job.DoctorLine.__struct_fields__, pl.String)
    return Doctored(pl.DataFrame([msgspec.structs.asdict(line) for line in lines], schema=schema))
