"""What people write by hand about models, and thresholds with their operators."""

import operator
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec

from eyetest.redaction import HIDDEN, plain_address, plain_settings, plain_variable, redact

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
    """How many likeliest tokens to ask for at each position of the answer."""
    price: Price | None = None
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The most calls in flight at once."""
    gpus: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """On a cluster: how many GPUs one copy of a checkpoint takes; one where there are any, if nothing is said."""
    copies: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """On a cluster: how many copies of a checkpoint are held; as many as its GPUs take, if nothing is said."""

    def written_down(self) -> "ModelEntry":
        """As it may stand in a file that is passed on: nothing in it that could be a key.

        Whoever goes on with a run gives the spec again, so no file needs to keep more.
        """
        return msgspec.structs.replace(
            self,
            spec=_plain_spec(self.spec),
            sampling=plain_settings(self.sampling),
            key_env=plain_variable(self.key_env) or HIDDEN if self.key_env else None,
        )


def _plain_spec(spec: str) -> str:
    kind, _, target = spec.partition(":")
    match = re.search("@(https?://.*)", target, re.IGNORECASE | re.DOTALL)
    if match is None:
        return redact(spec)
    return f"{kind}:{redact(target[: match.start()])}@{plain_address(match[1])}"


_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}


class Cut(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A threshold together with its operator, because papers and their code disagree about it."""

    op: Operator
    value: float

    def holds(self, number: float) -> bool:
        """Whether a number is on the keeping side of the cut."""
        return _HOLDS[self.op](number, self.value)
