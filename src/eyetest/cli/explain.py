"""``eyetest explain``: follow one item of a run from what was sent to what it was worth."""

from typing import Annotated, Any

import msgspec
import polars as pl
import typer
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from eyetest.cli.read import marked
from eyetest.cli.score import BenchOption, MetricOption, RunArgument, find_benchmark
from eyetest.cli.show import item_panel, meaning, sent
from eyetest.cli.terminal import out, print_json, safe
from eyetest.errors import InputError, nearest, short
from eyetest.prompts import CannotApply, build
from eyetest.records import Asked, Condition, Item, Response, order_word
from eyetest.runs import Run, StoredResponses
from eyetest.runs.folder import RECORDED
from eyetest.runs.stored import refuse_if_all_is_damaged
from eyetest.scoring import Said, Scored, Scorer

_SHOWN = 10
_COLOURS = {"chosen": "green", "text": "green", "refused": "yellow", "ambiguous": "yellow", "unparsed": "red"}


def explain(
    run: RunArgument,
    item_id: Annotated[str, typer.Argument(metavar="ITEM", help="The item's id.")],
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Only this model.")] = None,
    sight: Annotated[str | None, typer.Option("--sight", metavar="NAME", help="Only what was asked so.")] = None,
    bench: BenchOption = None,
    rules: Annotated[str, typer.Option("--rules", metavar="NAME", help="Whose reading rules.")] = "eyetest",
    metric: MetricOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many answers to show.")] = _SHOWN,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for another program, all of it.")] = False,
) -> None:
    """Show an item, what was sent of it, what each model said, how that is read, by which rule, and its score."""
    scorer = Scorer(rules, metric)
    found = Run(run)
    item = (benchmark := find_benchmark(found, bench))[item_id]
    rows = _asked(found, item_id, model, sight)
    refuse_if_all_is_damaged(found.path)
    said = StoredResponses(found.path, {bytes.fromhex(row["request"]) for row in rows})
    cases = []
    for row in rows:
        asked = Asked(**{name: row[name] for name in Asked.__struct_fields__})
        response = said.get(row["request"])
        if response is not None:
            cases.append((asked, response, scorer.score(item, asked.condition, Said.by(response))))
    if as_json:
        print_json([{"asked": asked, "response": answer, "scored": scored} for asked, answer, scored in cases])
        return
    out.print(item_panel(benchmark, item))
    shown: set[tuple[Condition, bool]] = set()
    for asked, response, scored in cases[:limit]:
        put = (asked.condition, response.finish == RECORDED)
        if put not in shown:
            shown.add(put)
            out.print(_prompt(item, *put), soft_wrap=True)
        own = scored
        if response.given is not None:
            own = scorer.score(item, asked.condition, msgspec.structs.replace(Said.by(response), given=None))
        out.print(_case(asked, response, own))
    if len(cases) > limit:
        out.print(Text(f"and {len(cases) - limit:,} more answers (--limit)", "dim"))
    if len(rows) > len(cases):
        out.print(Text(f"{len(rows) - len(cases):,} calls have no answer yet", "dim"))


def _asked(run: Run, item_id: str, model: str | None, sight: str | None) -> list[dict[str, Any]]:
    plan = pl.from_arrow(run.plan())
    assert isinstance(plan, pl.DataFrame)
    rows = plan.filter(pl.col("item") == item_id)
    if rows.is_empty():
        raise InputError(f"{run.path} asked nothing about item {short(item_id)}")
    for name, value in (("model", model), ("sight", sight)):
        if value is not None:
            known = rows.get_column(name).unique().to_list()
            if value not in known:
                raise InputError(f'--{name}: nothing of "{value}" about this item; {nearest(value, known)}')
            rows = rows.filter(pl.col(name) == value)
    return rows.to_dicts()


def _prompt(item: Item, condition: Condition, recorded: bool) -> RenderableType:
    """What was sent; of answers that were recorded elsewhere nobody knows it, only what each mark stood for."""
    if recorded:
        return Text.assemble(("prompt not recorded: the answer was brought in\n", "yellow"), meaning(item, condition))
    try:
        return sent(item, condition, build(item, condition))
    except CannotApply as reason:
        return Text(f"this version would not ask it so: {reason}", "yellow")


def _case(asked: Asked, response: Response, scored: Scored) -> Panel:
    """What was said, how our rules read it and what they make of it, and what others gave for it."""
    text, detail = response.text, response.detail
    order = f", order {order_word(asked.order)}" if asked.order else ""
    title = f"{asked.model} · {asked.sight}, {asked.ask}{order}, trial {asked.trial}"
    parts: list[RenderableType] = []
    if text:
        parts.append(marked(text, scored.span))
    elif detail:
        parts.append(Text(safe(detail), "red"))
    kind = scored.reading or "not read"
    reading = f"{kind} {scored.choice or ''}".strip()
    by = safe(", ".join(filter(None, (scored.rule, scored.why))))
    worth = "no score" if scored.score is None else f"{scored.metric} {scored.score:g}"
    if response.given is not None and response.outcome != "failed":
        worth += f"; given {response.given:g} by others, which counts"
    parts.append(
        Text.assemble("→ ", (reading, _COLOURS.get(kind, "dim")), (f"  {by}", "dim") if by else "", f"  {worth}")
    )
    return Panel(Group(*parts), title=Text(safe(title)), title_align="left")
