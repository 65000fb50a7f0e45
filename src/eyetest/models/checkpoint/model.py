"""A checkpoint as a model: many calls at once, images prepared while others are on the device."""

import asyncio
import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, groupby
from threading import Lock
from typing import Any

from eyetest.errors import EyetestError
from eyetest.models.base import Call, CallError, Surroundings, weighed_response
from eyetest.models.checkpoint.loading import Checkpoint, identity, load, sampling_of
from eyetest.models.checkpoint.rendering import RenderedPrompt, Renderer, names_of_images
from eyetest.records import GrayImage, Message, ModelEntry, Prompt, Response, Words

_BATCH_TOKENS = {"cuda": 16_384, "cpu": 2_048}  # tokens per pass; halved where they do not fit into memory
_BATCHES = 2  # one batch is prepared while another is on the device
_IMAGE_THREADS = 2  # threads that prepare images; more would slow down the one that feeds the device


class CheckpointModel:
    """A checkpoint in a local folder."""

    likelihoods = True
    knows_items = False
    batch = 256

    def __init__(
        self,
        name: str,
        entry: ModelEntry,
        checkpoint: Checkpoint,
        surroundings: Surroundings,
        loaded: tuple[Any, Any] | None = None,
    ) -> None:
        """``loaded``: a network and its processor that are in memory already, such as one in training."""
        self.name, self.entry, self._checkpoint, self._images = name, entry, checkpoint, surroundings.images
        self._loaded = loaded
        self.settings = identity(entry, checkpoint)
        self.way = ""  # how likelihoods are computed; known once open
        self._device_lock = Lock()
        self._workers = ThreadPoolExecutor(_BATCHES, "checkpoint")
        self._image_threads = ThreadPoolExecutor(_IMAGE_THREADS, "checkpoint-images")

    async def open(self) -> None:
        """Load the weights and test how likelihoods can be computed."""
        await asyncio.get_running_loop().run_in_executor(self._workers, self._load)

    def _load(self) -> None:
        import torch  # noqa: PLC0415 (optional)

        from eyetest.models.checkpoint import inference  # noqa: PLC0415

        self._inference = inference
        device = str(self.entry.sampling.get("device") or ("cuda" if torch.cuda.is_available() else "cpu"))
        if device.startswith("cuda") and self._loaded is None:
            torch.set_num_threads(1)
        self._network, processor = self._loaded or load(self._checkpoint, device, self.settings["dtype"])
        known = self._network.config
        mark = getattr(known, "image_token_id", None) or getattr(known, "image_token_index", None)
        self._renderer = Renderer(processor, self._images, image_token=mark)
        self._budget = int(
            self.entry.sampling.get("batch_tokens") or _BATCH_TOKENS.get(device.partition(":")[0], 4_096)
        )
        self.way, self._weigh = inference.fastest_way(
            self._network,
            torch.device(device),
            self._sample(),
            may_compile=device.startswith("cuda") and self._loaded is None,
        )

    async def close(self) -> None:
        """Release the weights."""
        await asyncio.get_running_loop().run_in_executor(self._workers, self._unload)
        self._workers.shutdown(wait=False)
        self._image_threads.shutdown(wait=False)

    def _unload(self) -> None:
        if hasattr(self, "_network"):
            del self._network, self._weigh
            gc.collect()

    async def answer(self, call: Call) -> Response:
        """Make one attempt."""
        (reply,) = await self.answer_many([call])
        if isinstance(reply, CallError):
            raise reply
        return reply

    async def answer_many(self, calls: Sequence[Call]) -> list[Response | CallError]:
        """Make one attempt at each, off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._workers, self._respond, calls)

    def _respond(self, calls: Sequence[Call]) -> list[Response | CallError]:
        results: dict[str, Response | CallError] = {}
        weighed: list[tuple[list[Call], Any]] = []
        written: list[tuple[Call, RenderedPrompt]] = []
        for members, ready in self._prepared(calls):
            if isinstance(ready, CallError):
                results |= {call.id: ready for call in members}
            elif isinstance(ready, self._inference.PromptGroup):
                weighed.append((members, ready))
            else:
                written += zip(members, ready, strict=True)
        with self._device_lock:
            under_way = self._begun(weighed)
            results |= self._written(written)
        for batch, pending in under_way:  # others may feed the device before this is over
            results |= _as_responses(batch, pending)
        return [results[call.id] for call in calls]

    def _prepared(self, calls: Sequence[Call]) -> Iterator[tuple[list[Call], Any]]:
        """The calls as tokens and tensors, grouped by common beginning, prepared in several threads."""
        alike: dict[object, list[Call]] = {}
        for call in {call.id: call for call in calls}.values():
            prompt = call.request.prompt
            alike.setdefault((names_of_images(prompt) or call.item.id, bool(prompt.candidates)), []).append(call)
        for parts in self._image_threads.map(self._prepare, alike.values()):
            yield from parts

    def _prepare(self, calls: list[Call]) -> list[tuple[list[Call], Any]]:
        try:
            rendered = self._renderer.render([call.request.prompt for call in calls])
        except CallError as error:
            return [(calls, error)]
        except EyetestError as error:
            return [(calls, CallError("image", str(error)))]
        if not rendered[0].continuations:
            return [(calls, rendered)]
        groups: dict[tuple[int, ...], list[tuple[Call, RenderedPrompt]]] = {}
        for call, prompt in zip(calls, rendered, strict=True):
            groups.setdefault(tuple(prompt.tokens[: prompt.shown]), []).append((call, prompt))
        group_of = self._inference.PromptGroup
        return [([call for call, _ in group], group_of([prompt for _, prompt in group])) for group in groups.values()]

    def _begun(self, ready: list[tuple[list[Call], Any]]) -> list[tuple[list[Any], list[Any]]]:
        """Likelihoods that the device has begun to compute, batch by batch."""
        batches = self._batches(ready, lambda pair: pair[1].first.shapes, lambda pair: pair[1].size)
        return [
            (batch, self._fitting(batch, lambda part: self._weigh([group for _, group in part]))) for batch in batches
        ]

    def _written(self, rendered: Sequence[tuple[Call, RenderedPrompt]]) -> dict[str, Response | CallError]:
        ready = [(call, prompt, sampling_of(call)) for call, prompt in rendered]
        results: dict[str, Response | CallError] = {}
        tokenizer = self._renderer.tokenizer
        for batch in self._batches(
            ready,
            lambda entry: (entry[1].shapes, entry[2].most),
            lambda entry: len(entry[1].tokens) + min(entry[2].most, 256),
        ):
            answers = self._fitting(
                batch,
                lambda part: self._inference.write(
                    self._network, tokenizer, [prompt for _, prompt, _ in part], [sampling for *_, sampling in part]
                ),
            )
            for (call, prompt, _), written in zip(batch, chain.from_iterable(answers), strict=True):
                results[call.id] = Response(
                    request=call.id,
                    outcome="answered" if written.ended else "truncated",
                    text=tokenizer.decode(written.tokens, skip_special_tokens=True).strip(),
                    finish="stop" if written.ended else "length",
                    tokens_in=len(prompt.tokens),
                    tokens_out=len(written.tokens),
                )
        return results

    def _batches(
        self, ready: Sequence[Any], kind: Callable[[Any], Any], size: Callable[[Any], int]
    ) -> Iterator[list[Any]]:
        """Parts that fit together, shortest first, with their longest member times their number within bounds."""
        for _, alike in groupby(sorted(ready, key=lambda entry: (kind(entry), size(entry))), key=kind):
            batch: list[Any] = []
            for entry in alike:
                if batch and size(entry) * (len(batch) + 1) > self._budget:
                    yield batch
                    batch = []
                batch.append(entry)
            yield batch

    def _fitting(self, batch: list[Any], work: Callable[[list[Any]], Any]) -> list[Any]:
        """The results of a batch by its parts: halves, where it does not fit into the device's memory."""
        import torch  # noqa: PLC0415

        try:
            return [work(batch)]
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
            if len(batch) == 1:
                raise CallError("too-large", "this prompt does not fit into the device's memory") from None
            self._budget = max(1, self._budget // 2)
        half = len(batch) // 2
        return [*self._fitting(batch[:half], work), *self._fitting(batch[half:], work)]

    def _sample(self) -> list[Any]:
        """Two questions about a grey image with answers of several lengths, to test a way."""
        image = (GrayImage(96, 64),) if self._renderer.takes_images else ()
        prompts = [
            Prompt((Message("user", (*image, Words(asked))),), candidates=("two", "two dogs", "a dog, or none"))
            for asked in ("What is to be seen? Say it in a word.", "What is to be seen? Be brief.")
        ]
        rendered = self._renderer.render(prompts)
        group_of = self._inference.PromptGroup
        return [group_of(rendered), group_of(rendered[:1])]  # two rows: a single one would be compiled separately


def _as_responses(batch: list[tuple[list[Call], Any]], pending: list[Any]) -> dict[str, Response | CallError]:
    """The results of a batch, call by call, as soon as the device has them."""
    responses: dict[str, Response | CallError] = {}
    weights = chain.from_iterable(part() for part in pending)
    for (calls, group), of_group in zip(batch, weights, strict=True):
        left = iter(of_group)
        for call, prompt in zip(calls, group.prompts, strict=True):
            logs = [next(left) for _ in prompt.continuations]
            sums = (float(part.sum()) for part in logs)
            responses[call.id] = weighed_response(call, sums, map(len, logs), len(prompt.tokens))
    return responses
