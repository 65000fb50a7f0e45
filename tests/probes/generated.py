"""Benchmarks without images, clean by construction, and the same with flaws planted on purpose."""

import atexit
import io
import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import msgspec
from PIL import Image

from eyetest.benchmarks import ImageStore
from eyetest.probes import Subject
from eyetest.records import Choice, ImageRef, Item, Manifest

STORE = ImageStore(Path(tempfile.mkdtemp(prefix="eyetest-tests-")))
atexit.register(shutil.rmtree, STORE.root, ignore_errors=True)


def image_file(seed: int) -> ImageRef:
    """A small image of noise, in the store that generated benchmarks share."""
    data = io.BytesIO()
    Image.frombytes("RGB", (40, 30), random.Random(seed).randbytes(3600)).save(data, "PNG")
    return STORE.put(data.getvalue())


class InMemory:
    """As much of a benchmark as probes look at."""

    def __init__(self, items: Iterable[Item], name: str = "generated") -> None:
        self._items = list(items)
        self.images = STORE
        self.manifest = Manifest(name=name)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)


@cache
def vocabulary() -> tuple[str, ...]:
    rng = random.Random(1)
    syllables = ["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "za", "chi", "dor", "fen", "gal", "hum"]
    return tuple(dict.fromkeys("".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(4_000)))


def clean(count: int, seed: int, options: int = 4) -> list[Item]:
    """Items whose golds nothing tells: every text is drawn before the gold is."""
    rng = random.Random(seed)
    items = []
    for number in range(count):
        if rng.random() < 0.3:
            texts = [str(n) for n in rng.sample(range(1, 500), options)]
        else:
            texts = [" ".join(rng.sample(vocabulary(), rng.randint(1, 4))) for _ in range(options)]
        gold = rng.randrange(options)
        question = " ".join(rng.choices(vocabulary(), k=12)) + "?"
        choices = tuple(Choice(text, i == gold) for i, text in enumerate(texts))
        items.append(Item(id=str(number), question=question, choices=choices))
    return items


def flawless(kind: str, count: int, seed: int) -> list[Item]:
    """Items of one kind (``2``, ``4``, ``10`` options, ``yes-no``, ``numbers``) whose golds nothing tells."""
    if kind.isdecimal():
        made = clean(count, seed, int(kind))
        return [item for item in made if len({choice.text for choice in item.choices}) == len(item.choices)]
    rng = random.Random(f"{kind}/{seed}")
    items = []
    for item in clean(count, seed, 4):
        texts = ["yes", "no"] if kind == "yes-no" else [f"{n / 10:g}" for n in rng.sample(range(1, 5_000), 4)]
        gold = rng.randrange(len(texts))
        choices = tuple(Choice(text, i == gold) for i, text in enumerate(texts))
        items.append(msgspec.structs.replace(item, choices=choices))
    return items


def subject(items: Iterable[Item], seed: int = 0) -> Subject:
    return Subject(InMemory(items), seed=seed)  # type: ignore[arg-type]


def with_gold_first(item: Item, position: int) -> Item:
    choices = [choice for choice in item.choices if not choice.correct]
    choices.insert(position, item.choices[item.gold[0]])
    return msgspec.structs.replace(item, choices=tuple(choices))


def plant_position(items: list[Item], share: float, seed: int) -> list[Item]:
    """Golds at C in this share of items, and elsewhere in the others."""
    rng = random.Random(seed)
    others = [0, 1, 3]
    return [with_gold_first(item, 2 if rng.random() < share else rng.choice(others)) for item in items]


def plant_longest(items: list[Item], share: float, seed: int) -> list[Item]:
    """Golds lengthened until they are the longest, in this share of items."""

    def lengthened(item: Item) -> Item:
        longest = max(len(choice.text) for choice in item.choices)
        text = f"{item.choices[item.gold[0]].text} {'ba' * longest}"[: longest + 1]
        choices = tuple(Choice(text, True) if choice.correct else choice for choice in item.choices)
        return msgspec.structs.replace(item, choices=choices)

    rng = random.Random(seed)
    return [lengthened(item) if rng.random() < share else item for item in items]


def plant_named(items: list[Item], share: float, seed: int) -> tuple[list[Item], set[str]]:
    """Golds named in the question, in this share of items; and which."""
    rng = random.Random(seed)
    made, planted = [], set()
    for item in items:
        gold = item.choices[item.gold[0]].text
        if rng.random() < share and not gold[0].isdigit():
            words = item.question.removesuffix("?").split()
            words.insert(rng.randrange(len(words)), gold)
            made.append(msgspec.structs.replace(item, question=" ".join(words) + "?"))
            planted.add(item.id)
        else:
            made.append(item)
    return made, planted


def plant_edges(items: list[Item], share: float, seed: int) -> list[Item]:
    """Golds at the smallest or the largest number in this share of items, and anywhere in the others."""
    rng = random.Random(seed)
    made = []
    for item in items:
        texts = [choice.text for choice in item.choices]
        edge = rng.choice([min(texts, key=float), max(texts, key=float)])
        gold = edge if rng.random() < share else rng.choice(texts)
        made.append(msgspec.structs.replace(item, choices=tuple(Choice(text, text == gold) for text in texts)))
    return made
