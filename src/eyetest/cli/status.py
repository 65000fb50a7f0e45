"""``eyetest status``: how far a run is, also while it is going."""

from rich.text import Text

from eyetest.cli.options import JsonOption, RunArgument
from eyetest.cli.tables import show_table
from eyetest.cli.terminal import note, out, print_json, safe
from eyetest.jobs.look import survey
from eyetest.runs import Run

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
    if state["given"]:
        note(f"{state['given']:,} answers came with scores that others gave, which count in place of our own")
    if state["not_needed"]:
        note(f"{state['not_needed']:,} calls were not needed: a stopping rule had its verdict without them")
    for reason, count in state["not_applicable"].items():
        note(f"{count:,} could not be asked: {reason}")
    if state["torn_lines"]:
        note(f"{state['torn_lines']:,} journal lines were cut off by a kill or damaged; they are asked again")
