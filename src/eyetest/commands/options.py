"""Types of parameters: for Python what a function takes, for the command line what a word is converted to."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark
    from eyetest.measures import Results
    from eyetest.runs import Run

    AnyPath = str | Path
    """A path, or the URL of a remote folder."""
    Bench = Benchmark | str | Path
    """A benchmark, its folder, or any file that can be read as one."""
    Benches = Bench | Sequence[Bench]
    """One benchmark, or several, which are pooled."""
    AnyRun = Run | str | Path
    """A run, or its folder."""
    Models = str | Path | Sequence[str] | Mapping[str, Any]
    """Models by specs, by names with their specs, or the path of a ``models.yaml``."""
    Words = str | Sequence[str]
    """One word or several; each may hold several between commas."""
    Paths = Sequence[str | Path]
    Runs = AnyRun | Sequence[AnyRun]
    """One run or several."""
    Measurable = AnyRun | Results | Sequence[AnyRun]
    """What can be measured: a run, several of them, or what `results` gave."""
    Where = str | Iterable[str] | Mapping[str, Any]
    """Conditions on scores: ``"modality=image"``, several of these, or ``{"modality": "image"}``."""
    Scores = str | Path | Mapping[str, float]
    """A score of each model from elsewhere, or a CSV file of them."""
    Pairs = Words | Mapping[str, Any]
    """``"key=value"``, several of these, or a mapping."""
    Overwrite = bool
else:
    AnyPath = Bench = AnyRun = Models = Measurable = Scores = Path
    Words = Where = Pairs = list[str]
    Paths = Runs = Benches = list[Path]
    Overwrite = Annotated[bool, Parameter(parse=False)]  # the command line has one switch for all commands


def panel(title: str, position: int) -> Parameter:
    """A heading in the help of a command, for the options that are annotated with it."""
    return Parameter(group=Group(title, sort_key=position))


SHORT_N, SHORT_M = Parameter(alias="-n"), Parameter(alias="-m")
READING = panel("How the file is read", 1)
WHICH = panel("Which answers count", 1)
HOW = panel("Intervals", 2)
SERVED = panel("How it is served", 1)
External = Annotated[Scores | None, Parameter(name="--with")]
ShortModel = Annotated[Words, SHORT_M, WHICH]
