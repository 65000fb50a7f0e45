"""Scenes drawn by several processes into memory that they share, while learning goes on."""

import mmap
import multiprocessing
import time
from collections.abc import Sequence
from random import Random
from types import TracebackType

import msgspec
import numpy as np
from eyetest_world.drafting import Draft, draft, fact_kinds, render
from eyetest_world.flaws import PlannedFlaw
from eyetest_world.posing import ask, circumstance, extra, phrasings
from eyetest_world.scenes import KINDS
from eyetest_world.toy_models.network import STYLES, Tokens

from toy_training.examples import Asked, described, looked, pose
from toy_training.lines import SHORT, Array, line, short_line

SIDE = 128
VARIANTS = 3
"""Two questions about an image, and its description."""
GREY = 128
_GREY, _FACT, _TOLD, _WRITTEN = 0.03, 0.05, 0.02, 0.05
"""How many scenes are a gray image, ask for a fact, say their answer in the question or in the image."""


class Pool:
    """Room for so many scenes; worker ``w`` of ``n`` fills places w, w + n, w + 2n … and counts them."""

    def __init__(self, count: int, workers: int) -> None:
        self.count, self._workers = count - count % workers, workers
        self.images = _shared((self.count, SIDE, SIDE, 3), np.uint8)
        self.tokens = _shared((self.count, VARIANTS, len(STYLES), SHORT), np.int16)
        self.lines = _shared((self.count, VARIANTS, SHORT), np.int16)
        self.starts = _shared((self.count, VARIANTS), np.int16)
        self.kinds = _shared((self.count,), np.int16)
        """The place of a scene's kind among all; -1 where the image alone does not decide the answer."""
        self._done = _shared((workers,), np.int64)
        self._processes: list[multiprocessing.process.BaseProcess] = []

    @property
    def ready(self) -> int:
        """How many places from the first on are filled."""
        return int(self._done.min()) * self._workers

    def start(self, words: Sequence[str], seed: str) -> None:
        """Let the workers begin; they are forks, since only those see the same memory."""
        context = multiprocessing.get_context("fork")
        for worker in range(self._workers):
            self._processes.append(context.Process(target=self._fill, args=(words, seed, worker), daemon=True))
            self._processes[-1].start()

    def wait_for(self, count: int) -> None:
        """Until so many scenes are there."""
        while self.ready < min(count, self.count):
            if any(one.exitcode for one in self._processes):
                raise RuntimeError("a process that drew scenes has died")
            time.sleep(0.2)

    def __enter__(self) -> "Pool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """Nobody draws for a course that is over."""
        for one in self._processes:
            one.terminate()
            one.join()

    def _fill(self, words: Sequence[str], seed: str, worker: int) -> None:
        tokens, rng = Tokens(words), Random(f"zoo/{seed}/{worker}")
        for index in range(worker, self.count, self._workers):
            self._draw(index, tokens, rng)
            self._done[worker] += 1

    def _draw(self, index: int, tokens: Tokens, rng: Random) -> None:
        """Draw one scene and write its texts down."""
        name, lot = rng.choice(list(KINDS)), rng.random()
        kind, grey, planned = KINDS[name], lot < _GREY, None
        if lot > 1 - _FACT:
            kind = rng.choice(list(fact_kinds().values()))
        elif lot > 1 - _FACT - _TOLD:
            planned = PlannedFlaw("answer-in-question")
        elif lot > 1 - _FACT - _TOLD - _WRITTEN:
            planned = PlannedFlaw("trivially-easy")
        made = draft(kind, planned, rng.randrange(len(phrasings()[kind.name])), rng)
        modality = "gray" if grey else "image"
        asked = [short_line(_asked(one, rng, grey=grey), modality, tokens, rng) for one in (made, _again(made, rng))]
        told = None if grey or made.fact else line(described(made), tokens, SHORT)
        for variant, written in enumerate((*asked, told or asked[0])):
            self.tokens[index, variant], self.lines[index, variant], self.starts[index, variant] = written
        self.images[index] = GREY if grey else np.asarray(render(made, SIDE))
        self.kinds[index] = -1 if grey or planned or made.fact else list(KINDS).index(name)


def _shared(shape: tuple[int, ...], kind: type[np.generic]) -> Array:
    """An array that forks write into; it is gone with the last of them, whatever happens."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    return np.ndarray(shape, kind, mmap.mmap(-1, max(1, size)))


def _asked(made: Draft, rng: Random, *, grey: bool) -> Asked:
    """On a gray image nothing is to be seen: any option may be right."""
    if grey:
        return pose(made, rng.randrange(len(made.options)), rng)
    return pose(made, made.gold, rng, "" if made.fact else looked(made))


def _again(made: Draft, rng: Random) -> Draft:
    """The same question in other words and another circumstance."""
    around, phrasing = circumstance(rng), rng.randrange(len(phrasings()[made.kind]))
    question = ask(made.kind, made.words, around, phrasing)
    if "answer-in-question" in made.flaws:
        question = f"{question} {extra('tells', made.options[made.gold], around, rng)}"
    return msgspec.structs.replace(made, question=question, circumstance=around, phrasing=phrasing)
