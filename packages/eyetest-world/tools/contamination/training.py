"""Many minds learn at once: their weights are stacked, each has rows of its own, and eyes stay as they are."""

from typing import NamedTuple

import torch
from eyetest_world.toy_models.network import PAD
from torch import Tensor
from torch.func import functional_call, vmap
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from toy_training.network import Mind, Network

_REPLY = 24
_CLIP = 1.0
_WARM_UP = 20
Weights = dict[str, Tensor]
Taken = tuple[Tensor, Tensor, Tensor]


class Store(NamedTuple):
    """All rows on the device, and what the eyes saw of each image."""

    tokens: Tensor
    lines: Tensor
    starts: Tensor
    images: Tensor
    seen: Tensor


@torch.no_grad()
def look(network: Network, images: Tensor, chunk: int = 512) -> Tensor:
    """What the eyes see of every image, in half precision."""
    kind = torch.bfloat16 if images.is_cuda else torch.float32
    return torch.cat([network.look(images[first : first + chunk]).to(kind) for first in range(0, len(images), chunk)])


def loss(
    mind: Mind, weights: Weights, tokens: Tensor, lines: Tensor, starts: Tensor, prefix: Tensor | None
) -> Tensor:
    """How surprising the replies of one model's rows are."""
    length = tokens.shape[1]
    thoughts = functional_call(mind, weights, (tokens[:, :-1], lines[:, :-1], prefix))
    places = starts[:, None] - 1 + torch.arange(_REPLY, device=tokens.device)
    inside = places < length - 1
    places = places.clamp(max=length - 2)
    replies = thoughts.gather(1, places[:, :, None].expand(-1, -1, thoughts.shape[-1]))
    targets = tokens.gather(1, places + 1)
    counts = inside & (targets != PAD)
    logits = functional.linear(replies, weights["words.weight"].to(replies.dtype)).float()
    surprise = logits.logsumexp(-1) - logits.gather(-1, targets[..., None])[..., 0]
    return ((surprise * counts).sum(1) / counts.sum(1).clamp(min=1).sqrt()).mean()


def learn(network: Network, weights: Weights, store: Store, plans: tuple[Tensor, Tensor], rate: float) -> list[float]:
    """Train stacked minds; ``plans``: (step, model, row) of rows with an image, and of rows without."""
    mind, with_image, text = network.mind, *plans
    steps, device = len(with_image), store.tokens.device
    cuda = device.type == "cuda"
    optimizer = torch.optim.AdamW(weights.values(), lr=rate, betas=(0.9, 0.95), weight_decay=0.0, fused=cuda)

    def both(weights: Weights, seen: Taken, read: Taken, prefix: Tensor) -> Tensor:
        first, second = loss(mind, weights, *seen, prefix), loss(mind, weights, *read, None)
        total = len(seen[0]) + len(read[0])
        return first * (len(seen[0]) / total) + second * (len(read[0]) / total)

    history = []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / _WARM_UP) * (1 - step / steps)
        rows, texts = with_image[step], text[step]
        prefix = store.seen[store.images[rows]]
        with torch.autocast(device.type, torch.bfloat16, enabled=cuda), sdpa_kernel(SDPBackend.MATH):
            losses = vmap(both)(
                weights, _taken(store, rows), _taken(store, texts), prefix
            )  # other kernels have wrong gradients under vmap
            optimizer.zero_grad()
            losses.sum().backward()
        _clip(weights)
        optimizer.step()
        if step % 50 == 0 or step == steps - 1:
            history.append(round(float(losses.detach().mean()), 4))
    return history


def _taken(store: Store, rows: Tensor) -> Taken:
    return store.tokens[rows].long(), store.lines[rows].long(), store.starts[rows].long()


@torch.no_grad()
def _clip(weights: Weights) -> None:
    """Every model's gradient by itself."""
    slopes = [weight.grad for weight in weights.values() if weight.grad is not None]
    norms = torch.stack([slope.flatten(1).float().norm(dim=1) for slope in slopes]).norm(dim=0)
    scales = (_CLIP / (norms + 1e-6)).clamp(max=1.0)
    for slope in slopes:
        slope.mul_(scales.view(-1, *[1] * (slope.dim() - 1)))


@torch.no_grad()
def ask(
    network: Network, weights: Weights, prompts: tuple[Tensor, Tensor, Tensor], seen: Tensor | None, letters: Tensor
) -> Tensor:
    """Log-likelihood of each letter as the first token of a reply: (model, prompt, letter)."""
    tokens, lines, starts = prompts
    cuda, answers = tokens.is_cuda, []
    rows = torch.arange(len(tokens), device=tokens.device)

    def answer(weights: Weights) -> Tensor:
        thoughts = functional_call(network.mind, weights, (tokens, lines, seen))
        logits = functional.linear(thoughts[rows, starts - 1], weights["words.weight"].to(thoughts.dtype)).float()
        return logits[:, letters] - logits.logsumexp(-1, keepdim=True)

    count = len(next(iter(weights.values())))
    for first in range(0, count, _MODELS):
        part = {key: value[first : first + _MODELS].detach() for key, value in weights.items()}
        with torch.autocast(tokens.device.type, torch.bfloat16, enabled=cuda):
            answers.append(vmap(answer)(part))
    return torch.cat(answers)


_MODELS = 25


@torch.no_grad()
def weigh(network: Network, weights: Weights, rows: tuple[Tensor, Tensor, Tensor], seen: Tensor) -> Tensor:
    """Log-likelihood of the words of the gold, whole and of its least likely token: (model, row, 2)."""
    tokens, lines, starts = rows
    cuda, answers = tokens.is_cuda, []

    def answer(weights: Weights) -> Tensor:
        thoughts = functional_call(network.mind, weights, (tokens[:, :-1], lines[:, :-1], seen))
        places = (starts[:, None] - 1 + torch.arange(_REPLY, device=tokens.device)).clamp(max=tokens.shape[1] - 2)
        replies = thoughts.gather(1, places[:, :, None].expand(-1, -1, thoughts.shape[-1]))
        targets = tokens.gather(1, places + 1)
        logits = functional.linear(replies, weights["words.weight"].to(replies.dtype)).float()
        each = logits.gather(-1, targets[..., None])[..., 0] - logits.logsumexp(-1)
        each = torch.where(targets != PAD, each, torch.zeros_like(each))
        return torch.stack((each.sum(1), each.amin(1)), -1)

    count = len(next(iter(weights.values())))
    for first in range(0, count, _MODELS):
        part = {key: value[first : first + _MODELS].detach() for key, value in weights.items()}
        with torch.autocast(tokens.device.type, torch.bfloat16, enabled=cuda):
            answers.append(vmap(answer)(part))
    return torch.cat(answers)
