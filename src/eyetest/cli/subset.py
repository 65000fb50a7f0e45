"""``eyetest subset``: a part of a benchmark, by what it is about, by whom it is to compare, or small and telling."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.cli import options
from eyetest.cli.estimates import print_terminal
from eyetest.cli.small import draw_small
from eyetest.cli.terminal import note, out, safe
from eyetest.curate.selection import Candidate, candidate, model_oriented, user_oriented
from eyetest.curate.subset import write_curves
from eyetest.errors import InputError, short
from eyetest.measures import Measured
from eyetest.models import read_models
from eyetest.recipes.refining import BENCHMARK
from eyetest.records import Lineage
from eyetest.results.gather import results_of
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.wording import counted, listed


def subset(
    bench: options.BenchArgument,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="DIR/benchmark is the part.")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="TAG=A,B", help="Only items with these values of a tag; again for another tag."
        ),
    ] = None,
    unseen_by: Annotated[
        Path | None,
        typer.Option("--unseen-by", metavar="FILE", help="models.yaml: leave out what any of them was trained on."),
    ] = None,
    source: Annotated[
        str, typer.Option("--source", metavar="TAG", help="The tag that names the dataset.")
    ] = "source",
    answers: Annotated[
        list[Path] | None,
        typer.Option(
            "--answers", metavar="RUN", help="Draw a small part that tells these models apart (with --share)."
        ),
    ] = None,
    share: Annotated[float, typer.Option("--share", min=0.001, max=1, help="Of the items, with --answers.")] = 0.1,
    sight: Annotated[str, typer.Option("--sight", metavar="NAME", help="Which answers of the run count.")] = "image",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the drawing.")] = 0,
    overwrite: options.OverwriteOption = False,
    format_name: options.FormatOption = None,
    fields: options.MapOption = None,
    images: options.ImagesOption = None,
) -> None:
    """Take a part of a benchmark: the tasks you care about, what no compared model was trained on, or a small part.

    With --answers, items that tell the run's models apart are likelier to be drawn; a new model is asked the part
    alone, and eyetest estimate says what it would score on the whole. How well that works is tried on models that
    were held out, and printed.
    """
    read = options.read_options(format_name, fields, images, None, None, allow_missing_gold=True)
    benchmark = options.open_with_bar(bench, read)
    if not only and unseen_by is None and not answers:
        raise InputError("which part? --only TAG=A,B, --unseen-by models.yaml, or --answers RUN --share 0.1")
    items = [candidate(item) for item in benchmark]
    steps = []
    if only:
        items = _only(items, only)
        steps.append("only " + "; ".join(only))
    if unseen_by is not None:
        items = _unseen(items, unseen_by, source)
        steps.append(f"unseen by the models of {unseen_by.name}")
    small = None
    if answers:
        found = results_of([Run(run) for run in answers], Scorer())
        for line in found.notes:
            note(line)
        small = draw_small(found, [item.id for item in items], sight, share, seed)
        items = [item for item in items if item.id in small.drawn]
        steps.append(f"{share:.1%} drawn by what tells {counted(len(small.models), 'model')} apart, seed {seed}")
    if not items:
        raise InputError("nothing is left")
    _write(benchmark, items, to / BENCHMARK, "; ".join(steps), overwrite=overwrite)
    if small is not None:
        write_curves(to, small.items, small.models, small.fitted, small.chances)
        print_terminal("subset", Measured(small.validation), 0)
        note("tried on models that were held out of the fit; mae is how far their full scores were missed")
    out.print(safe(f"{counted(len(items), 'item')} of {len(benchmark):,} → {to / BENCHMARK}"), soft_wrap=True)


def _only(items: Sequence[Candidate], words: Sequence[str]) -> list[Candidate]:
    wanted: dict[str, list[str]] = {}
    for word in words:
        tag, equals, values = word.partition("=")
        if not equals or not values:
            raise InputError(f"--only: found {short(word)}, expected TAG=VALUE,VALUE")
        wanted.setdefault(tag, []).extend(value.strip() for value in values.split(","))
    kept = set(user_oriented(items, wanted))
    return [item for item in items if item.id in kept]


def _unseen(items: Sequence[Candidate], models: Path, tag: str) -> list[Candidate]:
    found = model_oriented(items, read_models(models), tag)
    for gone in found.left_out:
        note(f"{counted(gone.items, 'item')} of {gone.dataset} left out: {listed(gone.models)} trained on it")
    for name in found.unmatched:
        near = f" (nearest: {name.near})" if name.near else ""
        note(f"{listed(name.models)} trained on {name.name}, which is not in this benchmark{near}")
    if found.undeclared:
        note(f"{listed(found.undeclared)}: nothing is known of what they were trained on (trained_on:)")
    if found.untagged:
        note(f"{counted(found.untagged, 'item')} without the tag {tag} kept")
    kept = set(found.ids)
    return [item for item in items if item.id in kept]


def _write(benchmark: Benchmark, items: Sequence[Candidate], to: Path, how: str, *, overwrite: bool) -> None:
    old = benchmark.manifest
    made = Lineage(step="subset", source=f"{old.name} {old.version}", note=how)
    manifest = msgspec.structs.replace(old, name=f"{old.name}-part", lineage=(*old.lineage, made))
    kept = {item.id for item in items}
    with BenchmarkWriter(to, manifest, overwrite=overwrite, gold_required=False) as writer:
        for item in benchmark:
            if item.id in kept:
                writer.adopt(item, benchmark)
