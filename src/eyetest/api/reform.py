"""Any dataset's annotations become a benchmark, from Python."""

from collections.abc import Mapping, Sequence
from typing import Any

from eyetest.api.renamed import renamed
from eyetest.api.run import NOTEBOOK
from eyetest.benchmarks import Benchmark
from eyetest.jobs import reform as job
from eyetest.jobs.distractors import authors_of
from eyetest.jobs.opening import AnyPath
from eyetest.reform.catalog import Dataset


@renamed(html="page", model="writer")
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
    done = job.reform(
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
        observer=NOTEBOOK,
    )
    for line in job.told(done):
        NOTEBOOK.note(line)
    return done.benchmark
