"""A model writes down what is in the pictures, for readers who cannot see."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import InputError, param
from eyetest.jobs.opening import SILENT, Observer
from eyetest.prompts.building import description_prompt
from eyetest.records import Item, Lineage, ModelEntry
from eyetest.records.recipe import BENCHMARK, RUN
from eyetest.running import Limits, Progress
from eyetest.running.questions import Questions


def ask(
    bench: Path,
    benchmark: Benchmark,
    describer: Mapping[str, ModelEntry],
    to: Path,
    *,
    again: bool = False,
    retry_failed: bool = False,
    concurrency: int = 64,
    observer: Observer = SILENT,
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
        observer.watch,
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
