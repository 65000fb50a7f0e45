"""What people write by hand: models and recipes. A key that is not known is refused, with the nearest one."""

from typing import Annotated, Any, Literal

import msgspec

from eyetest.records.condition import Ask, Marks, Method, Shots, Sight

Operator = Literal["<", "<=", "==", ">=", ">"]


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Money for a million tokens, in whatever currency the service charges."""

    input: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    output: Annotated[float, msgspec.Meta(ge=0)] = 0.0

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """What so many tokens cost."""
        return (tokens_in * self.input + tokens_out * self.output) / 1e6


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of ``models.yaml``: how to reach a model, and what is known of it."""

    spec: str
    base: str | None = None
    trained_on: tuple[str, ...] = ()
    size_b: float | None = None
    series: str | None = None
    encoder: str | None = None
    sampling: dict[str, Any] = {}
    """What is sent beside the prompt: temperature, max_tokens, and whatever else the endpoint understands."""
    key_env: str | None = None
    """The environment variable that holds the key. The key itself is never written anywhere."""
    detail: Literal["low", "high", "auto"] | None = None
    """In what resolution the endpoint is to look at pictures."""
    prefill: bool = False
    """Whether the model goes on from a turn that was begun for it."""
    logprobs: Annotated[int, msgspec.Meta(ge=0, le=20)] | None = None
    """How many likeliest tokens to ask for at each place of the answer."""
    price: Price | None = None
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The most calls in flight at once."""


class Panel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Models that are asked together; ``models`` may give one of them a condition of its own."""

    size: int
    sight: Sight = "image"
    ask: Ask = "direct"
    shots: Shots = "none"
    marks: Marks = "upper"
    method: Method = "generate"
    trials: int = 1
    models: dict[str, dict[str, Any]] = {}


class Cut(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A threshold together with its operator, because papers and their code disagree about it."""

    op: Operator
    value: float

    def holds(self, number: float) -> bool:
        """Whether a number is on the keeping side of the cut."""
        sides = {
            "<": number < self.value,
            "<=": number <= self.value,
            "==": number == self.value,
            ">=": number >= self.value,
            ">": number > self.value,
        }
        return sides[self.op]


class Stage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step of a recipe: exactly one of ``screen``, ``grade``, ``review`` and ``select``."""

    screen: str | None = None
    grade: str | None = None
    review: dict[str, Any] | None = None
    select: dict[str, Any] | None = None
    panel: str | None = None
    keep: dict[str, Cut] = {}
    bands: dict[str, tuple[int, int]] = {}

    def __post_init__(self) -> None:
        kinds = [k for k in ("screen", "grade", "review", "select") if getattr(self, k) is not None]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none of them"
            raise ValueError(f"a stage is one of screen, grade, review, select; found {found}")


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A paper's whole method as one short file."""

    panels: dict[str, Panel] = {}
    stages: tuple[Stage, ...] = ()
    rescale: dict[str, Any] = {}
    seed: int = 0
