"""``eyetest reform``: any dataset's annotations become a benchmark."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

from msgspec.structs import fields
from rich.text import Text

from eyetest.cli import options
from eyetest.cli.options import Words, argument, option
from eyetest.cli.tables import show_table
from eyetest.cli.terminal import advise, note, out, program, safe
from eyetest.errors import InputError, nearest
from eyetest.jobs import reform as job
from eyetest.jobs.distractors import authors_of
from eyetest.reform.building import Reformed
from eyetest.reform.catalog import DIMENSIONS, dataset_names, load_dataset
from eyetest.reform.readers import READERS, Reader
from eyetest.reform.reformers import REFORMERS, Reformer
from eyetest.wording import counted, typed

_LIST, _CHECK, _PAGE = "list", "check", "page"
_DATASETS = "datasets"
_PARTS: dict[str, Callable[[], Iterable[Reader | Reformer]]] = {
    "readers": READERS.values,
    "reformers": REFORMERS.values,
}


def reform(
    name: Annotated[
        str, argument("NAME", "A dataset of the catalogue, a YAML file of your own, or: list, check, page.")
    ],
    what: Annotated[
        list[str] | None,
        argument("[WHAT...]", "list: datasets, readers or reformers; check: a YAML file; page: benchmarks."),
    ] = None,
    annotations: Annotated[
        list[Path] | None,
        option("--annotations -a", "The dataset's annotation file or folder, as published; repeatable.", "PATH"),
    ] = None,
    images: Annotated[
        Path | None, option("--images", "The folder that its pictures are in. Without it, items have none.", "DIR")
    ] = None,
    to: Annotated[Path | None, option("--to", "The benchmark folder.", "DIR")] = None,
    set_: Annotated[Words, option("--set", "A setting of the reformer: options=6; repeatable.", "KEY=VALUE")] = None,
    writer: Annotated[
        str | None, option("--writer", "A model that writes distractors for open answers (see eyetest run).", "SPEC")
    ] = None,
    checker: Annotated[str | None, option("--checker", "Another model, which checks them.", "SPEC")] = None,
    models: Annotated[Path | None, option("--models", "A models.yaml to take both from.", "FILE")] = None,
    limit: options.FirstOption = None,
    seed: Annotated[int, option("--seed", "Random seed: of distractors and their order.", min=0)] = 0,
    page: Annotated[Path | None, option("--page", "A page with items, distractors and figures.", "FILE")] = None,
    overwrite: options.OverwriteOption = False,
) -> None:
    """Turn a dataset's annotations into choice or text questions.

    The catalogue has the datasets that are known; list shows them. One of your own is a YAML file of a few lines,
    and check says whether it is right.
    """
    if name == _LIST:
        _list((what or [_DATASETS])[0])
    elif name == _CHECK:
        _check((what or [""])[0], annotations)
    elif name == _PAGE:
        _page(what or [], page, seed, overwrite=overwrite)
    else:
        if not annotations:
            raise InputError(f"--annotations PATH is missing: {load_dataset(name).files or 'where does it lie?'}")
        if to is None:
            raise InputError("--to DIR is missing: where is the benchmark to be written?")
        settings = job.read_settings(set_ or ())
        _report(
            job.reform_dataset(
                name,
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
        )


def _page(benches: list[str], page: Path | None, seed: int, *, overwrite: bool) -> None:
    if not benches or page is None:
        raise InputError("eyetest reform page BENCH... --page FILE: which benchmarks, and which file?")
    job.write_page([Path(bench) for bench in benches], page, seed=seed, overwrite=overwrite)
    out.print(safe(f"page → {page}"), soft_wrap=True)


def _list(what: str) -> None:
    if what in _PARTS:
        parts = [(part.name, part.summary, fields(part.settings)) for part in _PARTS[what]()]
        told = [(name, summary, ", ".join(one.name for one in settings)) for name, summary, settings in parts]
        show_table(["name", "what it is for", "settings"], [], told, f"{len(told)} {what}")
        return
    if what != _DATASETS:
        raise InputError(f'no such list as "{what}"; {nearest(what, (_DATASETS, *_PARTS))}')
    rows = []
    for name in dataset_names():
        dataset = load_dataset(name)
        rows.append((dataset.dimension, dataset.task, name, dataset.reformer, dataset.reader, dataset.licence))
    order = list(DIMENSIONS)
    rows.sort(key=lambda row: (order.index(row[0]) if row[0] in order else len(order), *row[1:3]))
    show_table(["dimension", "task", "name", "reformer", "reader", "licence"], [], rows, f"{len(rows)} datasets")


def _check(file: str, annotations: list[Path] | None) -> None:
    if not file:
        raise InputError("which file? eyetest reform check FILE")
    dataset = load_dataset(file)
    out.print(safe(f"{file}: {dataset.reader} → {dataset.reformer}, {dataset.dimension}, {dataset.task}"))
    if annotations:
        records, first = job.look(dataset, annotations)
        out.print(safe(f"{counted(records, 'record')}; the first becomes:\n{first}"))


def _report(done: Reformed) -> None:
    records = counted(done.records, "record")
    made = f"{counted(done.items, 'item')} of {records} → {safe(str(done.benchmark.path))}"
    out.print(Text(made, "bold"), soft_wrap=True)
    for line in job.told(done):
        note(line)
    advise("next", typed(program(), "audit", done.benchmark.path))
