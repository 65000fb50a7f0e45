"""VLMEvalKit: a wrapper of its models, local ones and APIs, that records every request.

``supported_VLM["gpt-4o"] = partial(EyetestVLM, inner=partial(GPT4V, …), to="recorded")``; it needs nothing but the
model, since VLMEvalKit asks of models only the methods below.
"""

import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec

from eyetest.commands.options import AnyPath
from eyetest.integrations.recording import Recorder


class EyetestVLM:
    """A ``BaseModel`` or ``BaseAPI`` of VLMEvalKit, with every request and reply on disk."""

    def __init__(self, inner: Any, to: AnyPath, *, name: str = "") -> None:
        """``inner``: the model, or a function that makes it."""
        self.inner = inner() if isinstance(inner, type) or not hasattr(inner, "generate") else inner
        self.recorder = Recorder(to, name or type(self.inner).__name__)
        self._dataset: Any = None
        self._rows: dict[bytes, list[Any]] = defaultdict(list)  # by prompt, the rows that it was built of
        self._lock = threading.Lock()  # APIs are asked by several threads

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    def set_dump_image(self, dump_image: Callable[..., Any]) -> None:
        """Called with a method of the dataset before its first prompt is built."""
        if hasattr(self.inner, "set_dump_image"):
            self.inner.set_dump_image(dump_image)
        self._dataset = getattr(dump_image, "__self__", None)
        if getattr(self._dataset, "force_use_dataset_prompt", False):  # then the model is not asked for prompts
            build, dataset = self._dataset.build_prompt, self._dataset
            dataset.build_prompt = lambda line, *more, **how: self._noted(line, build(line, *more, **how))

    def use_custom_prompt(self, dataset: str) -> bool:
        """Whether prompts are built here: wherever it is known by what dataset they are built otherwise."""
        return self._dataset is not None or self.inner.use_custom_prompt(dataset)

    def build_prompt(self, line: Any, dataset: str | None = None) -> Any:
        """The prompt that VLMEvalKit would have built."""
        own = hasattr(self.inner, "use_custom_prompt") and self.inner.use_custom_prompt(dataset)
        return self._noted(line, self.inner.build_prompt(line, dataset) if own else self._dataset.build_prompt(line))

    def generate(self, message: Any, dataset: str | None = None, **how: Any) -> Any:
        """The model's reply, stored."""
        task, about = dataset or "prompts", self._request(message, dataset or "prompts")
        with self._lock:
            reply = self.recorder.known(task, about)
        if reply is None:
            reply = self.inner.generate(message=message, dataset=dataset, **how)
            with self._lock:
                self.recorder.add(task, about, reply)
        return reply

    def _noted(self, line: Any, prompt: Any) -> Any:
        self._rows[_key(prompt)].append(line)
        return prompt

    def _request(self, message: Any, task: str) -> dict[str, Any]:
        parts = [{"type": "text", "value": message}] if isinstance(message, str) else message
        texts = [part["value"] for part in parts if part["type"] == "text"]
        images = [part["value"] for part in parts if part["type"] == "image"]
        with self._lock:
            rows = self._rows[_key(message)]
            line = rows.pop(0) if rows else {}
            item = str(line.get("index", len(self._rows)))
            return self.recorder.request(task, item, "\n".join(texts), images, line.get("answer"))


def _key(prompt: Any) -> bytes:
    return msgspec.json.encode(prompt)
