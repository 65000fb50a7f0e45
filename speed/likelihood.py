"""Likelihoods of choices: `eyetest run` against one forward pass for each choice and template.

    python speed/likelihood.py [--real] [--items 2000] [--to DIR]

A checkpoint of LLaVA's architecture with random weights is made first: of a real size (7 billion weights, 576 tokens
an image; wants a large GPU and 15 GB of disk) with ``--real``, otherwise a tiny one for a processor. Items have four
choices of some four tokens and uneven questions; one in eight shows two images. What one pass for each choice costs
is measured on some of the items, with pixels that lie ready on the device; `eyetest run` is measured as it is, with
its journal, its images on disk and everything else.
"""

import argparse
import contextlib
import io
import random
import sys
import tempfile
import time
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import eyetest as et
from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.models.base import Images, Surroundings
from eyetest.models.checkpoint import BACKEND
from eyetest.models.checkpoint.inference import PromptGroup, Weighing
from eyetest.prompts import build
from eyetest.records import Choice, Condition, Item, Manifest, ModelEntry
from tests.models.checkpoint.tiny import make_llava

TEMPLATES = 5
MARGIN = 0.05
WORDS = [
    "red",
    "blue",
    "green",
    "large",
    "small",
    "cube",
    "ball",
    "cone",
    "bird",
    "image",
    "colour",
    "left",
    "right",
    "things",
    "are",
    "there",
    "the",
    "of",
    "a",
]


def make_benchmark(to: Path, items: int, seed: int = 0) -> Benchmark:
    """Questions of uneven length about images of noise."""
    rng = random.Random(seed)
    with BenchmarkWriter(to, Manifest(name="likelihood", licence="none")) as writer:
        for number in range(items):
            count = 2 if number % 8 == 7 else 1
            images = tuple(writer.images.put(image_file(rng)) for _ in range(count))
            question = " ".join(rng.choices(WORDS, k=max(6, int(rng.lognormvariate(3.2, 0.5)))))
            texts: set[str] = set()
            while len(texts) < 4:
                texts.add(" ".join(rng.choices(WORDS, k=rng.randint(1, 6))))
            choices = tuple(Choice(text, at == 0) for at, text in enumerate(sorted(texts)))
            writer.add(Item(id=f"q{number}", question=question, images=images, choices=choices))
    return Benchmark(to)


def image_file(rng: random.Random) -> bytes:
    """A photograph-sized image."""
    width, height = rng.choice(((640, 480), (480, 640), (500, 375), (336, 336)))
    small = Image.frombytes("RGB", (width // 8, height // 8), rng.randbytes(3 * (width // 8) * (height // 8)))
    file = io.BytesIO()
    small.resize((width, height)).save(file, "JPEG", quality=90)
    return file.getvalue()


def groups_of(bench: Benchmark, model: Any, templates: int, count: int) -> list[PromptGroup]:
    """The first items as the model is shown them."""
    conditions = [Condition(method="likelihood", template=template) for template in range(templates)]
    return [
        PromptGroup(model._renderer.render([build(item, one) for one in conditions]))
        for item in bench.take(range(count))
    ]


def timed(work: Any) -> tuple[float, Any]:
    """Seconds, with the device waited for."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    begun = time.perf_counter()
    result = work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - begun, result


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--items", type=int, default=0)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--to", type=Path)
    said = parser.parse_args()
    items, sample = said.items or (2000 if said.real else 600), said.sample or (64 if said.real else 12)
    with contextlib.ExitStack() as stack:
        folder = said.to or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        seconds, _ = timed(lambda: make_llava(folder / "llava", real=said.real))
        bench = make_benchmark(folder / "bench", items)
        print(f"checkpoint made in {seconds:.0f} s; {items:,} items", flush=True)
        spec = f"transformers:{folder / 'llava'}"
        surroundings = Surroundings(images=Images(bench.images))
        model: Any = BACKEND.make("checkpoint", ModelEntry(spec=spec), surroundings)
        model._load()
        print(f"way: {model.way}, {model._network.dtype}", flush=True)
        naive = {templates: compare(bench, model, templates, sample) for templates in (1, TEMPLATES)}
        work = {one: work_of(model, groups_of(bench, model, one, min(64, items))) / min(64, items) for one in naive}
        model._unload()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        for templates, slow in naive.items():
            run(bench, spec, folder, work[templates], slow, templates)


def compare(bench: Benchmark, model: Any, templates: int, sample: int) -> float:
    """Without sharing anything, by itself: items a second. And whether both ways choose alike."""
    groups = groups_of(bench, model, templates, sample)
    weighing: Weighing = model._weigh.__self__
    few = groups[: max(4, sample // 8)]
    weighing.one_by_one(groups[:1])(), in_rows(model, groups[:1]), in_trees(weighing, groups)
    single, apart = timed(partial(one_by_one, weighing, few))
    rows, _ = timed(lambda: in_rows(model, groups))
    trees, together = timed(lambda: in_trees(weighing, groups))
    clear = alike = 0
    largest = 0.0
    for one, other in zip(apart, together, strict=False):
        for first in range(0, 4 * templates, 4):
            left, right = ([float(part.sum()) for part in ways[first : first + 4]] for ways in (one, other))
            largest = max(largest, *(abs(a - b) for a, b in zip(left, right, strict=True)))
            if sorted(left)[-1] - sorted(left)[-2] > MARGIN:
                clear += 1
                alike += left.index(max(left)) == right.index(max(right))
    slow = max(len(few) / single, sample / rows)
    rates = (len(few) / single, sample / rows, sample / trees)
    told = "items/s: a pass for each choice {:.2f}, in batches of an item {:.2f}, in trees {:.2f}".format(*rates)
    work = f"{rates[2] / slow:.1f} ×, {work_of(model, groups) / trees:.0f} TFLOP/s"
    same = f"same choice {alike} of {clear} with a margin over {MARGIN}, sums at most {largest:.2g} apart"
    print(f"{templates} template(s) on the device alone, {told} ({work}); {same}", flush=True)
    return slow


def one_by_one(weighing: Weighing, groups: list[PromptGroup]) -> list[Any]:
    """A pass for each choice and template."""
    weights: list[Any] = weighing.one_by_one(groups)()
    return weights


def in_trees(weighing: Weighing, groups: list[PromptGroup], most: int = 16) -> list[Any]:
    """Our way, the groups in batches of equal shapes, sorted by size."""
    order = sorted(range(len(groups)), key=lambda at: (groups[at].first.shapes, groups[at].size))
    pending: list[Any] = []
    for _, alike in groupby(order, key=lambda at: groups[at].first.shapes):
        members = list(alike)
        for start in range(0, len(members), most):
            part = members[start : start + most]
            pending.append((part, weighing.in_trees([groups[at] for at in part])))
    together = {at: one for part, wait in pending for at, one in zip(part, wait(), strict=True)}
    return [together[at] for at in range(len(groups))]


@torch.inference_mode()  # type: ignore[untyped-decorator]
def in_rows(model: Any, groups: list[PromptGroup]) -> None:
    """What everybody does, as fast as it can be done: choices and templates of an item are the rows of a batch."""
    network = model._network
    device, dtype = network.device, network.dtype
    for group in groups:
        sequences = [one.tokens for one in group.continuations]
        longest = max(map(len, sequences))
        tokens = torch.tensor([one + [0] * (longest - len(one)) for one in sequences], device=device)
        mask = torch.tensor([[1] * len(one) + [0] * (longest - len(one)) for one in sequences], device=device)
        pixels = group.first.vision["pixel_values"].to(device, dtype)
        pixels = pixels.repeat(len(sequences), *[1] * (pixels.dim() - 1))
        keep = max(len(one.tokens) - one.first for one in group.continuations) + 1
        logits = network(
            input_ids=tokens, attention_mask=mask, pixel_values=pixels, use_cache=False, logits_to_keep=keep + 24
        ).logits
        logits.float().log_softmax(-1).amax(-1).sum().item()


def work_of(model: Any, groups: list[PromptGroup]) -> float:
    """How much arithmetic the tree of each group takes, in 10¹² operations: what is padded does not count."""
    text, vision = model._network.config.text_config, model._network.config.vision_config
    heads = 2 + 2 * text.num_key_value_heads / text.num_attention_heads
    weights = (heads * text.hidden_size + 3 * text.intermediate_size) * text.hidden_size * text.num_hidden_layers
    eyes = (4 * vision.hidden_size + 2 * vision.intermediate_size) * vision.hidden_size * vision.num_hidden_layers
    patches = (vision.image_size // vision.patch_size) ** 2 + 1
    total = 0.0
    for group in groups:
        length = group.size
        total += 2 * weights * length + 2 * length**2 * text.hidden_size * text.num_hidden_layers
        total += 2 * eyes * patches * len(group.first.vision["pixel_values"])
    return total / 1e12


def run(bench: Benchmark, spec: str, folder: Path, work: float, slow: float, templates: int) -> None:
    """The whole of `eyetest run`."""
    wall, cpu = time.perf_counter(), time.process_time()
    conditions = [Condition(method="likelihood", template=template) for template in range(templates)]
    run = et.run(bench, models={"checkpoint": spec}, condition=conditions, to=folder / f"run{templates}")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    times = sorted(run.responses().column("time").to_pylist())
    later = [at for at in times if at > times[0] + 0.5]
    rate = len(later) / templates / (times[-1] - times[0]) if later else 0.0
    whole = f"{len(bench):,} items in {wall:.1f} s with loading (CPU {cpu:.1f} s)"
    pace = f"{rate:.2f} items/s, {rate * work:.0f} TFLOP/s, {rate / slow:.1f} × without sharing"
    print(f"{templates} template(s), eyetest run: {whole}; from the first answer to the last {pace}", flush=True)


if __name__ == "__main__":
    main()
