"""Look at a large run: seconds to the first view, milliseconds of each filter and sort, memory.

    python speed/open.py [--items 20000] [--models 30] [--keep DIR]

Beside each filter stands the same question put to the run's own Parquet files by a plain Polars scan, which is what
people write in a notebook: which items, and each model's mean score on them. The run is made up: models of different
strength with and without the image, short and long replies, refusals. Scoring is done before the clock starts;
speed/score.py measures that.
"""

import argparse
import io
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
from PIL import Image

from eyetest.benchmarks import BenchmarkWriter
from eyetest.records import Choice, Item, Manifest

MODALITIES = {"image": 1.0, "no-image": -0.6}
"""What each modality adds to a model's ability."""
TASKS = 18
ROUNDS = 5
WORDS = np.array(["lantern", "anchor", "compass", "kettle", "violin", "tractor", "pelican", "orchid", "bridge"])
COMMAND = [sys.executable, "-c", "from eyetest.cli import main; main()"]
QUERIES = (
    "",
    "sort=-difficulty",
    "sort=question",
    "tag.task=task+03",
    "answer=wrong:model-07@image",
    "answer=refused:model-12",
    "answer=right:model-29@image&answer=wrong:model-03@image&sort=-blind_right",
    "text=kettle+%22tractor+stands%22",
    "text=pelican+12345",
    "text=sorry&answer=wrong:model-01@no-image",
)


def write_benchmark(path: Path, items: int) -> None:
    """Items of four options; every image is shared by two of them."""
    with BenchmarkWriter(path, Manifest(name="large")) as writer:
        for number in range(items):
            if number % 2 == 0:
                file = io.BytesIO()
                Image.new("RGB", (4, 4), (number >> 16, (number >> 8) % 256, number % 256)).save(file, "PNG")
                image = writer.images.put(file.getvalue())
            things = [WORDS[(number + place) % len(WORDS)] for place in range(4)]
            choices = tuple(Choice(f"the {thing} {number}", thing == things[number % 4]) for thing in things)
            tags = {"task": f"task {number % TASKS:02d}", "source": f"source {number % 5}"}
            question = f"Which of the things in image {number} stands nearest to the {things[0]}?"
            writer.add(Item(id=str(number), question=question, images=(image,), choices=choices, tags=tags))


def answers(items: int, models: int) -> pl.DataFrame:
    """What models say: a letter, or some sentences that end in one; now and then they decline."""
    draw = np.random.default_rng(0)
    hard, gold = draw.normal(0, 1, items), np.arange(items) % 4
    parts = []
    for index in range(models):
        for modality, helps in MODALITIES.items():
            right = draw.random(items) < 0.25 + 0.75 / (1 + np.exp(hard - index / models * 2 + 1 - helps))
            letters = np.array(list("ABCD"))[np.where(right, gold, (gold + draw.integers(1, 4, items)) % 4)]
            one, other = WORDS[draw.integers(0, len(WORDS), items)], WORDS[draw.integers(0, len(WORDS), items)]
            names = np.arange(items).astype(str)
            frame = pl.DataFrame({"item": names, "letter": letters, "one": one, "other": other})
            long = pl.format(
                "The {} stands to the left of the {}, and the {} is far behind both of them, so what is asked for in"
                " image {} must be the one that the third option does not name.\nAnswer: {}",
                *("one", "other", "one", "item", "letter"),
            )
            lot = pl.Series(draw.random(items))
            text = pl.when(lot < 0.02).then(pl.lit("I'm sorry, but I can't help with that.")).when(lot < 0.5)
            said = text.then("letter").otherwise(long).alias("text")
            parts.append(frame.select("item", said, model=pl.lit(f"model-{index:02d}"), modality=pl.lit(modality)))
    return pl.concat(parts)


def build(folder: Path, items: int, models: int) -> None:
    """The benchmark and the run, scored."""
    write_benchmark(folder / "bench", items)
    answers(items, models).write_parquet(folder / "answers.parquet")
    for words in (
        ("import", f"{folder}/answers.parquet", "--to", f"{folder}/run", "--bench", f"{folder}/bench"),
        ("score", f"{folder}/run"),
    ):
        subprocess.run([*COMMAND, *words], check=True, stdout=subprocess.DEVNULL)
    (folder / "answers.parquet").unlink()


OPENING = """
import json, sys, time
def clock():
    return time.perf_counter(), time.process_time()
def since(began):
    return [now - then for now, then in zip(clock(), began)]
began = clock()
from pathlib import Path
from eyetest.pages.item_links import parse_query
from eyetest.studio.collection import Collection
load, began = since(began), clock()
collection = Collection([Path(sys.argv[1])])
view = collection.view(parse_query(""))
view.counts, view.accuracy, collection.rows(view, 0, 60)
first, began = since(began), clock()
collection.doubts()
doubts = since(began)
filters, stories = {}, []
for text in sys.argv[3:]:
    filters[text] = []
    for _ in range(int(sys.argv[2])):
        collection.view.cache_clear()
        collection._having.cache_clear()
        began = clock()
        view = collection.view(parse_query(text))
        view.counts, view.accuracy, collection.rows(view, 0, 60)
        filters[text].append([len(view.positions), *since(began)])
for number in range(0, len(collection), max(1, len(collection) // 10)):
    began = clock()
    collection.item(collection.items.item(number, "id"))
    stories.append(since(began))
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
print(json.dumps(dict(load=load, first=first, doubts=doubts, filters=filters, stories=stories, peak=peak)))
"""
Spent = tuple[float, float]
"""Seconds by the clock, and of all processors."""


class Opened(msgspec.Struct, frozen=True):
    """What a process of its own measured."""

    load: Spent
    first: Spent
    doubts: Spent
    filters: dict[str, list[tuple[int, float, float]]]
    stories: list[Spent]
    peak: float


def opened(run: Path) -> Opened:
    """Open a run in a new process, and ask it everything."""
    words = [sys.executable, "-c", OPENING, str(run), str(ROUNDS), *QUERIES]
    return msgspec.json.decode(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout, type=Opened)


def scanned(folder: Path) -> dict[str, tuple[int, float]]:
    """The same by scans of the Parquet files: how many items, and seconds."""
    scores = pl.scan_parquet(folder / "run/scores/eyetest.parquet")
    plan, said = pl.scan_parquet(folder / "run/plan.parquet"), pl.scan_parquet(folder / "run/responses/*.parquet")
    items = pl.scan_parquet(folder / "bench/items.parquet").with_columns(
        task=pl.col("tags").str.json_path_match("$.task"),
    )
    score, texts = pl.col("score"), pl.col("text").str.to_lowercase()
    image, blind = scores.filter(modality="image"), scores.filter(modality="no-image")
    right, each = score == 1, image.group_by("item").agg(score.mean())
    unseen = blind.group_by("item").agg(right.sum().alias("right"))
    replies = plan.select("item", "request").join(said.select("request", "text"), on="request")
    options = pl.col("choices").list.eval(pl.element().struct.field("text")).list.join("\n")
    own = items.select(item="id", text=pl.concat_str("question", options, separator="\n"))

    def having(*words: str) -> pl.LazyFrame:
        has = [texts.str.contains(word, literal=True) for word in words]
        return pl.concat([replies.select("item", "text").filter(*has), own.filter(*has)]).select("item").unique()

    every = items.select(item="id", question="question")
    refused = scores.filter(model="model-12").filter(pl.col("reading") == "refused")
    wrong_image = image.filter(~right)
    differ = image.filter(right, model="model-29").join(wrong_image.filter(model="model-03"), on="item", how="semi")
    frames = (
        every,
        every.join(each, on="item").sort("score"),
        every.sort("question"),
        items.filter(task="task 03").select(item="id"),
        wrong_image.filter(model="model-07"),
        refused.select("item").unique(),
        differ.join(unseen, on="item").sort("right", descending=True),
        having("kettle", "tractor stands"),
        having("pelican", "12345"),
        having("sorry").join(blind.filter(~right, model="model-01"), on="item", how="semi"),
    )
    took = {}
    for text, frame in zip(QUERIES, frames, strict=True):
        began = time.perf_counter()
        shown = frame.select("item").collect()
        scores.join(shown.lazy(), on="item", how="semi").group_by("model", "modality").agg(score.mean()).collect()
        took[text] = (len(shown), time.perf_counter() - began)
    return took


def main() -> None:
    """Build, open, ask, and tell both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--models", type=int, default=30)
    parser.add_argument("--keep", type=Path, help="leave everything here; a run that is there is taken as it is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "run").exists():
            build(folder, options.items, options.models)
        found, plain = opened(folder / "run"), scanned(folder)
    show(found, plain)
    print(f"made of {options.items:,} items × {options.models} models × {len(MODALITIES)} modalities")


def show(found: Opened, plain: dict[str, tuple[int, float]]) -> None:
    """One line a query: items and milliseconds, here and by a scan; then what opening took."""
    for text, rounds in found.filters.items():
        items, scan = plain[text]
        number = rounds[0][0]
        same = "" if items == number else f"  ({items:,} by the scan)"
        middle = np.median([wall for _, wall, _ in rounds])
        print(
            f"{1000 * middle:6.0f} ms {1000 * scan:6.0f} ms by a scan {number:7,} items  {text or 'everything'}{same}"
        )
    every = [spent for rounds in found.filters.values() for _, *spent in rounds]
    for what, spent in (("filters and sorts", every), ("an item's story", found.stories)):
        wall, processor = (1000 * np.quantile([one[side] for one in spent], 0.95) for side in (0, 1))
        print(f"{what}: p95 {wall:.0f} ms, {processor:.0f} ms of processors")
    parts = (("modules", found.load), ("open to first view", found.first), ("doubts of all items", found.doubts))
    print("; ".join(f"{what} {wall:.2f} s, {processor:.2f} s of processors" for what, (wall, processor) in parts))
    print(f"peak {found.peak:,.0f} MB")


if __name__ == "__main__":
    main()
