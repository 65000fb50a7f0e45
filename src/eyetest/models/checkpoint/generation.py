"""What a checkpoint writes, many prompts at once.

Every draw comes from the call's own seed, so that a call is answered the same whatever is asked beside it, up to the
last digits of sums that depend on how they are grouped.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import torch

from eyetest.models.checkpoint.rendering import RenderedPrompt
from eyetest.models.checkpoint.settings import Wish


class Written(msgspec.Struct, frozen=True):
    """An answer: its tokens, whether the model ended it, and the likeliest tokens where asked for."""

    tokens: list[int]
    ended: bool
    logs: list[tuple[float, list[tuple[int, float]]]] = []


class _Lots:
    """Draws for each row from its own lot: the token whose log-probability plus Gumbel noise is largest."""

    def __init__(self, wishes: Sequence[Wish]) -> None:
        self._wishes = wishes
        self._lots = [torch.Generator().manual_seed(wish.seed % 2**63) for wish in wishes]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        drawn = scores.float().clone()
        for row, (wish, lot) in enumerate(zip(self._wishes, self._lots, strict=True)):
            if wish.temperature <= 0:
                continue
            logs = _nucleus((drawn[row] / wish.temperature).log_softmax(-1), wish.top_p)
            noise = torch.rand(logs.shape, generator=lot, dtype=torch.float64).clamp_min(1e-300)
            drawn[row] = logs - (-noise.log()).log().to(logs)
        return drawn


def _nucleus(logs: Any, top_p: float) -> Any:
    """Without the tail: the least likely tokens that together have no more than is left beside ``top_p``."""
    if top_p >= 1:
        return logs
    ordered, order = logs.sort(descending=True)
    before = ordered.exp().cumsum(-1) - ordered.exp()
    logs = logs.clone()
    logs[order[before >= top_p]] = -torch.inf
    return logs


@torch.inference_mode()
def write(model: Any, tokenizer: Any, prompts: Sequence[RenderedPrompt], wishes: Sequence[Wish]) -> list[Written]:
    """Answers to prompts whose tensors fit together and that may be equally long."""
    given = _left_padded(prompts, tokenizer.pad_token_id or 0, model)
    told = any(wish.likeliest is not None for wish in wishes)
    output = model.generate(
        **given,
        max_new_tokens=wishes[0].most,
        do_sample=False,
        temperature=None,
        top_p=None,
        top_k=None,
        logits_processor=[_Lots(wishes)],
        pad_token_id=tokenizer.pad_token_id or 0,
        return_dict_in_generate=True,
        output_logits=told,
    )
    ends = _ends(model, tokenizer)
    new = output.sequences[:, given["input_ids"].shape[1] :].tolist()
    logs = torch.stack(output.logits, dim=1).float().log_softmax(-1).cpu() if told else [None] * len(new)
    return [_written(row, ends, wish, of_row) for row, wish, of_row in zip(new, wishes, logs, strict=True)]


def _written(row: list[int], ends: set[int], wish: Wish, logs: Any) -> Written:
    length = next((at for at, token in enumerate(row) if token in ends), len(row))
    told = []
    if wish.likeliest is not None and logs is not None:
        for at in range(length):
            best = logs[at].topk(wish.likeliest)
            others = list(zip(best.indices.tolist(), best.values.tolist(), strict=True))
            told.append((float(logs[at, row[at]]), others))
    return Written(row[:length], length < len(row), told)


def _ends(model: Any, tokenizer: Any) -> set[int]:
    known = model.generation_config.eos_token_id
    ends = set(known if isinstance(known, list) else [known]) | {tokenizer.eos_token_id}
    return {token for token in ends if token is not None}


def _left_padded(prompts: Sequence[RenderedPrompt], pad: int, model: Any) -> dict[str, Any]:
    longest = max(len(prompt.tokens) for prompt in prompts)
    rows = [[pad] * (longest - len(prompt.tokens)) + prompt.tokens for prompt in prompts]
    masks = [[0] * (longest - len(prompt.tokens)) + [1] * len(prompt.tokens) for prompt in prompts]
    given = {"input_ids": torch.tensor(rows), "attention_mask": torch.tensor(masks)}
    for name in prompts[0].kinds:
        kinds = [(one.kinds[name] + [0] * len(one.tokens))[: len(one.tokens)] for one in prompts]
        given[name] = torch.tensor([[0] * (longest - len(kind)) + kind for kind in kinds])
    for name in prompts[0].vision:
        given[name] = torch.cat([prompt.vision[name] for prompt in prompts])
    return {
        name: tensor.to(model.device, model.dtype if tensor.is_floating_point() else None)
        for name, tensor in given.items()
    }
