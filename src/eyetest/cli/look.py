"""``eyetest status|explain``: how far a run is, and what became of one item of it."""

from typing import Annotated

import msgspec
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from eyetest.cli import options
from eyetest.cli.measure import marked
from eyetest.cli.options import JsonOption, RunArgument, argument, option
from eyetest.cli.show import item_panel, meaning, sent
from eyetest.cli.tables import show_table
from eyetest.cli.terminal import note, out, print_json, safe
from eyetest.jobs import look
from eyetest.jobs.look import survey
from eyetest.prompts import CannotApply
from eyetest.records import Asked, Item, Response, order_word
from eyetest.results.cases import ItemCase
from eyetest.runs import Run
from eyetest.runs.folder import RECORDED
from eyetest.scoring import Said, Scored, Scorer

_WORDS_SHOWN = 5
_COUNTS = ("planned", "answered", "truncated", "blocked", "failed", "open", "missing")


def status(run: RunArgument, as_json: JsonOption = False) -> None:
    """Say how far a run is: what was answered, what failed and why, what is left. It may be going on meanwhile."""
    opened = Run(run)
    state = survey(opened)
    if as_json:
        print_json(state)
        return
    about, groups, axes = opened.manifest.benchmark, state["groups"], state["axes"]
    title = safe(about.name) if about else "answers"
    going = f"being written by process {state['writer']}" if state["writer"] else "nobody is writing to it"
    out.print(Text.assemble((title, "bold"), f" · {going}"))
    counts = [name for name in _COUNTS if name in _COUNTS[:2] or any(group.get(name) for group in groups)]
    rows = [(*(group[name] for name in axes), *(f"{group.get(name, 0):,}" for name in counts)) for group in groups]
    show_table(axes, counts, rows)
    if any(group["missing"] for group in groups):
        note(f"missing: items of the {state['items']:,} in the benchmark to which there is no answer")
    for words, count in state["failures"][:_WORDS_SHOWN]:
        out.print(Text.assemble((f"{count:,} × ", "red"), safe(words)), soft_wrap=True)
    for line in state["served"]:
        note(line)
    if state["given"]:
        note(f"{state['given']:,} answers came with scores that others gave, which count in place of our own")
    if state["not_needed"]:
        note(f"{state['not_needed']:,} calls were not needed: a stopping rule had its verdict without them")
    for reason, count in state["not_applicable"].items():
        note(f"{count:,} could not be asked: {reason}")
    if state["torn_lines"]:
        note(f"{state['torn_lines']:,} journal lines were cut off by a kill or damaged; they are asked again")


_SHOWN = 10
_COLOURS = {"chosen": "green", "text": "green", "refused": "yellow", "ambiguous": "yellow", "unparsed": "red"}


def explain(
    run: options.RunArgument,
    item_id: Annotated[str, argument("ITEM", "The item's id.")],
    model: Annotated[str | None, option("--model", "Only these models: A,B.", "NAME")] = None,
    sight: Annotated[str | None, option("--sight", "Only what was asked so: image,blind.", "NAME")] = None,
    bench: options.BenchOption = None,
    rules: options.RulesOption = "eyetest",
    metric: options.MetricOption = None,
    limit: Annotated[int, option("--limit -n", "How many answers to show.", min=1)] = _SHOWN,
    as_json: options.AllJsonOption = False,
) -> None:
    """Show an item, what was sent of it, what each model said, how that is read, by which rule, and its score."""
    scorer = Scorer(rules, metric)
    story = look.explain(run, item_id, model=model, sight=sight, bench=bench, rules=rules, metric=metric)
    item, cases = story.item, story.cases
    if as_json:
        print_json([{"asked": asked, "response": said, "scored": scored} for asked, _, said, scored in cases])
        return
    out.print(item_panel(story.benchmark, item))
    shown: set[str] = set()
    for case in cases[:limit]:
        asked, _, response, scored = case
        put = _sent(item, case)
        if put.plain not in shown:
            shown.add(put.plain)
            out.print(put, soft_wrap=True)
        own = scored
        if response.given is not None:
            own = scorer.score(item, asked.condition, msgspec.structs.replace(Said.by(response), given=None))
        out.print(_case(asked, response, own))
    if len(cases) > limit:
        out.print(Text(f"and {len(cases) - limit:,} more answers (--limit)", "dim"))
    if story.unanswered:
        out.print(Text(f"{story.unanswered:,} calls have no answer yet", "dim"))


def _sent(item: Item, case: ItemCase) -> Text:
    """What was sent; of answers that were recorded elsewhere nobody knows it, only what each mark stood for."""
    condition = case.asked.condition
    if case.response.finish == RECORDED:
        return Text.assemble(("prompt not recorded: the answer was brought in\n", "yellow"), meaning(item, condition))
    if isinstance(case.prompt, CannotApply):
        return Text(f"this version would not ask it so: {case.prompt}", "yellow")
    return sent(item, condition, case.prompt)


def _case(asked: Asked, response: Response, scored: Scored) -> Panel:
    """What was said, how our rules read it and what they make of it, and what others gave for it."""
    text, detail = response.text, response.detail
    order = f", order {order_word(asked.order)}" if asked.order else ""
    history = f", history {asked.history}" if asked.history != "gold" else ""
    title = f"{asked.model} · {asked.sight}, {asked.ask}{order}{history}, trial {asked.trial}"
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
