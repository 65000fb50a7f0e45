"""A model's weights at work: prompts are read in batches, and each reading can be gone on from, token by token."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from eyetest.models.embedded.cards import Card, weights

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]
_HEAD = 32
_FAR = np.float32(-1e4)


class PromptState(NamedTuple):
    """What a mind remembers of some prompts, one a row, and what it would say next."""

    memory: dict[str, Floats]
    lengths: Numbers
    """How many places of each row are taken; those after them are empty, up to the longest row."""
    marked: NDArray[np.bool_]
    """Which places of the text stand in the line of an option."""
    logits: Floats

    def rows(self, chosen: Sequence[int] | Numbers) -> "PromptState":
        """Some rows, one perhaps several times."""
        kept = {name: values[chosen] for name, values in self.memory.items()}
        return PromptState(kept, self.lengths[chosen], self.marked[chosen], self.logits[chosen])


class Network:
    """Eyes and mind of one model."""

    def __init__(self, card: Card) -> None:
        self._card, self.width = card, card.width
        self._mind = _session(f"{card.name}.mind.onnx")
        self._eyes = _session(f"{card.name}.eyes.onnx") if card.sees else None
        self._outputs = [one.name for one in self._mind.get_outputs()]

    def look(self, pictures: NDArray[np.uint8]) -> Floats:
        """Pictures (row, channel, y, x) as words of the mind's language."""
        assert self._eyes is not None
        seen: Floats = self._eyes.run(None, {"pictures": pictures})[0]
        return seen

    def read(
        self, prompts: Sequence[Sequence[int]], lines: Sequence[Sequence[int]], seen: Floats | None
    ) -> PromptState:
        """Read prompts of any lengths together; ``seen`` has what the eyes saw of each."""
        count, longest, width = len(prompts), max(map(len, prompts)), self._card.width
        prefix = np.zeros((count, 0, width), np.float32) if seen is None else seen
        before = prefix.shape[1]
        tokens, marks = np.zeros((count, longest), np.int64), np.zeros((count, longest), np.int64)
        for row, (prompt, line) in enumerate(zip(prompts, lines, strict=True)):
            tokens[row, : len(prompt)], marks[row, : len(line)] = prompt, line
        lengths = np.array([len(prompt) for prompt in prompts])
        whole = before + longest
        memory = {name: np.zeros((count, width // _HEAD, 0, _HEAD), np.float32) for name in self._past()}
        memory |= {name: np.zeros((count, 0, width), np.float32) for name in ("past_found", "past_marks")}
        logits, memory = self._run(
            {
                "tokens": tokens,
                "lines": marks,
                "prefix": prefix,
                "places": np.broadcast_to(np.arange(whole), (count, whole)),
                "mask": np.triu(np.full((whole, whole), _FAR), 1)[None, None],
                "wanted": lengths[:, None] - 1,
                "apart": np.where(marks == 0, _FAR, np.float32(0))[:, None],
                **memory,
            }
        )
        return PromptState(memory, lengths + before, marks != 0, logits)

    def go_on(self, reading: PromptState, tokens: Numbers) -> PromptState:
        """Read on: (row, new token). Logits are of all new places."""
        rows, new = tokens.shape
        past, text = reading.memory["past_k0"].shape[2], reading.marked.shape[1]
        empty = np.arange(past) >= reading.lengths[:, None]
        mask = np.zeros((rows, 1, new, past + new), np.float32)
        mask[:, 0, :, :past] = np.where(empty, _FAR, np.float32(0))[:, None]
        mask[:, 0, :, past:] = np.triu(np.full((new, new), _FAR), 1)
        apart = np.full((rows, new, text + new), _FAR)
        apart[:, :, :text] = np.where(reading.marked, np.float32(0), _FAR)[:, None]
        logits, memory = self._run(
            {
                "tokens": tokens,
                "lines": np.zeros_like(tokens),
                "prefix": np.zeros((rows, 0, self._card.width), np.float32),
                "places": reading.lengths[:, None] + np.arange(new),
                "mask": mask,
                "wanted": np.broadcast_to(np.arange(new), (rows, new)),
                "apart": apart,
                **reading.memory,
            }
        )
        return PromptState(
            _closed(memory, reading.lengths, past, new), reading.lengths + new, _longer(reading.marked, new), logits
        )

    def _past(self) -> list[str]:
        return [f"past_{which}{layer}" for layer in range(self._card.layers) for which in "kv"]

    def _run(self, inputs: dict[str, NDArray[np.generic]]) -> tuple[Floats, dict[str, Floats]]:
        outputs = dict(zip(self._outputs, self._mind.run(self._outputs, inputs), strict=True))
        logits = outputs.pop("logits")
        return logits, {f"past_{name}": values for name, values in outputs.items()}


def _longer(marked: NDArray[np.bool_], new: int) -> NDArray[np.bool_]:
    return np.concatenate((marked, np.zeros((len(marked), new), bool)), axis=1)


def _closed(memory: dict[str, Floats], lengths: Numbers, past: int, new: int) -> dict[str, Floats]:
    """New places moved up behind the old ones of their row, so that the empty ones are last again."""
    if (lengths == past).all():
        return memory
    rows = np.arange(len(lengths))[:, None]
    target = lengths[:, None] + np.arange(new)
    for name, values in memory.items():
        if name.startswith(("past_k", "past_v")):
            fresh = values[:, :, past:].copy()
            values[rows, :, target] = fresh.transpose(0, 2, 1, 3)
    return memory


def _session(name: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(weights(name).read_bytes(), options, providers=["CPUExecutionProvider"])
