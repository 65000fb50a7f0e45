"""``eyetest compare``: who is better, by how much, and whether this benchmark can tell."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from eyetest.cli import options
from eyetest.cli.contests import SHAPES, Shown
from eyetest.cli.measuring import WHICH, ClusterOption, LevelOption, ResamplesOption, RulesOption, SeedOption
from eyetest.cli.score import BenchOption, MetricOption, RescoreOption
from eyetest.cli.terminal import err
from eyetest.errors import InputError, nearest, short
from eyetest.measures import Settings
from eyetest.measures.compare import contest, flips_of
from eyetest.measures.printed import caveats, csv_text
from eyetest.measures.settings import narrowed, read_where, under_one_sight, values_of
from eyetest.results.gather import results_of
from eyetest.runs import Run, is_run
from eyetest.scoring import Scorer
from eyetest.store.replacing import refuse_to_lose, replacing_file

_HOW = "How it is shown"


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, of one benchmark or several.")],
    models: Annotated[
        list[str] | None,
        typer.Option("--models", metavar="A B [C…]", help="Only these, all pairs; also A,B.", rich_help_panel=WHICH),
    ] = None,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Not only neighbours in the ranking.", rich_help_panel=WHICH)
    ] = False,
    sight: Annotated[
        str | None,
        typer.Option(
            "--sight",
            metavar="NAME",
            help="Under which sight, or several: image,blind (default: image, where there are several).",
            rich_help_panel=WHICH,
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="COLUMN=A,B", help="Only these: ask, a tag …", rich_help_panel=WHICH),
    ] = None,
    rules: RulesOption = "eyetest",
    bench: BenchOption = None,
    metric: MetricOption = None,
    rescore_given: RescoreOption = False,
    cluster: ClusterOption = "auto",
    level: LevelOption = 0.95,
    power: Annotated[
        float, typer.Option("--power", help="Of the smallest difference that is told.", rich_help_panel=WHICH)
    ] = 0.8,
    bootstrap: Annotated[
        bool,
        typer.Option(
            "--bootstrap",
            help="Bootstrap scores that are not just right or wrong (default: Student's t).",
            rich_help_panel=WHICH,
        ),
    ] = False,
    resamples: ResamplesOption = 2_000,
    seed: SeedOption = 0,
    flips: Annotated[
        int,
        typer.Option(
            "--flips",
            metavar="N",
            min=0,
            help="List N items that only one of a pair has right, for each.",
            rich_help_panel=_HOW,
        ),
    ] = 0,
    flips_to: Annotated[
        Path | None,
        typer.Option("--flips-to", metavar="FILE", help="Write all of them as CSV.", rich_help_panel=_HOW),
    ] = None,
    overwrite: options.OverwriteOption = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="Rows in the terminal; 0 for all.", rich_help_panel=_HOW)
    ] = 100,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the pairs as CSV.", rich_help_panel=_HOW)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.", rich_help_panel=_HOW)] = False,
    as_latex: Annotated[
        bool, typer.Option("--latex", help="Print ranking and pairs for LaTeX.", rich_help_panel=_HOW)
    ] = False,
) -> None:
    """Compare models on the items that both answered: who leads, by how much, and whether that is more than chance.

    Without --models all are ranked, and neighbours in the ranking compared. Who cannot be told apart shares a rank.
    """
    if as_csv + as_json + as_latex > 1:
        raise InputError("one of --csv, --json and --latex, not several")
    if flips_to is not None:
        refuse_to_lose(flips_to, overwrite=overwrite, ours=None)
    folders, words = _told_from_models(runs, models or [])
    found = results_of(
        [Run(folder) for folder in folders],
        Scorer(rules, metric, rescore_given=rescore_given),
        cluster,
        options.open_with_bar(bench, options.read_options(allow_missing_gold=True)) if bench else None,
        tell=lambda line: err.print(line, style="dim", soft_wrap=True) if err.is_terminal else None,
    )
    kept, notes = under_one_sight(narrowed(found, read_where(where or [])), sight)
    named = _names(words, values_of(kept, "model"), values_of(found, "model"))
    settings = Settings((), level, seed, resamples, {"power": power, "bootstrap": bootstrap})
    result = contest(kept, named, settings, all_pairs)
    lists = flips_of(kept, result) if flips or flips_to is not None else None
    notes += (*result.notes, *caveats(kept))
    if flips_to is not None and lists is not None:
        with replacing_file(flips_to, overwrite=overwrite) as place:
            place.write_bytes(csv_text(lists).encode("utf-8", "replace"))
    shown = Shown(result, lists if flips else None, flips, settings, notes, limit)
    SHAPES["csv" if as_csv else "json" if as_json else "latex" if as_latex else "terminal"](shown)


def _told_from_models(words: Sequence[Path], models: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Runs, and model names: behind ``--models A`` the words that are no run folders are names as well."""
    folders = [word for word in words if not models or is_run(word)]
    return folders, [*models, *(str(word) for word in words if models and not is_run(word))]


def _names(words: Sequence[str], known: Sequence[str], anywhere: Sequence[str]) -> list[str]:
    """The models that some words name: one each, or several with commas between."""
    names = [
        name
        for word in words
        for name in ([word] if word in anywhere else filter(None, (part.strip() for part in word.split(","))))
    ]
    for name in names:
        if name in anywhere and name not in known:
            raise InputError(f"{short(name)} has no answers under what is compared; see --sight and --where")
        if name not in known:
            raise InputError(
                f"{short(name)} is neither a run folder nor a model in these runs; {nearest(name, known)}"
            )
    return names
