"""One student learns: batches go in, weights change. On a GPU a step is recorded once and replayed."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from eyetest_world.toy_models.network import PAD
from torch import Tensor
from torch.nn import functional

from toy_training.batches import Rows
from toy_training.muon import Muon
from toy_training.network import Network

_SEEN_REPLY, _READ_REPLY = 48, 24
"""So many tokens of a reply are learnt."""
_ADAM, _MUON, _CLIP = 1.0, 5.0, 1.0
"""How far each of the two optimizers goes at a rate."""
_MOMENTA = (0.9, 0.95)
_WARM_UP, _COOL_DOWN = 100, 0.3


class Lesson(NamedTuple):
    """What all students learn from in one step."""

    read: Rows
    long: Rows
    seen: Rows | None


class Batch:
    """Room for tokens, the lines they stand in, where replies begin and, for some, images.

    A recorded step reads from where it was recorded, so the room stays and what is in it changes.
    """

    def __init__(self, count: int, length: int, device: torch.device, side: int = 0) -> None:
        self.tokens = torch.zeros(count, length, device=device, dtype=torch.int64)
        self.lines = torch.zeros(count, length, device=device, dtype=torch.int64)
        self.starts = torch.ones(count, device=device, dtype=torch.int64)
        self.images = torch.zeros(count, 3, side, side, device=device, dtype=torch.uint8) if side else None

    def fill(self, rows: Rows) -> None:
        """Take rows over, from the first on; those after them stay."""
        count = len(rows[0])
        self.tokens[:count], self.lines[:count], self.starts[:count] = rows[:3]
        if self.images is not None:
            self.images[:count] = rows[3]


def reply_loss(network: Network, batch: Batch, reply: int) -> Tensor:
    """How surprising the replies are; long ones do not outweigh short ones by all their length."""
    tokens, length = batch.tokens, batch.tokens.shape[1]
    thoughts = network.thoughts(tokens[:, :-1], batch.lines[:, :-1], batch.images)
    places = batch.starts[:, None] - 1 + torch.arange(reply, device=tokens.device)
    inside = places < length - 1
    places = places.clamp(max=length - 2)
    said = thoughts.gather(1, places[:, :, None].expand(-1, -1, thoughts.shape[-1]))
    targets = tokens.gather(1, places + 1)
    counts = inside & (targets != PAD)
    logits = network.mind.speak(said).float()
    surprise = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view_as(targets)
    rows = (surprise * counts).sum(1) / counts.sum(1).clamp(min=1).sqrt()
    return rows.mean()


class Student:
    """A network, its optimizers, and the batches it learns from next."""

    def __init__(self, network: Network, read: Batch, long: Batch, seen: Batch | None = None) -> None:
        self.device = read.tokens.device
        self.network, self.read, self.long, self.seen = network.to(self.device), read, long, seen
        cuda = self.device.type == "cuda"
        self._adam_rate = torch.zeros((), device=self.device)
        self._muon_rate = torch.zeros((), device=self.device)
        named = dict(network.named_parameters())
        matrices = {
            name
            for name, weight in named.items()
            if weight.dim() > 1 and not name.endswith(("words.weight", "places"))
        }
        self._muon = Muon([named[name] for name in sorted(matrices)], self._muon_rate)
        rest = [weight for name, weight in named.items() if name not in matrices]
        self._adam = torch.optim.AdamW(
            rest, lr=self._adam_rate, betas=_MOMENTA, weight_decay=0.0, capturable=cuda, fused=cuda
        )
        self._loss = torch.zeros(2, device=self.device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._stream = torch.cuda.Stream() if cuda else None

    @property
    def losses(self) -> list[float]:
        """How surprising replies were in the last step: read, and seen."""
        return [round(one, 3) for one in self._loss.tolist()]

    def take(self, lesson: Lesson) -> None:
        """Lay ready what to learn from."""
        self.read.fill(lesson.read)
        self.long.fill(lesson.long)
        if self.seen is not None and lesson.seen is not None:
            self.seen.fill(lesson.seen)

    def step(self, rate: float) -> None:
        """Learn from the batches that lie ready."""
        if self._stream is None:
            self._set(rate)
            self._learn()
            return
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            if self._graph is None:
                self._graph = self._recorded()
            self._set(rate)
            self._graph.replay()

    def wait(self) -> None:
        """Until this step is done, before its batches are filled anew."""
        if self._stream is not None:
            torch.cuda.current_stream().wait_stream(self._stream)

    def _set(self, rate: float) -> None:
        self._adam_rate.fill_(rate * _ADAM)
        self._muon_rate.fill_(rate * _MUON)

    def _recorded(self) -> torch.cuda.CUDAGraph:
        """A step as a graph, after a few at rate 0 in which everything is allocated.

        Launching a small network's hundreds of kernels one by one takes longer than running them.
        """
        for _ in range(3):
            self._learn()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._stream):
            self._learn()
        return graph

    def _learn(self) -> None:
        for weight in self.network.parameters():
            weight.grad = None
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            read = reply_loss(self.network, self.read, _READ_REPLY)
            long = reply_loss(self.network, self.long, _READ_REPLY)
            seen = read if self.seen is None else reply_loss(self.network, self.seen, _SEEN_REPLY)
        counts = [0 if batch is None else len(batch.tokens) for batch in (self.read, self.long, self.seen)]
        total = sum(loss * count for loss, count in zip((read, long, seen), counts, strict=True)) / sum(counts)
        total.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), _CLIP, foreach=True)
        self._adam.step()
        self._muon.step()
        self._loss.copy_(torch.stack((read.detach(), seen.detach())))


def learn_together(students: Iterable[Student], rate: float) -> None:
    """A step of everybody, at the same time where there is a GPU."""
    students = list(students)
    for student in students:
        student.step(rate)
    for student in students:
        student.wait()


def warm_up(step: int) -> float:
    """Up to the full rate at the beginning."""
    return min(1.0, (step + 1) / _WARM_UP)


def schedule(step: int, steps: int) -> float:
    """Up at once, then level, then down to nothing."""
    return min(warm_up(step), (steps - step) / (steps * _COOL_DOWN))
