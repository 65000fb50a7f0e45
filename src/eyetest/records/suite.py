"""A suite: many benchmarks put to the same models in the same ways, as one short file says it."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

SUITE_TAGS = ("dimension", "task", "dataset")
"""What a suite's tables are by, the widest first."""
Count = Annotated[int, msgspec.Meta(ge=1)]
_Name = Annotated[str, msgspec.Meta(pattern=r"^([^\s/\\.][^/\\]*)?$", max_length=100)]
"""A name that can be that of a folder."""


class TagNames(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which tag of a benchmark's items says what a suite wants to know of them."""

    dimension: str = "dimension"
    task: str = "task"
    dataset: str = "dataset"


class SuiteOnly(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The dimensions, tasks and datasets that somebody cares about; all where none is named."""

    dimension: str | tuple[str, ...] = ()
    task: str | tuple[str, ...] = ()
    dataset: str | tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """The same as ``TAG=A,B``."""
        said = {tag: getattr(self, tag) for tag in SUITE_TAGS}
        return [f"{tag}={some if isinstance(some, str) else ','.join(some)}" for tag, some in said.items() if some]


class SuiteBenchmark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One benchmark of a suite: to be asked, or answered already."""

    bench: str = ""
    """A benchmark folder, or any file that can be imported."""
    runs: tuple[str, ...] = ()
    """Runs that hold the answers. Nothing is asked then, and ``bench`` is only needed where golds have changed."""
    name: _Name = ""
    """How it is called (default: as it calls itself)."""
    dimension: str = ""
    task: str = ""
    dataset: str = ""
    """What all of its items are about, whatever their own tags say."""
    tags: TagNames = TagNames()
    metric: str | None = None
    options: tuple[Annotated[int, msgspec.Meta(ge=2)], ...] = ()
    """With how many options it is asked as well."""
    limit: Count | None = None

    def __post_init__(self) -> None:
        if not self.bench and not self.runs:
            raise ValueError("say which benchmark is asked (bench), or where its answers are (runs)")
        if self.runs and (self.options or self.limit):
            raise ValueError("options and limit are about what is asked; runs hold answers already")


class Suite(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Benchmarks, who is asked about them, how, and which part of the answers is told."""

    benchmarks: Annotated[tuple[SuiteBenchmark, ...], msgspec.Meta(min_length=1)]
    models: str | tuple[str, ...] | dict[str, Any] = ()
    """A models.yaml, specs, or names with their specs."""
    title: str = ""
    conditions: dict[str, Any] = {}
    """By axis, what is asked: ``{sight: image, shots: [none, format]}``."""
    perturb: str | tuple[str, ...] = ()
    tests: Count | None = None
    one_at_a_time: bool = False
    trials: Count = 1
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    limit: Count | None = None
    """Only the first items of each benchmark."""
    only: SuiteOnly = SuiteOnly()
    """A user-oriented part: these dimensions, tasks, datasets."""
    unseen: bool = False
    """A model-oriented part: no dataset that any of the models was trained on."""


def spelled_out(value: Any) -> Any:
    """A suite as it is written, with every benchmark that is only a path as an entry of its own."""
    if not isinstance(value, Mapping) or not isinstance(value.get("benchmarks"), list | tuple):
        return value
    entries = [{"bench": one} if isinstance(one, str) else one for one in value["benchmarks"]]
    return {**value, "benchmarks": entries}
