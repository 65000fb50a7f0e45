"""The command ``leaderboard``: models × benchmarks over many runs, with shared ranks, as one page."""

import sys
from pathlib import Path
from typing import Annotated

from eyetest.commands.base import NOTEBOOK, new_path, observer, path_of, several
from eyetest.commands.gathering import Scoring, flat, gather, settings
from eyetest.commands.lazy import pl, printed
from eyetest.commands.options import HOW, WHICH, AnyPath, Measurable, Models, Overwrite, ShortModel, Where, Words
from eyetest.commands.results import Found, estimates
from eyetest.errors import InputError, heading, listed, param, typed
from eyetest.grammar import read_names, refuse_idle


def leaderboard(
    *runs: Measurable,
    page: AnyPath | None = None,
    links: str | None = None,
    by: Annotated[Words, WHICH] = (),
    models: Annotated[Models | None, WHICH] = None,
    model: ShortModel = (),
    where: Annotated[Where, WHICH] = (),
    cluster: Annotated[str, HOW] = "auto",
    level: Annotated[float, HOW] = 0.95,
    overwrite: Overwrite = False,
) -> Found:
    """Rank models on many benchmarks, and write one page that sorts, filters and links to items.

    A shared rank is 1 + the number of models that are significantly better. In the mean over benchmarks each counts
    alike. The page holds its data, as CSV and JSON, and opens without network. No model is asked.

    Args:
        runs: Run folders, or folders with runs in them.
        page: The page; without one, the table is printed (--output csv or json for all columns).
        links: Where scores lead: the address that eyetest open serves, or its bundle.
        by: Properties of models as columns: model.size_b; repeatable.
        models: models.yaml that says what is known of models.
        model: Only these models: A,B, or repeated.
        where: Only scores with these values of a column: ask=direct.
        cluster: What makes items dependent: auto, found, image, group, passage, template, none, or a tag.
        level: Confidence level of intervals and tests.
        overwrite: Replace files that eyetest wrote before.

    Examples:
        $ eyetest leaderboard run --page leaderboard.html

        >>> et.leaderboard("run").frame.select("model", "image_rank").row(0)
        ('seer', 1)

    """
    from eyetest.measures import Results
    from eyetest.pages.item_links import NOWHERE, items_at
    from eyetest.reports import leaderboard as ranking
    from eyetest.reports.report import Material
    from eyetest.store import refuse_to_lose

    file, words = None if page is None else new_path(page, "page"), read_names(several(by), "by")
    if file is None:
        refuse_idle({"links": links}, f"a table has no links; write a page with {param('page', 'FILE')}")
    if wrong := [word for word in words if not word.startswith("model.")]:
        raise InputError(f"{heading('by')}: found {wrong[0]}, expected model.PROPERTY")
    if file is not None:
        refuse_to_lose(file, overwrite=overwrite, ours=None)
    things = [run for thing in flat(runs) for run in (_runs(thing) if isinstance(thing, str | Path) else [thing])]
    if not things:
        raise InputError("name a run, or a folder with runs in it")
    scoring = Scoring(cluster=cluster, models=models, model=model, where=where or None)
    with observer().steps("reading answers") as step:
        results = gather(things, scoring, tell=lambda line: step(line, 0.1))
        step("measuring", 0.3)
        material = Material(results, settings(words, level, 0))
        if not material.is_answered:
            raise InputError("no model was asked in these runs")
        table, at = ranking.leaderboard(material), NOWHERE
        if file is not None and not any(isinstance(thing, Results) for thing in things):
            at = items_at(links, file, [path_of(getattr(thing, "path", thing), "runs") for thing in things])
        board = ranking.board_of(material, at, table)
        if file is not None:
            named = listed(material.usual_ways, 4)
            command = "" if observer() is NOTEBOOK else typed("eyetest", *sys.argv[1:])
            ranking.write_leaderboard_page(material, board, at, (named, command), file, overwrite=overwrite)
    notes = [*printed.caveats(results), *([f"page → {file}"] if file else [])]
    rows = [
        {"rank": cells[0].rank, "model": line.model, "unread": line.unread}
        | {name: cell.value and cell.value / 100 for name, cell in zip(board.columns, cells, strict=True)}
        for line in board.lines
        for cells in [line.cells[board.first]]
    ]
    shown = estimates(pl.DataFrame(rows, infer_schema_length=None))
    return Found("leaderboard", printed.plain(table), notes, shown)


def _runs(path: str | Path) -> list[str | Path]:
    """A run, or all runs below a folder."""
    from eyetest.runs import is_run
    from eyetest.runs.stored import MANIFEST

    folder = Path(path)
    if is_run(folder) or not folder.is_dir():
        return [path]
    found = sorted(file.parent for file in folder.rglob(MANIFEST))
    if not found:
        raise InputError(f"{path} is no run, and there is none in it")
    return [*found]
