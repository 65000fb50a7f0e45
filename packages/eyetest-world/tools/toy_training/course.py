"""Everything that students share: what they learn from, the dice, and the clock."""

import time
from types import TracebackType
from typing import NamedTuple

import torch
from eyetest_world.toy_models.network import Tokens

from toy_training.batches import Gallery, Leaks, Library, mixed_styles
from toy_training.keeping import Kept, Weights
from toy_training.learning import Batch, Lesson, Student
from toy_training.lines import LONG, SHORT
from toy_training.network import Network
from toy_training.plan import Plan
from toy_training.pool import SIDE, Pool
from toy_training.testing import LETTER, WORDS, read_accuracy, seen_accuracy
from toy_training.texts import write_texts

_DESCRIBED, _OWN_STYLE = 0.2, 0.5
_FIRST_SHARE = 10
"""Learning to see begins when one scene in so many is drawn."""


class Given(NamedTuple):
    """How to take a course: with how many processes beside it, and for how long at most."""

    workers: int = 2
    seconds: float = float("inf")


class Course:
    """A course while it lasts.

    Processes are forked before the device is touched: a fork of a process that holds a GPU can do nothing.
    """

    def __init__(self, plan: Plan, words: list[str], kept: Kept, given: Given) -> None:
        self.plan, self.kept, self._tokens = plan, kept, Tokens(words)
        self._begun, self._seconds = time.monotonic(), given.seconds
        self._pool = Pool(plan.scenes, given.workers)
        self._pool.start(words, plan.data_seed)
        texts = write_texts(plan, self._tokens, given.workers)
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._read, self._long = Library(texts.short, self._device), Library(texts.long, self._device)
        self._tests = {name: Library(lines, self._device) for name, lines in texts.tests.items()}
        self.leaks = {group: Leaks(one, self._device) for group, one in texts.leaks.items()}
        self.say("texts", len(self._read), len(self._long), "scenes", self._pool.ready)
        self.dice = torch.Generator(self._device).manual_seed(plan.dice_seed)
        torch.manual_seed(plan.seed)
        self._gallery: Gallery | None = None

    def __enter__(self) -> "Course":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._pool.__exit__(kind, error, at)

    def say(self, *words: object) -> None:
        """A line of the log."""
        print(f"{time.monotonic() - self._begun:7.1f}", *words, flush=True)

    @property
    def out_of_time(self) -> bool:
        """Whether the time that was given is over."""
        return time.monotonic() - self._begun > self._seconds

    @property
    def gallery(self) -> Gallery:
        """What there is to see so far."""
        if self._gallery is None:
            self._pool.wait_for(max(self.plan.held_out * 4, self.plan.scenes // _FIRST_SHARE))
            self._gallery = Gallery(self._pool, self.plan.held_out, self._device)
        self._gallery.refresh()
        return self._gallery

    def student(self, size: str, weights: Weights | None, *, eyes: bool) -> Student:
        """A network that is ready to learn; eyes that its weights do not know are fresh."""
        counts = self.plan.sighted_batches if eyes else self.plan.batches
        network = Network(self.plan.sizes[size].size(eyes=eyes), self._tokens.size)
        if weights is not None:
            network.load_state_dict(weights, strict=False)
        return Student(
            network,
            Batch(counts["read"], SHORT, self._device),
            Batch(counts["long"], LONG, self._device),
            Batch(counts["seen"], SHORT, self._device, SIDE) if eyes else None,
        )

    def lesson(self, counts: dict[str, int], gallery: Gallery | None = None) -> Lesson:
        """So many texts and, where there is a gallery, scenes at random."""
        seen = None
        if gallery is not None:
            seen = gallery.draw(counts["seen"], self.styles(counts["seen"]), _DESCRIBED, self.dice)
        read = self._read.draw(counts["read"], self.styles(counts["read"]), self.dice)
        long = self._long.draw(counts["long"], self.styles(counts["long"]), self.dice)
        return Lesson(read, long, seen)

    def styles(self, count: int) -> torch.Tensor:
        """Styles at random; letters are asked for most, so half of all are letters."""
        return mixed_styles(count, LETTER, _OWN_STYLE, self.dice)

    def told(self, network: Network) -> str:
        """How a network does on held-out questions."""
        texts = {name: read_accuracy(network, library) for name, library in self._tests.items()}
        if network.eyes is None:
            return str(texts)
        letter, _ = seen_accuracy(network, self.gallery)
        words, _ = seen_accuracy(network, self.gallery, WORDS)
        return f"seen {letter} in words {words} {texts}"
