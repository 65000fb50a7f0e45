"""What a benchmark is, for those who will use it."""

from collections.abc import Mapping
from pathlib import Path

from eyetest.api.open_ import Bench, Place, opened
from eyetest.api.refine import Refined
from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import README
from eyetest.recipes.carding import make_card


def card(
    bench: Bench | Refined, *, said: Mapping[str, str] | None = None, to: Place | None = None, overwrite: bool = False
) -> Path:
    """Write a benchmark's card, README.md and croissant.json, into its folder or into ``to``; gives its place.

    ``said`` is what only you know (licence, contact, ``sources.NAME``, ``practices.NAME``), kept in card.yaml. A
    refinement has a card already; its folder is where to say more.

    >>> bench, _ = et.import_benchmark(Path("mine.tsv"), Path("mine"))
    >>> et.card(bench, said={"licence": "CC-BY-4.0"}).name
    'README.md'
    """
    path = bench.path if isinstance(bench, Refined | Benchmark) else Path(bench)
    words = [f"{key}={value}" for key, value in (said or {}).items()]
    *_, place = make_card(path, None if to is None else Path(to), words, opened, overwrite=overwrite)
    return place / README
