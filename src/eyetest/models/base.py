"""What a model is to the rest: something that makes one attempt at a call, and says what went wrong if it fails.

CallError
├── kind       a word that can be counted: timeout, rate-limit, server, garbage, empty, auth …
├── passing    whether the same call may succeed if it is made again
├── wait       how long the server asked us to wait, in seconds
├── blame      whether this question failed, or the whole endpoint, or nobody knows yet
└── hopeless   whether nothing can succeed until a person does something, if nothing has so far (a wrong key)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from eyetest.errors import EyetestError
from eyetest.records import Asked, Item, ModelEntry, Request, Response


class Call(msgspec.Struct, frozen=True):
    """A request together with what it is about."""

    asked: Asked
    item: Item
    request: Request
    id: str


Blame = Literal["question", "endpoint", "either"]


class CallError(EyetestError):
    """One attempt failed."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        passing: bool = False,
        wait: float | None = None,
        blame: Blame = "question",
        hopeless: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind, self.passing, self.wait, self.blame, self.hopeless = kind, passing, wait, blame, hopeless


class Model(Protocol):
    """Who answers."""

    name: str
    entry: ModelEntry
    likelihoods: bool
    """Whether it can weigh given answers by their likelihood."""
    knows_items: bool
    """Whether it answers by the item rather than by what it is shown, so that equal prompts are not the same call."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything but the prompt that decides the answer; part of each request's identity."""

    async def open(self) -> None:
        """Get ready, inside the event loop."""

    async def answer(self, call: Call) -> Response:
        """Make one attempt; raise a CallError if it fails."""

    async def close(self) -> None:
        """Give everything back."""


@runtime_checkable
class BatchModel(Model, Protocol):
    """One who has another way in: many calls at once, as networks in this process do."""

    batch: int
    """The most calls in one batch."""

    async def answer_many(self, calls: Sequence[Call]) -> Sequence[Response | CallError]:
        """Make one attempt at each call, and say in the same order what came of it; raise what befell all of them."""


class Surroundings(msgspec.Struct, frozen=True):
    """What a model may need from outside: pictures, and how patient to be."""

    pictures: Any = None
    """A `Pictures`, where the prompts show any."""
    connect_seconds: float = 10.0
    first_byte_seconds: float = 300.0
    total_seconds: float = 600.0


class Backend(msgspec.Struct, frozen=True):
    """A way to reach models: one module in this folder with such a ``BACKEND``."""

    name: str
    summary: str
    make: Callable[[str, ModelEntry, Surroundings], Model]
    """The model of a name that an entry's spec names; the spec starts with this backend's name."""


def target_of(spec: str) -> str:
    """What comes after the backend's name."""
    return spec.partition(":")[2]
