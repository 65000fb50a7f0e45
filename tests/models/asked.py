"""Asking a model a few things without a run around it."""

import asyncio
from collections.abc import Sequence
from typing import Any, Self

from msgspec.structs import asdict

from eyetest.benchmarks import Benchmark, ImageStore
from eyetest.models import BatchModel, CallError, Images, Surroundings, make_models
from eyetest.models.base import Call, Model
from eyetest.prompts import build
from eyetest.records import Asked, Condition, Item, ModelEntry, Prompt, Request, Response

Reply = Response | CallError


class Embedded:
    """An embedded model, or another by its whole spec, and how it is set."""

    def __init__(self, name: str, bench: Benchmark, **entry: object) -> None:
        made = ModelEntry(spec=name if ":" in name else f"embedded:{name}", **entry)  # type: ignore[arg-type]
        self._entries, self._bench, self._condition = {name: made}, bench, Condition()

    def ask(
        self, prompts: Sequence[Prompt], *, samples: int = 1, together: bool = True, **sampling: object
    ) -> list[Reply]:
        """What it replies to each prompt, and to each sample of one; all at the same time, or one after the other."""
        return asyncio.run(self._ask(prompts, samples, together, sampling))

    def about(self, items: Sequence[Item], condition: Condition, **how: object) -> list[Reply]:
        self._condition = condition
        return self.ask([build(item, condition) for item in items], **how)  # type: ignore[arg-type]

    async def _ask(
        self, prompts: Sequence[Prompt], samples: int, together: bool, sampling: dict[str, object]
    ) -> list[Reply]:
        (model,) = make_models(self._entries, Surroundings(images=Images(self._bench.images)))
        await model.open()
        settings = {**model.settings, **sampling}
        requests = [
            Request(model=model.name, prompt=prompt, settings=settings, sample=sample)
            for prompt in prompts
            for sample in range(samples)
        ]
        if together:
            assert isinstance(model, BatchModel)
            found = list(await model.answer_many([_call(model, one, self._condition) for one in requests]))
        else:
            found = [await _reply(model, one) for one in requests]
        await model.close()
        return found


def _call(model: Model, request: Request, condition: Condition | None = None) -> Call:
    under = asdict(condition) if condition else {}
    asked = Asked(item="x", model=model.name, sample=request.sample, **under)
    return Call(asked, Item(id="x", question="?"), request, request.id)


async def _reply(model: Model, request: Request) -> Reply:
    try:
        return await model.answer(_call(model, request))
    except CallError as error:
        return error


class Asker:
    """One model that is asked one thing after the other."""

    def __init__(self, images: ImageStore, patience: float = 20.0, **entry: Any) -> None:
        world = Surroundings(Images(images), 5.0, patience, patience)
        (self.model,) = make_models({"m": ModelEntry(**entry)}, world)

    def __enter__(self) -> Self:
        self._loop = asyncio.Runner()
        self._loop.run(self.model.open())
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.run(self.model.close())
        self._loop.close()

    def answer(self, prompt: Prompt, **settings: object) -> Response:
        """Its reply in one attempt."""
        request = Request(model="m", prompt=prompt, settings={**settings, **self.model.settings})
        return self._loop.run(self.model.answer(_call(self.model, request)))


def texts(replies: Sequence[Reply]) -> list[str]:
    return [reply.text or "" for reply in replies if isinstance(reply, Response)]
