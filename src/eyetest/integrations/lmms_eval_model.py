"""lmms-eval: the model ``eyetest``, which records every request to another model of lmms-eval.

``lmms-eval --model eyetest --model_args model=llava_hf,to=recorded,pretrained=… --tasks mmstar``, or in Python
``simple_evaluate(model=EyetestModel(inner, to="recorded"), tasks=["mmstar"])``.
"""

from collections.abc import Callable, Sequence
from typing import Any

from eyetest.commands.options import AnyPath
from eyetest.errors import MissingExtraError
from eyetest.integrations.recording import Recorder

try:
    from lmms_eval.api.model import lmms
    from lmms_eval.models.registry_v2 import ModelManifest
except ImportError as error:
    raise MissingExtraError(f"this model needs lmms-eval ({error}): pip install lmms_eval") from None

MANIFEST = ModelManifest(model_id="eyetest", simple_class_path=f"{__name__}.EyetestModel")


class EyetestModel(lmms):
    """Another model of lmms-eval, with every request and reply on disk before the next chunk is asked.

    What was answered before, by the same model in the same folder, is not asked again.
    """

    def __init__(self, model: Any, to: AnyPath, *, name: str = "", chunk: int = 64, **args: Any) -> None:
        """``model``: a model, or its name in lmms-eval, which gets ``args``. ``chunk``: handed on at once."""
        from lmms_eval.models import get_model  # noqa: PLC0415 (it loads this module to find what is registered)

        super().__init__()
        self.inner = get_model(model)(**args) if isinstance(model, str) else model
        words = name or (model if isinstance(model, str) else type(model).__name__)
        self.recorder, self._chunk = Recorder(to, words), int(chunk)
        self.is_simple, self.task_dict = self.inner.is_simple, self.inner.task_dict
        self._rank, self._world_size = self.inner.rank, self.inner.world_size

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    def generate_until(self, requests: list[Any]) -> list[Any]:
        """Replies to prompts."""
        return self._recorded(requests, self.inner.generate_until)

    def generate_until_multi_round(self, requests: list[Any]) -> list[Any]:
        """Replies to prompts of several rounds; stored as they come, not scored."""
        return self._recorded(requests, self.inner.generate_until_multi_round)

    def loglikelihood(self, requests: list[Any]) -> list[Any]:
        """Likelihoods of continuations; stored, not scored."""
        return self._recorded(requests, self.inner.loglikelihood)

    def _recorded(self, requests: Sequence[Any], ask: Callable[[list[Any]], list[Any]]) -> list[Any]:
        asked = [(request.task_name, self._request(request)) for request in requests]
        replies = [self.recorder.known(task, about) for task, about in asked]
        left = [number for number, reply in enumerate(replies) if reply is None]
        for start in range(0, len(left), self._chunk):
            chunk = left[start : start + self._chunk]
            for number, reply in zip(chunk, ask([requests[number] for number in chunk]), strict=True):
                self.recorder.add(*asked[number], reply)
                replies[number] = reply
        return replies

    def _request(self, request: Any) -> dict[str, Any]:
        """A request of lmms-eval: its text, its images, and the gold that its task names."""
        doc_id, task, split = request.args[-3:]
        maker = next(part for part in request.args if callable(part))  # of images or messages, a method of the task
        doc = self.task_dict[task][split][doc_id]
        target = maker.__self__.doc_to_target(doc) if hasattr(maker, "__self__") else None
        more = [part for part in request.args[1:3] if isinstance(part, str | dict)]  # a continuation, or settings
        made = maker(doc)
        images, parts = made, list[dict[str, Any]]()
        if not self.is_simple:  # then these are messages
            parts = [part for message in made for part in message["content"] if isinstance(part, dict)]
            images = [part["url"] for part in parts if part.get("type") == "image"]
        text = request.args[0] or "\n".join(part["text"] for part in parts if part.get("type") == "text")
        return self.recorder.request(task, str(doc_id), text, images or (), target, more)
