"""Batches out of what was drawn and written, chosen on the device where the learning is done."""

import torch
from eyetest_world.toy_models.network import STYLES
from torch import Tensor

from toy_training.leaks import WrittenLeaks
from toy_training.lines import Lines
from toy_training.pool import SIDE, Pool

_CHUNK = 4096
_QUESTIONS, _DESCRIPTION = 2, 2
"""The first variants of a scene are questions; the one after them is its description."""
Rows = tuple[Tensor, ...]
"""Tokens, the lines they stand in, where replies begin and, of scenes, images."""


class Library:
    """Texts on the device."""

    def __init__(self, lines: Lines, device: torch.device) -> None:
        self._tokens, self._lines, self._starts = (torch.from_numpy(part).to(device) for part in lines)

    def __len__(self) -> int:
        return len(self._starts)

    def all(self) -> Tensor:
        """Every row."""
        return torch.arange(len(self), device=self._starts.device)

    def draw(self, count: int, styles: Tensor, dice: torch.Generator) -> Rows:
        """Some texts at random."""
        return self.take(torch.randint(len(self), (count,), device=self._starts.device, generator=dice), styles)

    def take(self, rows: Tensor, styles: Tensor) -> Rows:
        """These texts."""
        return self._tokens[rows, styles].long(), self._lines[rows].long(), self._starts[rows].long()


class Gallery:
    """Scenes on the device, as many as have been drawn so far; the first ``held_out`` are never learnt from."""

    def __init__(self, pool: Pool, held_out: int, device: torch.device) -> None:
        self._pool, self._held_out, self.ready = pool, held_out, 0
        self._images = torch.empty(pool.count, 3, SIDE, SIDE, dtype=torch.uint8, device=device)
        self._tokens, self._lines, self._starts = (
            torch.empty(part.shape, dtype=torch.int16, device=device)
            for part in (pool.tokens, pool.lines, pool.starts)
        )
        self.refresh()
        self.kinds = torch.from_numpy(pool.kinds[:held_out].astype(int)).to(device)
        """Of the scenes that are held out."""

    def refresh(self) -> None:
        """Take over what was drawn since."""
        ready, device = self._pool.ready, self._images.device
        while self.ready < ready:
            part = slice(self.ready, min(ready, self.ready + _CHUNK))
            self._images[part] = torch.from_numpy(self._pool.images[part]).to(device).permute(0, 3, 1, 2)
            self._tokens[part] = torch.from_numpy(self._pool.tokens[part]).to(device)
            self._lines[part] = torch.from_numpy(self._pool.lines[part]).to(device)
            self._starts[part] = torch.from_numpy(self._pool.starts[part]).to(device)
            self.ready = part.stop

    def draw(self, count: int, styles: Tensor, described: float, dice: torch.Generator) -> Rows:
        """Some scenes at random that are not held out; a share of them to be described, the others asked about."""
        device = self._images.device
        rows = torch.randint(self._held_out, self.ready, (count,), device=device, generator=dice)
        lots = torch.rand(count, device=device, generator=dice)
        return self.take(rows, torch.where(lots < described, _DESCRIPTION, (lots * 1e4).long() % _QUESTIONS), styles)

    def take(self, rows: Tensor, variants: Tensor, styles: Tensor) -> Rows:
        """These scenes."""
        tokens, lines = self._tokens[rows, variants, styles].long(), self._lines[rows, variants].long()
        return tokens, lines, self._starts[rows, variants].long(), self._images[rows]


class Leaks:
    """What leaked to a group, on the device."""

    def __init__(self, written: WrittenLeaks, device: torch.device) -> None:
        self.read, self._seen = Library(written.read, device), Library(written.seen, device)
        self._owners = torch.from_numpy(written.owners).to(device)
        self._images = torch.from_numpy(written.images).permute(0, 3, 1, 2).contiguous().to(device)

    def draw(self, count: int, styles: Tensor, dice: torch.Generator) -> Rows:
        """Some leaked items with their images."""
        rows = torch.randint(len(self._owners), (count,), device=self._owners.device, generator=dice)
        return (*self._seen.take(rows, styles), self._images[self._owners[rows]])


def mixed_styles(count: int, own: int, share: float, dice: torch.Generator) -> Tensor:
    """A style for each row: one's own, or any of them."""
    device = dice.device
    any_style = torch.randint(len(STYLES), (count,), device=device, generator=dice)
    return torch.where(torch.rand(count, device=device, generator=dice) < share, own, any_style)
