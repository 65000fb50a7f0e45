"""How likely a checkpoint finds given continuations, in as few passes over shared tokens as its attention allows.

There are three ways: all continuations of a picture packed into one tree; their common beginning read once, its keys
and values kept; each continuation by itself. A checkpoint is tried out before it is asked (`fastest_way`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from eyetest.models.checkpoint.packing import Continuation, pack
from eyetest.models.checkpoint.rendering import RenderedPrompt
from eyetest.models.trie import shared_start

Weights = list[NDArray[np.float64]]
"""Of each continuation, the log-probability of each token that is weighed."""
Pending = Callable[[], list[Weights]]
"""What is being computed; whoever calls it waits. A device can be handed the next batch before."""
_ROUND = 64
"""Rows are as long as a multiple of this, which attention on a device likes."""


class PromptGroup:
    """Prompts that show the same pictures and are alike up to the end of the last."""

    def __init__(self, prompts: Sequence[RenderedPrompt]) -> None:
        self.prompts = prompts
        self.first = prompts[0]
        """The prompt whose pictures stand for all."""
        self.continuations = [one for prompt in prompts for one in prompt.continuations]
        self.packed = pack([one.tokens for one in self.continuations])

    @property
    def size(self) -> int:
        """How many tokens it has once what is shared is counted once."""
        return len(self.packed)


class Weighing:
    """A loaded model that is asked for likelihoods."""

    def __init__(self, model: Any, device: Any, *, compiled: bool = False) -> None:
        self._model, self._device = model, device
        self._is_cuda = torch.device(device).type == "cuda"
        layers = getattr(model.get_decoder(), "layers", ()) if compiled else ()
        self._layers = [(layer, torch.compile(layer.forward, dynamic=True)) for layer in layers]
        self._head = model.get_output_embeddings()
        self._places = getattr(getattr(model, "model", None), "get_rope_index", None)

    @torch.inference_mode()
    def in_trees(self, groups: Sequence[PromptGroup]) -> Pending:
        """One pass for all groups, each a row. A row alone would be compiled for by itself, so it goes twice."""
        if self._layers and len(groups) == 1:
            twice = self.in_trees([*groups, *groups])
            return lambda: twice()[:1]
        longest = -(-max(group.size for group in groups) // _ROUND) * _ROUND
        tokens = torch.zeros((len(groups), longest), dtype=torch.long)
        ends = torch.arange(1, longest + 1).repeat(len(groups), 1)  # what only fills a row sees itself alone
        places = []
        for row, group in enumerate(groups):
            tokens[row, : group.size] = torch.from_numpy(group.packed.tokens)
            ends[row, : group.size] = torch.from_numpy(group.packed.ends)
            places.append(self._tree_places(group, longest))
        ends = self._sent(ends)
        at = torch.arange(longest, device=self._device)
        may_look = (at[None, None, :] <= at[None, :, None]) & (at[None, :, None] < ends[:, None, :])
        mask = torch.zeros(may_look.shape, dtype=self._model.dtype, device=self._device)
        mask.masked_fill_(~may_look, torch.finfo(self._model.dtype).min)
        given = {
            "input_ids": self._sent(tokens),
            "attention_mask": mask[:, None],
            "position_ids": self._sent(torch.stack(places, dim=-2)),
            **self._vision(groups),
        }
        rows, nodes, targets = [], [], []
        for row, group in enumerate(groups):
            for path, one in zip(group.packed.paths, group.continuations, strict=True):
                nodes.append(path[one.first - 1 : -1])
                targets.append(group.packed.tokens[path[one.first :]])
                rows.append(np.full(len(targets[-1]), row))
        logs = self._after(given, np.concatenate(rows), np.concatenate(nodes), np.concatenate(targets))
        return lambda: _shared_out(logs(), [len(part) for part in targets], groups)

    @torch.inference_mode()
    def with_cache(self, groups: Sequence[PromptGroup]) -> Pending:
        """What all continuations of a group share is read once; the rest of them goes on from there, side by side."""
        weights = [self._from_cache(group) for group in groups]
        return lambda: weights

    def _from_cache(self, group: PromptGroup) -> Weights:
        sequences = [one.tokens for one in group.continuations]
        shared = min(shared_start(sequences), min(one.first for one in group.continuations) - 1)
        shared = max(shared, group.first.shown)
        places = self._line_places(group, max(map(len, sequences)))
        kinds = {
            name: torch.tensor([(values + [0] * shared)[:shared]], device=self._device)
            for name, values in group.first.kinds.items()
        }
        begun = self._model(
            input_ids=torch.tensor([sequences[0][:shared]], device=self._device),
            position_ids=places[..., :shared].to(self._device),
            use_cache=True,
            logits_to_keep=1,
            **self._vision([group]),
            **kinds,
        )
        cache = begun.past_key_values
        cache.batch_repeat_interleave(len(sequences))
        rests = [one[shared:] for one in sequences]
        longest = max(map(len, rests))
        tokens = torch.zeros((len(rests), longest), dtype=torch.long)
        mask = torch.zeros((len(rests), shared + longest), dtype=torch.long)
        for row, rest in enumerate(rests):
            tokens[row, : len(rest)] = torch.tensor(rest)
            mask[row, : shared + len(rest)] = 1
        repeated = places[..., shared : shared + longest].expand(*places.shape[:-2], len(rests), longest)
        given = {
            "input_ids": tokens.to(self._device),
            "attention_mask": mask.to(self._device),
            "position_ids": repeated.to(self._device),
            "past_key_values": cache,
            "use_cache": True,
        }
        return self._of_rows(given, group.continuations, shared)

    @torch.inference_mode()
    def one_by_one(self, groups: Sequence[PromptGroup]) -> Pending:
        """Each continuation is a pass of its own, with its own pictures; nothing is shared, nothing is assumed."""
        weights = [self._alone(group) for group in groups]
        return lambda: weights

    def _alone(self, group: PromptGroup) -> Weights:
        weights: Weights = []
        for one in group.continuations:
            given = {"input_ids": torch.tensor([one.tokens], device=self._device), "use_cache": False}
            given["attention_mask"] = torch.ones_like(given["input_ids"])
            for name, values in group.first.kinds.items():
                known = values[: len(one.tokens)]
                given[name] = torch.tensor([known + [0] * (len(one.tokens) - len(known))], device=self._device)
            weights += self._of_rows(given | self._vision([group]), [one], 0)
        return weights

    def _of_rows(self, given: dict[str, Any], continuations: Sequence[Continuation], skipped: int) -> Weights:
        """The weights of continuations that are rows of a batch, whose first tokens were read before."""
        rows, nodes, targets, counts = [], [], [], []
        for row, one in enumerate(continuations):
            count = len(one.tokens) - one.first
            rows.append(np.full(count, row))
            nodes.append(np.arange(one.first - 1, len(one.tokens) - 1) - skipped)
            targets.append(np.array(one.tokens[one.first :], np.int64))
            counts.append(count)
        logs = self._after(given, np.concatenate(rows), np.concatenate(nodes), np.concatenate(targets))
        return list(np.split(logs(), np.cumsum(counts)[:-1]))

    def _after(
        self, given: dict[str, Any], rows: NDArray[np.int64], nodes: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> Callable[[], NDArray[np.float64]]:
        """The log-probability of a token after each of some positions. No others are ever turned into words."""
        if not len(targets):
            return lambda: np.zeros(0)
        at = torch.from_numpy(rows).to(self._device), torch.from_numpy(nodes).to(self._device)
        given.setdefault("use_cache", False)
        with _only(self._head, at), _as(self._layers):
            logits = self._model(**given).logits[0].float()
        wanted = torch.from_numpy(targets).to(self._device)
        logs = logits.gather(1, wanted[:, None])[:, 0] - logits.logsumexp(dim=1)
        return lambda: logs.double().cpu().numpy()

    def _vision(self, groups: Sequence[PromptGroup]) -> dict[str, Any]:
        names = groups[0].first.vision
        tensors = {name: torch.cat([group.first.vision[name] for group in groups]) for name in names}
        return {
            name: self._sent(tensor.to(self._model.dtype) if tensor.is_floating_point() else tensor)
            for name, tensor in tensors.items()
        }

    def _sent(self, tensor: Any) -> Any:
        """A tensor on the device; memory that cannot be swapped goes there while the device is at something else."""
        return tensor.pin_memory().to(self._device, non_blocking=True) if self._is_cuda else tensor.to(self._device)

    def _tree_places(self, group: PromptGroup, longest: int) -> Any:
        line = self._line_places(group, int(group.packed.depths.max()) + 1)[..., 0, :]
        depths = torch.zeros(longest, dtype=torch.long)
        depths[: group.size] = torch.from_numpy(group.packed.depths)
        return line[..., depths]

    def _line_places(self, group: PromptGroup, length: int) -> Any:
        """Where each token of a sequence stands, as the model counts: (1, length) or (3, 1, length)."""
        if self._places is None or not group.first.shown or not group.first.vision:
            places = torch.arange(length)[None]
            return places if self._places is None else places.expand(3, 1, length)
        prompt, shown = group.first, group.first.shown
        known = {name: torch.tensor([values[:shown]]) for name, values in prompt.kinds.items()}
        known |= {"input_ids": torch.tensor([prompt.tokens[:shown]]), **prompt.vision}
        wanted = signature(self._places).parameters
        places, _ = self._places(**{name: value for name, value in known.items() if name in wanted})
        rest = places.max() + 1 + torch.arange(length - shown)
        return torch.cat([places, rest.expand(3, 1, length - shown)], dim=-1)


Way = Callable[[Sequence[PromptGroup]], Pending]
_SAME = {torch.float32: 1e-3, torch.float64: 1e-6}
_SAME_IN_HALF = 0.1
"""How far apart the log-probabilities may lie that two ways give, on average over the tokens of a trial."""


def fastest_way(model: Any, device: Any, trial: Sequence[PromptGroup], *, may_compile: bool) -> tuple[str, Way]:
    """The first way that gives on a trial what each continuation by itself gives, and its name.

    An attention that looks both ways within a picture, or that ignores a mask of our own, shows here.
    """
    plain = Weighing(model, device)
    ways: dict[str, Callable[[], Way]] = {
        "compiled trees": lambda: Weighing(model, device, compiled=True).in_trees,
        "trees": lambda: plain.in_trees,
        "kept keys and values": lambda: plain.with_cache,
    }
    expected = _all(plain.one_by_one(trial)())
    for name in list(ways)[0 if may_compile else 1 :]:
        try:
            way = ways[name]()
            apart = np.abs(_all(way(trial)()) - expected).mean()
        except Exception:  # noqa: S112 (whatever a model or a compiler cannot do, it says in its own way)
            continue
        if apart <= _SAME.get(model.dtype, _SAME_IN_HALF):
            return name, way
    return "one by one", plain.one_by_one


def _all(weights: Sequence[Weights]) -> NDArray[np.float64]:
    return np.concatenate([one for group in weights for one in group])


def _shared_out(logs: NDArray[np.float64], counts: Sequence[int], groups: Sequence[PromptGroup]) -> list[Weights]:
    parts = iter(np.split(logs, np.cumsum(counts)[:-1]))
    return [[next(parts) for _ in group.continuations] for group in groups]


@contextmanager
def _as(layers: Sequence[tuple[Any, Any]]) -> Iterator[None]:
    """While this lasts, layers run as they were compiled: fewer passes over memory between their products."""
    for layer, compiled in layers:
        layer.forward = compiled
    try:
        yield
    finally:
        for layer, _ in layers:
            del layer.forward


@contextmanager
def _only(head: Any, at: tuple[Any, Any]) -> Iterator[None]:
    """While this lasts, the model's head sees only the states at some positions, as one row."""
    handle = head.register_forward_pre_hook(lambda module, given: (given[0][at][None], *given[1:]))
    try:
        yield
    finally:
        handle.remove()
