"""What a screen is given, and what it is."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.records import Item, Prompt, Response, Stage, StoppingRule, Verdict, VerdictKind
from eyetest.records.recipe import KINDS
from eyetest.screens.evidence import Evidence

Ask = Callable[[str, Sequence[tuple[Item, Prompt]]], Sequence[Response | None]]
"""Put a prompt about each of some items to a model, by its name; None for what could not be asked."""


class Seat(NamedTuple):
    """A model on a panel, and the language model it was built on, if that is known."""

    model: str
    base: str | None = None


@dataclass(frozen=True)
class Case:
    """A stage, the items that reached it, and what the panel said about them."""

    stage: Stage
    items: Sequence[Item]
    evidence: Evidence
    seats: Sequence[Seat] = ()
    size: int = 0
    """How many seats the recipe's thresholds are meant for."""
    judges: Sequence[str] = ()
    ask: Ask | None = None
    """None where nobody can be asked, because all answers were recorded before."""
    seed: int = 0
    benchmark: Benchmark | None = None
    """Where the items come from, for screens that look at pictures."""

    def verdict(self, item: str, verdict: VerdictKind, reason: str, **more: Any) -> Verdict:
        """A verdict of this stage."""
        evidence = more.pop("evidence", None)
        told = msgspec.json.encode(evidence, order="sorted").decode() if evidence else ""
        return Verdict(
            item=item,
            stage=self.stage.title,
            verdict=verdict,
            reason=reason,
            evidence=told,
            seed=self.seed,
            **more,
        )


class Screen(Protocol):
    """One way to tell good items from bad."""

    name: str
    summary: str
    uses: ClassVar[frozenset[str]]
    """The fields of a stage that it understands, beside its name and its panel."""

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """When asking may stop: the rule holds for items that stay. None where every answer is needed."""
        ...

    def judge(self, case: Case) -> Iterator[Verdict]:
        """One verdict for each item."""
        ...


def refuse_unused(stage: Stage, name: str, uses: Collection[str]) -> None:
    """A threshold that nobody looks at is a mistake, and said to be one. ``name``: what the stage carries out."""
    plain = Stage(screen=name)
    for field in stage.__struct_fields__:
        if field not in {*KINDS, "name", *uses} and getattr(stage, field) != getattr(plain, field):
            known = ", ".join(sorted(uses)) or "no settings"
            raise InputError(f"the stage {stage.title}: {name} has no use for {field} (it knows {known})")
