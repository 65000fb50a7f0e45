"""The command ``reform``: turn a dataset's annotations into a benchmark."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Parameter

from eyetest.commands.base import hinting_skip_bad, new_path, observer, path_of, several
from eyetest.commands.gathering import pairs
from eyetest.commands.options import SHORT_N, AnyPath, Overwrite, Pairs, Paths, panel
from eyetest.commands.results import NewBenchmark, Result, listing
from eyetest.errors import InputError, counted, heading, listed, nearest, param, tallied, typed
from eyetest.grammar import refuse_idle

if TYPE_CHECKING:
    from eyetest.reform.catalog import Dataset

    AnyDataset = str | Dataset
else:
    AnyDataset = str

_DATASETS = "datasets"
_MODELS = panel("Models that write and check distractors", 1)


def reform(
    name: AnyDataset,
    what: str = _DATASETS,
    /,
    *,
    annotations: Annotated[Paths, Parameter(alias="-a")] = (),
    images: AnyPath | None = None,
    to: AnyPath | None = None,
    set: Pairs = (),  # noqa: A002 (the name of the option)
    limit: Annotated[int | None, SHORT_N] = None,
    seed: int = 0,
    skip_bad: bool = False,
    writer: Annotated[str | None, _MODELS] = None,
    checker: Annotated[str | None, _MODELS] = None,
    models: Annotated[AnyPath | None, _MODELS] = None,
    overwrite: Overwrite = False,
) -> "NewBenchmark":
    """Turn a dataset's annotations into choice or text questions.

    Known datasets are in a catalogue: reform list, also of readers and reformers. Your own is a YAML file of a few
    lines. Look at the result with eyetest show, audit --page and report --page.

    Args:
        name: A dataset of the catalogue, or your own YAML file; or list.
        what: With list: datasets, readers or reformers.
        annotations: Annotation file or folder of the dataset, as published; repeatable.
        images: Folder of its images; without it items have none.
        to: Folder of the benchmark.
        set: A setting of the reformer: options=6; repeatable.
        limit: Use only the first N items.
        seed: Random seed of distractors and their order.
        skip_bad: Leave out records that cannot be read, and say which.
        writer: Model that writes distractors for open answers (see eyetest run).
        checker: Another model, which checks them.
        models: A models.yaml with both.
        overwrite: Replace what eyetest wrote before.

    Examples:
        $ eyetest reform list
        $ eyetest reform vqav2 -a annotations --images val2014 --to vqav2

        >>> et.reform("docvqa", annotations="val_v1.0.json", images="documents", to="docvqa")  # doctest: +SKIP
        5,349 items of 5,349 records → docvqa

    """
    if name == "list":
        about_dataset = {"annotations": annotations, "images": images, "to": to, "set": set, "limit": limit}
        about_dataset |= {"writer": writer, "checker": checker, "models": models}
        refuse_idle(about_dataset, "a list reads no dataset")
        return cast("NewBenchmark", _catalogue(what))  # a dataset gives a benchmark, which is what programs ask for
    if what != _DATASETS:
        raise InputError(f"{what!r}: only reform list takes a second word; leave it out")
    paths = tuple(path_of(path, "annotations") for path in several(annotations))
    from eyetest.recipes.options_folder import authors_of, write_open_options
    from eyetest.reform.building import MISSING, Reforming
    from eyetest.reform.building import reform as build
    from eyetest.reform.catalog import load_dataset
    from eyetest.reform.reformers import Kit

    dataset = load_dataset(name) if isinstance(name, str) else name
    dataset = dataset.with_settings(_settings(set))
    if not paths:
        raise InputError(f"{param('annotations', 'PATH')} is missing: {dataset.files or 'which files?'}")
    if to is None:
        raise InputError(f"{param('to', 'DIR')} is missing: the folder of the benchmark")
    if limit is not None and limit < 1:
        raise InputError(f"{heading('limit')}: found {limit}, expected at least 1")
    plan = Reforming(
        dataset=dataset,
        annotations=paths,
        images=path_of(images, "images") if images is not None else None,
        to=new_path(to, "to"),
        limit=limit,
        seed=seed,
        skip_bad=skip_bad,
        overwrite=overwrite,
    )
    kit, title = Kit(seed), f"reforming {dataset.name}"
    if (authors := authors_of(writer, checker, models)) is not None:
        write_open_options(plan, authors, kit, observer().watch)
    with observer().steps(title) as step, hinting_skip_bad():
        done = build(plan, kit, progress=lambda items: step(f"{title}: {items:,} items", 0.0))
    skipped = [(reason, _places(done.passed_in[reason], count)) for reason, count in done.passed_over.items()]
    notes = [f"skipped: {reason} ({places})" for reason, places in skipped]
    if done.bad:
        notes.append(f"{counted(len(done.bad), 'record')} left out: {tallied(done.bad)}")
    if done.without_images:
        missing = counted(done.without_images, "item")
        notes.append(f"{missing} without images ({param('images')}); the tag {MISSING} names them")
    notes += [*done.notes, f"next: {typed('eyetest', 'audit', done.benchmark.path)}"]
    facts = {"records": done.records, "passed_over": done.passed_over, "skipped": len(done.bad)}
    line = f"{counted(done.items, 'item')} of {counted(done.records, 'record')} → {done.benchmark.path}"
    return NewBenchmark(done.benchmark, line, facts, notes)


def _places(files: Mapping[str, int], number: int) -> str:
    """How many records were skipped, and in which files."""
    named = {file: count for file, count in files.items() if file}
    if not named:
        return f"{number:,}"
    if len(named) == 1 and sum(named.values()) == number:
        return f"{number:,} in {next(iter(named))}"
    each = [f"{count:,} in {file}" for file, count in named.items()]
    return f"{number:,}: {listed(each)}"


def _settings(given: Pairs) -> dict[str, Any]:
    """Settings of the reformer from ``options=6``, ``hard=[similarity]``."""
    from eyetest.store.handwritten import parse_yaml

    read = pairs(given, "set", "KEY=VALUE, such as options=6")
    if isinstance(given, Mapping):
        return read
    return {key.strip(): parse_yaml(value, heading("set")) for key, value in read.items()}


def _catalogue(what: str) -> Result:
    """The datasets that ``reform`` knows by name, or its readers or reformers with their settings."""
    from eyetest.reform.catalog import DIMENSIONS, described_datasets

    order, keys = [*DIMENSIONS], ("dimension", "task", "name", "reformer", "reader", "licence")
    if what == "datasets":
        known = [dataset | {"name": name} for name, dataset in described_datasets().items()]
        rows = [tuple(str(dataset.get(key, "")) for key in keys) for dataset in known]
        rows.sort(key=lambda row: (order.index(row[0]) if row[0] in order else len(order), *row[1:3]))
        return listing(f"{len(rows)} {what}", keys, rows)
    from eyetest.reform.readers import READERS
    from eyetest.reform.reformers import REFORMERS

    parts: dict[str, Any] = {"readers": READERS, "reformers": REFORMERS}
    if what not in parts:
        raise InputError(f'no list "{what}"; {nearest(what, ("datasets", *parts))}')
    names = [(plugin, ", ".join(plugin.settings.__struct_fields__)) for plugin in parts[what].values()]
    rows = [(plugin.name, plugin.summary, settings) for plugin, settings in names]
    return listing(f"{len(rows)} {what}", ("name", "summary", "settings"), rows)
