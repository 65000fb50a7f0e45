"""Likelihoods of given continuations, packed into one tree where possible, and generated answers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from eyetest.models.checkpoint.loading import SamplingSettings
from eyetest.models.checkpoint.rendering import RenderedPrompt
from eyetest.models.trie import shared_start

Nodes = NDArray[np.int64]


class Packed(msgspec.Struct, frozen=True):
    """Sequences as one tree, depth first."""

    tokens: Nodes
    depths: Nodes  # position of each node in its sequences
    ends: Nodes  # the first node after each node's descendants: j is i or its ancestor where j <= i < ends[j]
    paths: list[Nodes]  # the nodes of each sequence, first to last

    def __len__(self) -> int:
        return len(self.tokens)


def pack(sequences: Sequence[Sequence[int]]) -> Packed:
    """The tree of sequences: in sorted order, each shares a beginning with the one before it and adds the rest."""
    tokens: list[int] = []
    depths: list[int] = []
    ends: list[int] = []
    paths: list[list[int]] = [[] for _ in sequences]
    before, path = tuple[int, ...](), list[int]()
    for number, sequence in sorted(enumerate(map(tuple, sequences)), key=lambda pair: pair[1]):
        shared = shared_start((before, sequence))
        for node in path[shared:]:
            ends[node] = len(tokens)
        path = [*path[:shared], *range(len(tokens), len(tokens) + len(sequence) - shared)]
        tokens += sequence[shared:]
        depths += range(shared, len(sequence))
        ends += [0] * (len(sequence) - shared)
        paths[number], before = path, sequence
    for node in path:
        ends[node] = len(tokens)
    nodes, levels, after = (np.array(values, np.int64) for values in (tokens, depths, ends))
    return Packed(nodes, levels, after, [np.array(path, np.int64) for path in paths])


Weights = list[NDArray[np.float64]]  # per continuation, the log-probability of each scored token
Pending = Callable[[], list[Weights]]  # a running computation; calling it waits, after the next batch was sent
_ROUND = 64  # rows are padded to a multiple of this, which is fast for attention on a device


class PromptGroup:
    """Prompts with the same images that are equal up to the end of the last image."""

    def __init__(self, prompts: Sequence[RenderedPrompt]) -> None:
        self.prompts = prompts
        self.first = prompts[0]  # the prompt whose images stand for all
        self.continuations = [continuation for prompt in prompts for continuation in prompt.continuations]
        self.packed = pack([continuation.tokens for continuation in self.continuations])

    @property
    def size(self) -> int:
        """The number of tokens, shared ones counted once."""
        return len(self.packed)


class Weighing:
    """A loaded model that computes likelihoods."""

    def __init__(self, model: Any, device: Any, *, compiled: bool = False) -> None:
        self._model, self._device = model, device
        self._is_cuda = torch.device(device).type == "cuda"
        layers = getattr(model.get_decoder(), "layers", ()) if compiled else ()
        self._layers = [(layer, torch.compile(layer.forward, dynamic=True)) for layer in layers]
        self._head = model.get_output_embeddings()
        self._places = getattr(getattr(model, "model", None), "get_rope_index", None)

    @torch.inference_mode()
    def in_trees(self, groups: Sequence[PromptGroup]) -> Pending:
        """One pass, a row per group. A single row would be compiled separately, so it is doubled."""
        if self._layers and len(groups) == 1:
            twice = self.in_trees([*groups, *groups])
            return lambda: twice()[:1]
        longest = -(-max(group.size for group in groups) // _ROUND) * _ROUND
        tokens = torch.zeros((len(groups), longest), dtype=torch.long)
        ends = torch.arange(1, longest + 1).repeat(len(groups), 1)  # padding attends only to itself
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
        asked = [
            (row, path[continuation.first - 1 : -1], group.packed.tokens[path[continuation.first :]])
            for row, group in enumerate(groups)
            for path, continuation in zip(group.packed.paths, group.continuations, strict=True)
        ]
        weights = self._after(given, asked)
        return lambda: _by_group(weights(), groups)

    @torch.inference_mode()
    def one_by_one(self, groups: Sequence[PromptGroup]) -> Pending:
        """Each continuation is a pass of its own with its own images; nothing is shared or assumed."""
        weights = [self._alone(group) for group in groups]
        return lambda: weights

    def _alone(self, group: PromptGroup) -> Weights:
        weights: Weights = []
        for continuation in group.continuations:
            length = len(continuation.tokens)
            given = {"input_ids": torch.tensor([continuation.tokens], device=self._device)}
            given["attention_mask"] = torch.ones_like(given["input_ids"])
            for name, values in group.first.kinds.items():
                given[name] = torch.tensor([(values + [0] * length)[:length]], device=self._device)
            nodes = np.arange(continuation.first - 1, length - 1)
            wanted = np.array(continuation.tokens[continuation.first :], np.int64)
            weights += self._after(given | self._vision([group]), [(0, nodes, wanted)])()
        return weights

    def _after(self, given: dict[str, Any], asked: Sequence[tuple[int, Nodes, Nodes]]) -> Callable[[], Weights]:
        """The log-probabilities of tokens after positions of a row, given as (row, positions, tokens)."""
        counts = [len(tokens) for *_, tokens in asked]
        if not any(counts):
            return lambda: [np.zeros(0) for _ in asked]
        rows = np.repeat([row for row, *_ in asked], counts)
        nodes, targets = (np.concatenate([entry[part] for entry in asked]) for part in (1, 2))
        at = torch.from_numpy(rows).to(self._device), torch.from_numpy(nodes).to(self._device)
        with _only(self._head, at), _as(self._layers):
            logits = self._model(**given, use_cache=False).logits[0].float()
        wanted = torch.from_numpy(targets).to(self._device)
        logs = logits.gather(1, wanted[:, None])[:, 0] - logits.logsumexp(dim=1)
        return lambda: list(np.split(logs.double().cpu().numpy(), np.cumsum(counts)[:-1]))

    def _vision(self, groups: Sequence[PromptGroup]) -> dict[str, Any]:
        names = groups[0].first.vision
        return {name: self._sent(torch.cat([group.first.vision[name] for group in groups])) for name in names}

    def _sent(self, tensor: Any) -> Any:
        """A tensor on the device, as precise as the model; pinned memory is copied while the device computes."""
        if tensor.is_floating_point():
            tensor = tensor.to(self._model.dtype)
        return tensor.pin_memory().to(self._device, non_blocking=True) if self._is_cuda else tensor.to(self._device)

    def _tree_places(self, group: PromptGroup, longest: int) -> Any:
        line = self._line_places(group, int(group.packed.depths.max()) + 1)[..., 0, :]
        depths = torch.zeros(longest, dtype=torch.long)
        depths[: group.size] = torch.from_numpy(group.packed.depths)
        return line[..., depths]

    def _line_places(self, group: PromptGroup, length: int) -> Any:
        """The position ids of a sequence, (1, length) or (3, 1, length)."""
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
_SAME_IN_HALF = 0.1  # allowed difference of two ways' log-probabilities, averaged over the tokens of a sample


def fastest_way(model: Any, device: Any, sample: Sequence[PromptGroup], *, may_compile: bool) -> tuple[str, Way]:
    """The first way whose results on a sample equal those of one pass per continuation, and its name."""
    plain = Weighing(model, device)
    expected = _all(plain.one_by_one(sample)())
    for name in ("compiled trees", "trees")[0 if may_compile else 1 :]:
        try:
            way = Weighing(model, device, compiled=name != "trees").in_trees
            apart = np.abs(_all(way(sample)()) - expected).mean()
        except Exception:  # noqa: S112 (models and compilers raise errors of any class)
            continue
        if apart <= _SAME.get(model.dtype, _SAME_IN_HALF):
            return name, way
    return "one by one", plain.one_by_one


def _all(weights: Sequence[Weights]) -> NDArray[np.float64]:
    return np.concatenate([logs for group in weights for logs in group])


def _by_group(weights: Weights, groups: Sequence[PromptGroup]) -> list[Weights]:
    parts = iter(weights)
    return [[next(parts) for _ in group.continuations] for group in groups]


@contextmanager
def _as(layers: Sequence[tuple[Any, Any]]) -> Iterator[None]:
    """Run layers as compiled within the block: fewer passes over memory between their products."""
    for layer, compiled in layers:
        layer.forward = compiled
    try:
        yield
    finally:
        for layer, _ in layers:
            del layer.forward


@contextmanager
def _only(head: Any, at: tuple[Any, Any]) -> Iterator[None]:
    """Apply the model's head only to the states at some positions, as one row, within the block."""
    handle = head.register_forward_pre_hook(lambda module, given: (given[0][at][None], *given[1:]))
    try:
        yield
    finally:
        handle.remove()


class Completion(msgspec.Struct, frozen=True):
    """An answer: its tokens, and whether the model ended it."""

    tokens: list[int]
    ended: bool


class _Sampler:
    """Samples each row from its own random stream: the token with the largest log-probability plus Gumbel noise."""

    def __init__(self, samplings: Sequence[SamplingSettings]) -> None:
        self._samplings = samplings
        self._generators = [torch.Generator().manual_seed(sampling.seed % 2**63) for sampling in samplings]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        drawn = scores.float().clone()
        for row, (sampling, generator) in enumerate(zip(self._samplings, self._generators, strict=True)):
            if sampling.temperature <= 0:
                continue
            logs = _nucleus((drawn[row] / sampling.temperature).log_softmax(-1), sampling.top_p)
            noise = torch.rand(logs.shape, generator=generator, dtype=torch.float64).clamp_min(1e-300)
            drawn[row] = logs - (-noise.log()).log().to(logs)
        return drawn


def _nucleus(logs: Any, top_p: float) -> Any:
    """Remove the tail: the least likely tokens with at most 1 − ``top_p`` of the probability."""
    if top_p >= 1:
        return logs
    ordered, order = logs.sort(descending=True)
    before = ordered.exp().cumsum(-1) - ordered.exp()
    logs = logs.clone()
    logs[order[before >= top_p]] = -torch.inf
    return logs


@torch.inference_mode()
def write(
    model: Any, tokenizer: Any, prompts: Sequence[RenderedPrompt], samplings: Sequence[SamplingSettings]
) -> list[Completion]:
    """Answers to prompts whose tensors fit together and that may be equally long."""
    given = _left_padded(prompts, tokenizer.pad_token_id or 0, model)
    sequences = model.generate(
        **given,
        max_new_tokens=samplings[0].most,
        do_sample=False,
        temperature=None,
        top_p=None,
        top_k=None,
        logits_processor=[_Sampler(samplings)],
        pad_token_id=tokenizer.pad_token_id or 0,
    )
    ends, completions = _ends(model, tokenizer), []
    for row in sequences[:, given["input_ids"].shape[1] :].tolist():
        length = next((at for at, token in enumerate(row) if token in ends), len(row))
        completions.append(Completion(row[:length], length < len(row)))
    return completions


def _ends(model: Any, tokenizer: Any) -> set[int]:
    known = model.generation_config.eos_token_id
    return {*(known if isinstance(known, list) else [known]), tokenizer.eos_token_id} - {None}


def _left_padded(prompts: Sequence[RenderedPrompt], pad: int, model: Any) -> dict[str, Any]:
    longest = max(len(prompt.tokens) for prompt in prompts)
    rows = [[pad] * (longest - len(prompt.tokens)) + prompt.tokens for prompt in prompts]
    masks = [[0] * (longest - len(prompt.tokens)) + [1] * len(prompt.tokens) for prompt in prompts]
    given = {"input_ids": torch.tensor(rows), "attention_mask": torch.tensor(masks)}
    for name in prompts[0].kinds:
        kinds = [(prompt.kinds[name] + [0] * len(prompt.tokens))[: len(prompt.tokens)] for prompt in prompts]
        given[name] = torch.tensor([[0] * (longest - len(kind)) + kind for kind in kinds])
    for name in prompts[0].vision:
        given[name] = torch.cat([prompt.vision[name] for prompt in prompts])
    return {
        name: tensor.to(model.device, model.dtype if tensor.is_floating_point() else None)
        for name, tensor in given.items()
    }
