"""A model writes down what is in the pictures, for readers who cannot see."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import InputError, heading, param
from eyetest.jobs.opening import AnyPath, Bench, Models, model_entries, observer, open_bench
from eyetest.jobs.run import warn_of
from eyetest.prompts.building import description_prompt
from eyetest.records import Item, Lineage, ModelEntry
from eyetest.records.recipe import BENCHMARK, RUN
from eyetest.running import Limits, Progress
from eyetest.running.session import Questions
from eyetest.store.urls import local_path
from eyetest.wording import counted


def ask(
    bench: Path,
    benchmark: Benchmark,
    describer: Mapping[str, ModelEntry],
    to: Path,
    *,
    again: bool = False,
    retry_failed: bool = False,
    concurrency: int = 64,
) -> tuple[dict[str, str], int, Progress]:
    """What a describer wrote, of how many items, and how it ended. It sees pictures and no question to answer."""

    def wanted() -> Iterator[Item]:
        return (item for item in benchmark if item.images and (again or not item.description))

    if not any(item.images for item in benchmark):
        raise InputError(f"{bench}: no item has a picture")
    ids = [item.id for item in wanted()]
    if not ids:
        mend = param("again", True)
        raise InputError(f"{bench}: every item that has a picture has a description already ({mend})")
    limits = Limits(concurrency=concurrency)
    questions = Questions(to / RUN, benchmark, dict(describer), limits, retry_failed=retry_failed)
    said, progress = questions.ask(
        next(iter(describer)),
        lambda: ((item, description_prompt(item)) for item in wanted()),
        "describe",
        observer().watch,
    )
    texts = {
        item: (response.text or "").strip()
        for item, response in zip(ids, said, strict=True)
        if response is not None and response.outcome in ("answered", "truncated") and (response.text or "").strip()
    }
    return texts, len(ids), progress


def write_described(benchmark: Benchmark, describer: str, texts: Mapping[str, str], to: Path) -> Path:
    """The benchmark with its descriptions; gives its folder."""
    old = benchmark.manifest
    step = Lineage(step="describe", source=f"{old.name} {old.version}", note=f"described by {describer}")
    manifest = msgspec.structs.replace(old, lineage=(*old.lineage, step))
    with BenchmarkWriter(to / BENCHMARK, manifest, overwrite=True, gold_required=False) as writer:
        for item in benchmark:
            text = texts.get(item.id, item.description)
            writer.adopt(msgspec.structs.replace(item, description=text), benchmark)
    return to / BENCHMARK


def describe(
    bench: Bench,
    model: Models,
    *,
    to: AnyPath,
    again: bool = False,
    retry_failed: bool = False,
    concurrency: int = 64,
) -> Benchmark:
    """Have a model describe every picture once; the sight ``caption`` then asks about the words instead.

    The describer sees the pictures, not the question, so that it cannot answer it. Call it again to go on; with
    ``again`` also items that have a description already.

    >>> described = et.describe("world/benchmark", "scripted:right=1", to="described")
    >>> all(item.description for item in described)
    True
    """
    entries = model_entries(model)
    if len(entries) != 1:
        raise InputError(f"{heading('model')}: found {len(entries)}, expected one describer")
    benchmark, folder = open_bench(bench), local_path(to)
    texts, asked, progress = ask(
        benchmark.path, benchmark, entries, folder, again=again, retry_failed=retry_failed, concurrency=concurrency
    )
    warn_of(progress)
    if missing := asked - len(texts):
        observer().note(f"{counted(missing, 'item')} without a description: the call failed or was refused")
    return Benchmark(write_described(benchmark, next(iter(entries)), texts, folder))
