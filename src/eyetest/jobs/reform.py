"""Any dataset's annotations become a benchmark."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, heading, param, short
from eyetest.jobs.distractors import Authors, authors_of, have_written
from eyetest.jobs.opening import AnyPath, Bench, observer, open_bench, several
from eyetest.reform.building import MISSING, Reformed, Reforming
from eyetest.reform.building import reform as build
from eyetest.reform.catalog import Dataset, load_dataset
from eyetest.reform.readers import read_annotations
from eyetest.reform.reformers import REFORMERS, Kit
from eyetest.reports.reform_page import write_reform_page
from eyetest.store import refuse_to_lose
from eyetest.store.handwritten import parse_yaml
from eyetest.store.urls import local_path
from eyetest.wording import counted


def reform_dataset(
    dataset: str | Dataset,
    annotations: AnyPath | Sequence[AnyPath],
    *,
    to: AnyPath,
    images: AnyPath | None = None,
    settings: Mapping[str, Any] | None = None,
    limit: int | None = None,
    seed: int = 0,
    page: AnyPath | None = None,
    authors: Authors | None = None,
    overwrite: bool = False,
) -> Reformed:
    """Write the benchmark that a dataset of the catalogue, or one of a YAML file, becomes."""
    described = load_dataset(dataset) if isinstance(dataset, str) else dataset
    if settings:
        described = msgspec.structs.replace(described, settings=described.settings | dict(settings))
    named: list[AnyPath] = several(annotations)
    plan = Reforming(
        dataset=described,
        annotations=tuple(map(Path, named)),
        images=local_path(images) if images is not None else None,
        to=local_path(to),
        limit=limit,
        seed=seed,
        overwrite=overwrite,
    )
    title = f"reforming {described.name}"
    if page is not None:
        refuse_to_lose(local_path(page), overwrite=overwrite, ours=None)
    kit = Kit(seed)
    if authors is not None:
        have_written(plan, authors, kit)
    with observer().steps(title) as step:
        done = build(plan, kit, progress=lambda items: step(f"{title}: {items:,} items", 0.0))
    if page is not None:
        write_page([done.benchmark], page, seed=seed, overwrite=overwrite)
    return done


def write_page(benches: Sequence[Bench], to: AnyPath, *, seed: int = 0, overwrite: bool = False) -> None:
    """One page about reformed datasets: their items, their distractors, their figures."""
    write_reform_page([open_bench(bench) for bench in benches], local_path(to), seed=seed, overwrite=overwrite)


def told(done: Reformed) -> list[str]:
    """What the user should know of it."""
    lines = [f"passed over: {reason} ({count:,})" for reason, count in done.passed_over.items()]
    if done.without_pictures:
        missing = counted(done.without_pictures, "item")
        lines.append(f"{missing} without pictures ({param('images')}); the tag {MISSING} names them")
    return [*lines, *done.notes]


def read_settings(words: Sequence[str]) -> dict[str, Any]:
    """Settings as typed: ``options=6``, ``hard=[similarity]``."""
    settings: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise InputError(f"{heading('own')}: found {short(word)}, expected KEY=VALUE")
        settings[name.strip()] = parse_yaml(value, heading("own"))
    return settings


def look(dataset: Dataset, annotations: Sequence[AnyPath]) -> tuple[int, str]:
    """How many records there are, and what the first one that becomes an item becomes."""
    reading, settings = dataset.checked(dataset.name)
    records = read_annotations(dataset.reader, [local_path(path) for path in annotations], reading)
    for draft in REFORMERS[dataset.reformer].drafts(records, settings, Kit()):
        options = [f"  {'*' if choice.correct else '-'} {choice.text}" for choice in draft.item.choices]
        answers = [f"  = {answer}" for answer in draft.item.references]
        return sum(1 for _ in records), "\n".join((draft.item.question, *options, *answers))
    raise InputError(f"{dataset.name}: no record becomes an item")


def reform(
    dataset: str | Dataset,
    annotations: AnyPath | Sequence[AnyPath],
    *,
    to: AnyPath,
    images: AnyPath | None = None,
    settings: Mapping[str, Any] | None = None,
    limit: int | None = None,
    seed: int = 0,
    page: AnyPath | None = None,
    writer: str | None = None,
    checker: str | None = None,
    models: AnyPath | None = None,
    overwrite: bool = False,
) -> Benchmark:
    """The benchmark that a dataset becomes: one of the catalogue by name, or one of your own by its YAML file.

    ``page`` is where a page about it goes. ``writer`` writes distractors for open answers, ``checker`` checks them.

    >>> et.reform("docvqa", "val_v1.0.json", images="documents", to="docvqa")  # doctest: +SKIP
    <Benchmark 'docvqa': 5,349 items in docvqa>
    """
    done = reform_dataset(
        dataset,
        annotations,
        to=to,
        images=images,
        settings=settings,
        limit=limit,
        seed=seed,
        page=page,
        authors=authors_of(writer, checker, models),
        overwrite=overwrite,
    )
    for line in told(done):
        observer().note(line)
    return done.benchmark
