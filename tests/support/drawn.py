"""A small benchmark with every kind of item that eyetest holds, drawn with the scenes of the real world.

Choice and text, one image and several, images as options, hints, dialogue, two to ten options, some with a
description; the answers are certain, and the same seed gives the same pixels.
"""

from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from eyetest_world.canvas import png
from eyetest_world.drafting import draft, render
from eyetest_world.scenes import KINDS
from msgspec.structs import replace
from toy_training.captions import describe

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Lineage, Manifest, Turn

_SIZE = 320
_CANARY = "eyetest-drawn-benchmark canary 6f1c2f0e-3b1d-4f55-9c0a-5d8a0f2f7f31"
_TIMES = [f"{hour}:{minute:02}" for hour, minute in product(range(1, 13), range(0, 60, 5))]
_TASKS = {
    "counting": ("count-shapes", "How many {colour} {shapes} are there?"),
    "colour": ("colour-of", "Which colour is the {shape}?"),
    "chart": ("bars", "Which colour is the {extreme} bar?"),
    "clock": ("clock", "What time does the clock in <image 1> show?"),
    "reading": ("word", "What does the sign say?"),
    "image options": ("word", "Which image shows the word {gold}?"),
    "comparison": ("dice", "Is the sum of the dice larger in <image 1> than in <image 2>?"),
    "dialogue": ("colour-of", "Which colour was the {shape} again?"),
}
"""The kind of scene of each task, and its question."""


def draw_benchmark(to: Path, *, items: int = 48, seed: int = 0) -> Benchmark:
    """Draw a benchmark of this many items into a folder."""
    lineage = (Lineage(step="draw", note=f"{items} items", seed=seed),)
    source = "drawn by eyetest"
    manifest = Manifest(name="drawn", licence="CC0-1.0", source=source, canary=_CANARY, lineage=lineage)
    with BenchmarkWriter(to, manifest) as writer:
        for number in range(items):
            task = list(_TASKS)[number % len(_TASKS)]
            fields, files = _drawn(task, Random(f"{seed}/{number}"))
            images = tuple(map(writer.images.put, files))
            writer.add(Item(id=str(number), images=images, tags={"task": task, "split": "test"}, **fields))
    return Benchmark(to)


def _drawn(task: str, rng: Random) -> tuple[dict[str, Any], list[bytes]]:
    """The fields of an item, and its images."""
    kind, question = _TASKS[task]
    made = draft(KINDS[kind], None, 0, rng)
    shown, options, gold = [made], [*made.options], made.options[made.gold]
    fields: dict[str, Any] = {"question": question.format(**made.words, gold=gold)}
    if task in ("counting", "colour", "chart", "reading"):
        fields["description"] = f"A drawing of {describe(made.scene)}."
    if task == "chart":
        fields["hint"] = "The height of a bar shows its value."
    if task == "clock":
        options += rng.sample([time for time in _TIMES if time not in options], 6)
    if task == "reading":
        fields["references"], options = (gold, gold.title()), []
    if task == "image options":
        scenes = ({"texts": [word], "specks": rng.randrange(10**6)} for word in made.options)
        shown = [replace(made, scene=made.scene | scene) for scene in scenes]
        options, gold = [f"<image {place}>" for place in range(1, 5)], f"<image {made.gold + 1}>"
    if task == "comparison":
        shown.append(draft(KINDS[kind], None, 0, rng))
        one, other = (sum(each.scene["dice"]) for each in shown)
        options, gold = ["yes", "no"], "yes" if one > other else "no"
    if task == "dialogue":
        fields["history"] = (Turn("What do you see?", "Some shapes."),)
    fields["choices"] = tuple(Choice(text, text == gold) for text in options)
    return fields, [png(render(each, _SIZE)) for each in shown]
