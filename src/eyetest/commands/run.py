"""The command ``run``: ask models about a benchmark and store every answer."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eyetest.commands.base import model_entries, new_path, open_bench, several
from eyetest.commands.lazy import msgspec, pl
from eyetest.commands.options import SHORT_M, SHORT_N, AnyPath, Benches, Models, Overwrite, Words, panel
from eyetest.commands.results import Found, safe
from eyetest.errors import InputError, counted, heading, param
from eyetest.grammar import refuse_repeated

if TYPE_CHECKING:
    from eyetest.commands.asking import RunResult
    from eyetest.records import Condition
    from eyetest.running import Estimate

    Conditions = str | Condition | Sequence[str | Condition]
else:
    RunResult, Conditions = Any, list[str]

_ASKING = panel("How questions are asked", 1)
_ENDING = panel("When it stops, and where it runs", 2)


def run(
    bench: Benches,
    /,
    *,
    to: AnyPath | None = None,
    model: Annotated[Words, SHORT_M] = (),
    models: Models | None = None,
    limit: Annotated[int | None, SHORT_N] = None,
    item: Words = (),
    dry_run: bool = False,
    retry_failed: bool = False,
    describe: str | None = None,
    condition: Annotated[Conditions, _ASKING] = (),
    prompts: Annotated[str | None, _ASKING] = None,
    samples: Annotated[int, _ASKING] = 1,
    temperature: Annotated[float | None, _ASKING] = None,
    max_tokens: Annotated[int | None, _ASKING] = None,
    seed: Annotated[int, _ASKING] = 0,
    until: Annotated[str, _ENDING] = "",
    budget: Annotated[Words, _ENDING] = (),
    concurrency: Annotated[int, _ENDING] = 64,
    on: Annotated[str, _ENDING] = "",
    overwrite: Overwrite = False,
) -> "RunResult | Any":
    """Ask models about a benchmark and store every answer.

    Every answer is on disk before it counts. Interrupt it at any moment and run the same again: nothing is lost and
    nothing is asked twice. In Python the result is the run, with its counts; in a notebook it works in the same way.

    Args:
        bench: A benchmark folder, or any file that eyetest can import; several are pooled (eyetest pool).
        to: The run folder; an existing run is continued. With --describe: gets benchmark/ and run/.
        model: openai:MODEL@URL, NAME=SPEC, or names of the models file (A,B); repeatable.
        models: A models.yaml; all of its models without --model.
        limit: Use only the first N items.
        item: Use only this item; repeatable.
        dry_run: Print the plan of calls and ask nothing.
        retry_failed: Ask again what failed before.
        describe: Instead, have this model describe every image, for the condition caption.
        condition: How questions are asked: image,no-image+cot,image+order=7; repeatable.
        prompts: The texts around questions: a prompt set by name, or a YAML file (eyetest show prompts).
        samples: How often each question is asked.
        temperature: Sampling temperature (default: 0, or the model's own).
        max_tokens: The longest answer (default: 512; 2048 with reasoning).
        seed: Random seed.
        until: Draw random items until one model leads: A>B.
        budget: Stop when this much is spent: calls=100, cost=5, or both.
        concurrency: The most calls in flight to a model.
        on: Where calls are made: ray, ray:8 (workers) or ray://HOST:PORT.
        overwrite: With --describe: also describe items that have a description.

    Examples:
        $ eyetest run mybench.tsv -m openai:gpt-4o --condition image,no-image --to run
        $ eyetest run mybench.tsv --models models.yaml --until "new>old" --to race
        $ eyetest run mybench.tsv --describe openai:gpt-4o --to described

        >>> seer = {"seer": "scripted:right=0.9,blind=0.3"}
        >>> run = et.run("world/benchmark", models=seer, condition="image,no-image", to="asked")
        >>> run.responses().num_rows
        120

        >>> duel = {"new": "scripted:right=0.95,seed=1", "old": "scripted:right=0.3,seed=2"}
        >>> et.run("world/benchmark", models=duel, until="new>old", to="duel")
        new leads old on the whole benchmark, by between ...

        >>> et.run("world/benchmark", describe="scripted:right=1", to="described").benchmark[0].description != ""
        True

    """
    from eyetest.commands import asking as job
    from eyetest.prompts.conditions import read_conditions
    from eyetest.prompts.sets import load_prompts, under
    from eyetest.running import Asking, Cluster, Session
    from eyetest.running.limits import limits_of, refuse_unpriced

    if to is None and not dry_run:
        raise InputError(f"{param('to', 'RUN')} is missing: where are the answers to be stored?")
    numbers = {"limit": (limit, 1), "samples": (samples, 1), "max_tokens": (max_tokens, 1)}
    for name, (value, least) in {**numbers, "temperature": (temperature, 0)}.items():
        if value is not None and not value >= least:
            raise InputError(f"{heading(name)}: found {value:g}, expected {least} or more")
    folder = None if to is None else new_path(to, "to")
    limits = limits_of(budget, concurrency)
    if describe is not None:
        given: dict[str, Any] = {"model": model, "limit": limit, "item": item, "dry_run": dry_run, "on": on}
        given |= {"condition": condition, "until": until, "samples": samples > 1}
        given |= {"temperature": temperature is not None, "max_tokens": max_tokens is not None}
        if wrong := next((name for name, value in given.items() if value), None):
            raise InputError(f"{heading(wrong)}: not with {param('describe')}, which describes every image once")
        assert folder is not None
        describer = model_entries(models, [describe])
        redo = {"again": overwrite, "retry_failed": retry_failed}
        return job.describe(open_bench(bench), describer, folder, limits, load_prompts(prompts), **redo)
    if overwrite:
        raise InputError(f"{heading('overwrite')}: a run is continued, never replaced; choose another {param('to')}")
    sampling = {"temperature": temperature, "max_tokens": max_tokens}
    how = Asking(
        conditions=under(read_conditions(condition, seed), prompts),
        samples=samples,
        sampling={name: value for name, value in sampling.items() if value is not None},
        seed=seed,
        limit=limit,
        items=_items_named(item, limit),
        limits=limits,
        retry_failed=retry_failed,
        until=until,
        cluster=Cluster.parse(on),
    )
    names = [name.strip() for name in until.split(">")] if until and models and not model else model
    entries = model_entries(models, names)
    refuse_unpriced(limits, entries)
    session = Session(open_bench(bench), entries, how)
    session.plan.refuse_unaskable()
    if folder is None or dry_run:
        return PlanResult({"": session.estimate(folder)})
    return job.execute(session, folder)


def _items_named(item: Words, limit: int | None) -> tuple[str, ...]:
    """The ids of the items to ask; a limit beside them would drop some of them."""
    ids = tuple(several(item))
    refuse_repeated(map(str, ids), "item")
    if ids and limit is not None:
        raise InputError(f"{heading('limit')}: {param('item')} names the items already; leave one of the two out")
    return ids


class PlanResult(Found):
    """The calls that would be made, a row for each stage and model; a command with one stage has the empty name for
    it.
    """

    def __init__(self, stages: "Mapping[str, Estimate]") -> None:
        self.stages = stages
        types = {"stage": pl.String, "model": pl.String, "calls": pl.Int64}
        rows = [(stage, *row) for stage, estimate in stages.items() for row in estimate.by_model.items()]
        plans = {stage: {"calls": plan.calls} | msgspec.to_builtins(plan) for stage, plan in stages.items()}
        parts: list[RenderableType] = []
        for stage, estimate in stages.items():
            parts += [Text(safe(stage), "bold")] if stage else []
            parts.append(estimate_table(estimate))
        frame, data = pl.DataFrame(rows, schema=types, orient="row"), plans[""] if [*plans] == [""] else plans
        super().__init__("", frame, text=Group(*parts), data=data)


def estimate_table(estimate: "Estimate") -> Table:
    """The plan of calls, with an estimate of tokens and cost."""
    table = Table.grid(padding=(0, 2))
    rows: list[tuple[str, str]] = [("to ask", counted(estimate.calls, "call"))]
    if estimate.by_model:
        rows.append(("models", ", ".join(f"{name} {count:,}" for name, count in estimate.by_model.items())))
    shared = estimate.rows - estimate.requests
    counts = (
        ("answered before", estimate.stored, ""),
        ("failed before", estimate.failed, f" ({param('retry_failed', True)} asks them again)"),
        ("sent once", shared, " more rows need no call of their own: they send exactly the same"),
        ("without an image", estimate.no_image, " are about items without an image, and are labelled no-image"),
    )
    rows += [(name, f"{count:,}{about}") for name, count, about in counts if count]
    rows += [("cannot be asked", f"{count:,}: {why}") for why, count in estimate.not_applicable.most_common()]
    if estimate.calls and estimate.tokens_in:
        rows.append(("tokens", f"about {estimate.tokens_in:,} in, at most {estimate.most_tokens_out:,} out"))
    if estimate.priced:
        most = f"at most {estimate.most_money:,.2f} in all"
        rows.append(("cost", f"about {estimate.money:,.2f} for the prompts, {most}"))
    for name, value in rows:
        table.add_row(Text(name, "dim"), Text(safe(value), overflow="fold"))
    return table
