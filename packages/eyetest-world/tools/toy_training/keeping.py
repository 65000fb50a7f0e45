"""What was learnt so far, in a folder, so that an interrupted course goes on from there."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

Weights = dict[str, Tensor]


class Kept:
    """Weights at the ends of the phases, and how far each phase came."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.bases: dict[str, Weights] = self._load("bases")
        trunks = self._load("trunks")
        self.step: int = trunks.pop("step", 0)
        self.trunks: dict[str, Weights] = trunks
        self.letters: dict[str, Weights] = {}
        """Trunks as they were at a step, by ``SIZE/STEP``."""
        for path in sorted(folder.glob("letters-*.pt")):
            self.letters |= self._load(path.stem)

    def keep_bases(self) -> None:
        """The language models are done."""
        self._save("bases", self.bases)

    def keep_trunks(self) -> None:
        """The trunks as far as they came, and the letters on the way."""
        self._save("trunks", {"step": self.step, **self.trunks})
        for step in sorted({name.partition("/")[2] for name in self.letters}):
            at_step = {name: one for name, one in self.letters.items() if name.endswith(f"/{step}")}
            self._save(f"letters-{step}", at_step)

    def keep_branches(self, size: str, models: dict[str, Weights]) -> None:
        """The vision models of a size are done."""
        self._save(f"lvlms-{size}", models)

    def note_done(self, base: int, branch: int) -> None:
        """How many steps there were; the cards tell from it what a model has read and seen."""
        done = {"base": base, "trunk": self.step, "branch": branch}
        (self._folder / "done.json").write_text(json.dumps(done), encoding="utf-8")

    def _load(self, name: str) -> dict[str, Any]:
        path = self._folder / f"{name}.pt"
        tensors = torch.load(path, weights_only=True) if path.exists() else {}
        return {key: _in(one, torch.float32) for key, one in tensors.items()}

    def _save(self, name: str, kept: dict[str, Any]) -> None:
        torch.save({key: _in(one, torch.float16) for key, one in kept.items()}, self._folder / f"{name}.pt")


def weights_of(network: nn.Module) -> Weights:
    """A copy of a network's weights, off the device."""
    return {name: weight.detach().cpu().clone() for name, weight in network.state_dict().items()}


def _in(one: Weights | int, kind: torch.dtype) -> Weights | int:
    """Weights in another precision; counts stay as they are."""
    if isinstance(one, int):
        return one
    return {name: weight.to(kind) if weight.is_floating_point() else weight for name, weight in one.items()}
