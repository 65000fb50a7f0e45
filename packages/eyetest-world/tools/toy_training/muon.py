"""An optimizer for small networks in a hurry: matrices move equally far in all directions; Adam moves the rest."""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor

_STEPS = 5
_CUBIC = (3.4445, -4.7750, 2.0315)


def orthogonal(matrices: Tensor) -> Tensor:
    """The nearest matrices whose directions are all equally strong, by Newton and Schulz's iteration."""
    a, b, c = _CUBIC
    x = matrices.to(torch.bfloat16) if matrices.is_cuda else matrices
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) * 1.02 + 1e-7)
    for _ in range(_STEPS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return (x.mT if tall else x).to(matrices.dtype)


class Muon:
    """Momentum, made orthogonal, for weights with at least two dimensions (convolutions count as matrices)."""

    def __init__(self, weights: Iterable[Tensor], rate: Tensor, momentum: float = 0.95, decay: float = 0.02) -> None:
        self._rate, self._momentum, self._decay = rate, momentum, decay
        self._groups: dict[torch.Size, list[Tensor]] = defaultdict(list)
        for weight in weights:
            self._groups[weight.flatten(1).shape].append(weight)
        self._speeds = {
            shape: torch.zeros(len(group), *shape, device=group[0].device) for shape, group in self._groups.items()
        }

    @torch.no_grad()
    def step(self) -> None:
        """Move all weights."""
        for shape, group in self._groups.items():
            slopes = torch.stack([weight.grad.flatten(1) for weight in group if weight.grad is not None])
            speed = self._speeds[shape]
            speed.lerp_(slopes, 1 - self._momentum)
            moves = orthogonal(slopes.lerp(speed, self._momentum)) * max(1.0, shape[0] / shape[1]) ** 0.5
            for weight, move in zip(group, moves, strict=True):
                weight.mul_(1 - self._rate * self._decay)
                weight.sub_((self._rate * move).view_as(weight))
