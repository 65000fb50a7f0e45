"""The command ``show``: look at a benchmark, a run, a review, or something that has a name."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from eyetest.commands.base import open_bench, path_of, read_options, several
from eyetest.commands.lazy import cards, msgspec, pl
from eyetest.commands.options import SHORT_M, SHORT_N, AnyRun, Bench, Words
from eyetest.commands.results import LONGEST_SHOWN, Found, Lines, estimates, listing, safe, table
from eyetest.errors import InputError, counted, heading, listed, naming_benchmark, nearest, param, short
from eyetest.grammar import choose_names

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark
    from eyetest.records import Item, ItemCounts
    from eyetest.runs import Run

_ITEMS, _ANSWERS_SHOWN, _TAGS, _REASONS = 8, 10, 12, 5
_BEGINNING = 100  # characters of a question in a list of items
_OUTCOMES = ("answered", "truncated", "blocked", "failed", "open")
_COUNTS = ("planned", *_OUTCOMES, "missing")
_LISTS = ("recipes", "conditions", "prompts")


def show(
    what: Bench | AnyRun,
    item: str | None = None,
    /,
    *,
    limit: Annotated[int | None, SHORT_N] = None,
    condition: str | None = None,
    model: Annotated[Words, SHORT_M] = (),
) -> Found:
    """Show a benchmark, an item, a prompt, the progress of a run, its answers, or a recipe.

    A benchmark shows what it holds; with an item, that item, and with --condition exactly what a model is sent. A run
    shows its progress; with an item, every answer to it and how it was scored. A review shows its progress.
    Names: recipes, conditions, prompts, or one recipe such as mmstar. To look at many items, use eyetest open.

    Args:
        what: A benchmark, run, review or recipe by its path; or a name.
        item: The id of an item.
        limit: Show this many items, or answers.
        condition: Show the prompt under this condition, such as no-image+cot or image+order=7.
        model: Only answers of this model; repeatable.

    Examples:
        $ eyetest show mybench.tsv 17 --condition no-image
        $ eyetest show run 17 --model new
        $ eyetest show mmstar

        >>> et.show("run").left
        0
        >>> et.show("run", "q07", model="seer").frame["model"].unique().to_list()
        ['seer']

    """
    from eyetest.benchmarks import Benchmark
    from eyetest.runs import Run, is_run

    path = what.path if isinstance(what, Benchmark | Run) else path_of(what, "what")
    is_answered = isinstance(what, Run) or (not isinstance(what, Benchmark) and is_run(path))
    if model and not (is_answered and item is not None):
        raise InputError(f"{heading('model')}: only with an item of a run")
    if condition is not None and (is_answered or item is None):
        raise InputError(f"{heading('condition')}: only with an item of a benchmark")
    has_rows = item is not None if is_answered else item is None
    if limit is not None and not has_rows:
        raise InputError(f"{heading('limit')}: only with a benchmark, or with an item of a run")
    if is_answered:
        return StatusResult(Run(path)) if item is None else _answers(Run(path), item, several(model), limit)
    if item is None and (not path.exists() or path.suffix in (".yaml", ".yml")):
        return _list(str(path)) if str(path) in _LISTS else _recipe(str(path))
    if not path.exists():
        raise InputError(f"{path} does not exist")
    from eyetest.studio.project import is_review

    if is_review(path):
        from eyetest.commands.review import review_status

        return review_status(path)
    benchmark = open_bench(what if isinstance(what, Benchmark) else path, read_options(images_required=False))
    return _benchmark(benchmark, limit) if item is None else _item(benchmark[item], condition)


def contents(counts: "ItemCounts") -> str:
    """``1,000 items (540 choice, 460 text), 967 images``; media that are not read are named so."""
    kinds = [f"{n:,} {kind}" for n, kind in ((counts.choice_items, "choice"), (counts.text_items, "text")) if n]
    from eyetest.benchmarks.media import media_note

    shown = [f"{counts.images:,} images"] if counts.images or not counts.media else []
    shown += [media_note(counts.media)] if counts.media else []
    return f"{counts.items:,} items ({', '.join(kinds)}), {', '.join(shown)}"


def benchmark_facts(benchmark: "Benchmark") -> dict[str, str]:
    """What a benchmark says of itself."""
    manifest, counts = benchmark.manifest, benchmark.manifest.counts
    facts = {
        "items": contents(counts),
        "options": ", ".join(f"{n}: {count:,}" for n, count in counts.options.items()),
        "size of images": f"{counts.image_bytes / 2**20:,.1f} MB" if counts.image_bytes else "",
        "from": next((f"{step.source} ({step.note})" for step in manifest.lineage if step.step == "import"), ""),
        "made by": listed([step.step for step in manifest.lineage], 6),
        "source": manifest.source,
        "licence": manifest.licence,
        "folder": str(benchmark.path),
    }
    return {name: value for name, value in facts.items() if value}


def lengths(benchmark: "Benchmark") -> dict[str, float]:
    """Words a question, words an option or answer, and width and height of images, on average."""
    counts: dict[str, list[int]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for item in benchmark:
        counts.setdefault("words a question", []).append(len(item.question.split()))
        texts = [choice.text for choice in item.choices] or item.references
        counts.setdefault("words an option or answer", []).extend(len(text.split()) for text in texts)
        sizes |= {image.sha256: (image.width, image.height) for image in item.images}
    counts["image width"], counts["image height"] = ([size[at] for size in sizes.values()] for at in (0, 1))
    return {of: round(sum(own) / len(own), 1) for of, own in counts.items() if own}


def _benchmark(benchmark: "Benchmark", limit: int | None) -> Found:
    """What a benchmark holds: its manifest, tags and items."""
    from eyetest.benchmarks.folder import item_frame

    manifest, items, means = benchmark.manifest, list(islice(benchmark, limit)), lengths(benchmark)
    options = pl.col("options").list.len().cast(pl.Int64)
    frame = item_frame(items).select("id", "images", options, "gold", "question")
    tags = Counter(name for item in benchmark for name in item.tags)
    facts = Table.grid(padding=(0, 2))
    average = ", ".join(f"{value:,g} {name}" for name, value in means.items())
    more = ("on average", average), ("tags", listed(tags, _TAGS))
    for name, value in (*benchmark_facts(benchmark).items(), *more):
        facts.add_row(Text(name, "dim"), Text(safe(value), overflow="fold"))
    rows = [
        (id_, images, options or "–", _beginning(gold, 24), _beginning(question, _BEGINNING))
        for id_, images, options, gold, question in frame.head(_ITEMS if limit is None else limit).rows()
    ]
    title = Text.assemble((safe(manifest.name), "bold"), f" · version {safe(manifest.version)}")
    text = Group(title, facts, Text(), table(["id", "images", "options", "gold", "question"], [], rows))
    data = {"manifest": manifest, "on average": means, "items": items}
    return Found("", frame, text=text, data=data, above=benchmark, html="")


def _beginning(text: str, most: int) -> str:
    """The first words of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most].rsplit(' ', 1)[0]} …"


def _item(item: "Item", word: str | None) -> Found:
    """An item, or what a model is sent of it under a condition."""
    from eyetest.commands.item_text import as_text, item_text, prompt_text
    from eyetest.prompts import CannotApply, build
    from eyetest.prompts.conditions import read_conditions
    from eyetest.prompts.sent import named_by_what_is_sent, refuse_unsent

    if word is None:
        fields = [(name, as_text(value)) for name, value in msgspec.to_builtins(item).items()]
        text = Lines(item_text(item))
        return listing("item", ("field", "value"), fields, data=item, text=text, above=item, html="")
    condition, *others = read_conditions(word)
    if others:
        raise InputError(f"{heading('condition')}: {short(word)} names {len(others) + 1} conditions; choose one")
    refuse_unsent([item], [condition])
    try:
        prompt = build(item, named_by_what_is_sent(item, condition))
    except CannotApply as refusal:
        raise InputError(f"item {short(item.id)} cannot be asked this way: {refusal.reason}") from None
    rows = [
        (message.role, "".join(getattr(part, "text", "[image]") for part in message.parts))
        for message in prompt.messages
    ]
    return listing("prompt", ("role", "text"), rows, data=prompt, text=Lines(prompt_text(prompt)))


class StatusResult(Found):
    """Progress of a run, by model and condition; ``failures`` are the reasons why calls failed, and how many, and
    ``left`` planned calls that have no answer yet.
    """

    def __init__(self, run: "Run") -> None:
        from eyetest.commands.score import telling_axes
        from eyetest.measures.results import as_written
        from eyetest.runs.stored import one_line_if_damaged, plan_frame, responses_frame, served_notes

        plan, outcome = plan_frame(run.path), pl.col("outcome")
        with one_line_if_damaged(run.path):
            axes = telling_axes(plan)
            stored = responses_frame(run.path, ("request", "outcome", "error", "detail", "given"))
            calls = plan.select(*axes, "item", "request").with_row_index("row")
            calls = calls.join(stored, on="request", how="left")
            calls = calls.with_columns(outcome.cast(pl.String).fill_null("open"))
            grouped = calls.group_by(axes).agg(
                pl.col("row").min(),
                pl.len().alias("planned"),
                *((outcome == name).sum().alias(name) for name in _OUTCOMES),
                pl.col("item").filter(~outcome.is_in(["open", "failed"])).n_unique().alias("missing"),
                ((outcome != "failed") & pl.col("given").is_not_null()).sum().alias("given"),
            )
            rows = grouped.sort("row").collect(engine="streaming")
            reason = pl.format("{}: {}", pl.col("error").fill_null("None"), pl.col("detail").fill_null("None"))
            failed = calls.filter(outcome.is_in(["failed", "blocked"])).group_by(reason.alias("reason"))
            failures = failed.agg(pl.col("request").n_unique().alias("calls"), pl.col("row").min())
            self.failures = (
                failures.sort("calls", "row", descending=(True, False)).drop("row").collect(engine="streaming")
            )
        about, last = run.manifest.benchmark, run.manifest.steps[-1] if run.manifest.steps else None
        items = (about.items if about else 0) or plan.select(pl.col("item").n_unique()).collect().item()
        written = [pl.Series(axis, map(as_written, rows[axis]), pl.String) for axis in axes]
        numbers = rows.select(pl.col(_COUNTS).cast(pl.Int64)).with_columns(missing=items - pl.col("missing"))
        frame = numbers.select(*written, *_COUNTS)  # one row a model and condition; missing items have no answer
        groups = [
            {key: value for key, value in row.items() if value or key not in _OUTCOMES} for row in frame.to_dicts()
        ]
        state: dict[str, Any] = {
            "run": str(run.path),
            "benchmark": about.name if about else None,
            "items": items,
            "writer": run.writer,
            "planned": int(rows["planned"].sum()),
            "axes": axes,
            "groups": groups,
            "given": int(rows["given"].sum()),
            "failures": self.failures.rows(),
            "served": served_notes(run.path, run.manifest.models),
            "not_needed": last.saved if last else 0,
            "not_applicable": last.not_applicable if last else {},
            "torn_lines": run.health.torn,
            "damaged": run.health.damaged,
        }
        going = f"being written by process {run.writer}" if run.writer else "no process is writing to it"
        head = Text.assemble((safe(state["benchmark"] or "answers"), "bold"), f" · {going}")
        counts = [name for name in _COUNTS if name in _COUNTS[:2] or frame[name].sum()]
        reasons = [Text.assemble((f"{n:,} × ", "red"), safe(why)) for why, n in self.failures.head(_REASONS).rows()]
        title = f"Run: {about.name}, {counted(items, 'item')}" if about else "Run: answers without a benchmark"
        text = Group(head, estimates(frame.select(axes + counts), len(frame)), *reasons)
        super().__init__(title, frame, list(_run_notes(state)), text, state)
        self.left = int(frame["open"].sum())

    def _repr_html_(self) -> str:
        failed = [f"{calls:,} × {reason}" for reason, calls in self.failures.rows()]
        return cards.card(self.title, self.frame, [*failed, *self.notes, self.data["run"]])


def _run_notes(state: Mapping[str, Any]) -> Iterator[str]:
    if any(group["missing"] for group in state["groups"]):
        yield f"missing: items of the {state['items']:,} in the benchmark without an answer"
    yield from state["served"]
    if state["given"]:
        yield f"{state['given']:,} answers have scores from elsewhere, which are used in place of eyetest's own"
    if state["not_needed"]:
        yield f"{state['not_needed']:,} calls were not needed: a stopping rule had decided without them"
    for reason, count in state["not_applicable"].items():
        yield f"{count:,} could not be asked: {reason}"
    if state["torn_lines"]:
        yield f"{state['torn_lines']:,} journal lines were cut off by a kill or damaged; they are asked again"


def _answers(run: "Run", item: str, models: Sequence[str], limit: int | None) -> Found:
    """An item of a run, and every answer to it with how it was scored."""
    from eyetest.commands.item_text import answers_text
    from eyetest.records import Asked
    from eyetest.results.replies import item_cases, planned_calls
    from eyetest.results.scores import benchmark_of, chosen_scorer
    from eyetest.runs import StoredResponses

    if run.manifest.benchmark is None:
        raise InputError(f"{run.path} names no benchmark; import its answers with {param('bench')} to see its items")
    benchmark = benchmark_of(run, hint=naming_benchmark(run.path))
    record, calls = benchmark[item], planned_calls(run, [item])
    if calls.is_empty():
        raise InputError(f"{run.path} asked nothing about item {short(item)}")
    names = choose_names(models, "model", set(calls["model"]), "answer to this item by")
    calls = calls.filter(pl.col("model").cast(pl.String).is_in(names)) if names else calls
    cases = item_cases(run, benchmark, record, calls, StoredResponses(run.path).get, chosen_scorer(run))
    read = ("reading", "choice", "rule", "why", "probability", "metric", "score")
    rows = [
        (*msgspec.structs.astuple(asked), reply.text, reply.outcome, *(getattr(scored, name) for name in read))
        for asked, _, reply, scored in cases
    ]
    shown = [{"asked": case.asked, "response": case.response, "scored": case.scored} for case in cases]
    text = answers_text(record, cases, len(calls) - len(cases), _ANSWERS_SHOWN if limit is None else limit)
    columns = (*Asked.__struct_fields__, "reply", "outcome", *read)
    return listing("answers", columns, rows, data=shown, text=text, above=record)


def _list(name: str) -> Found:
    if name == "recipes":
        from eyetest.filters import FILTERS
        from eyetest.recipes.listing import list_recipes

        rows = [("recipe", *recipe) for recipe in list_recipes()]
        rows += [("filter", filter_, FILTERS[filter_].summary, "") for filter_ in FILTERS]
        return listing(name, ("kind", "name", "about", "tags"), rows)
    if name == "prompts":
        from eyetest.prompts.sets import load_prompts, prompt_names

        known = [load_prompts(known) for known in prompt_names()]
        lines = [(some.label, some.texts.about.strip(), "; ".join(some.texts.differences)) for some in known]
        data = {some.name: some.texts for some in known}
        return listing(name, ("prompts", "about", "differences"), lines, data=data)
    from eyetest.prompts.conditions import condition_names

    sets = {
        one: ", ".join(f"{axis}={'|'.join(map(str, several(value)))}" for axis, value in overlay.items())
        for one, overlay in condition_names().items()
    }
    return listing(name, ("name", "sets"), list(sets.items()))


def _recipe(name: str) -> Found:
    from markupsafe import Markup

    from eyetest.recipes.listing import describe_tags, recipe_names, recipe_text
    from eyetest.recipes.loading import load_recipe

    if not Path(name).exists() and name not in recipe_names():
        raise InputError(
            f"{name} does not exist, and is no name to show; {nearest(name, [*_LISTS, *recipe_names()])}"
        )
    recipe, text = load_recipe(name), recipe_text(name)
    stages = " → ".join(stage.title for stage in recipe.stages)
    panels = ", ".join(f"{panel} of {seats.size}" for panel, seats in recipe.panels.items()) or "none"
    notes = [f"{counted(len(recipe.stages), 'stage')} ({stages}); panels: {panels}"]
    if tags := describe_tags(recipe):
        notes.append(f"needs the tags {tags}; refine {param('map_tags', 'TAG=TAG')} names your own")
    html = Markup("<pre>{}</pre>").format(text[:LONGEST_SHOWN])
    return Found("recipe", notes=notes, text=Lines(Text(safe(text, None).rstrip("\n"))), data=recipe, html=html)
